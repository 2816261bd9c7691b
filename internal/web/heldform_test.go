package web

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// stale ages all sessions beyond what a step-up accepts.
func (b *bench) stale() {
	b.Helper()
	_, err := storetest.Conn(b, b.database).Exec(b.Context(), "UPDATE sessions SET authenticated_at = now() - interval '1 hour'")
	b.must(err)
}

// heldOn returns the form that a page holds.
func heldOn(t *testing.T, page string) string {
	t.Helper()
	found := regexp.MustCompile(`name="held" value="([^"]+)"`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page holds no form: %s", page)
	}
	return found[1]
}

// use sends later requests of the role in the session that the response set.
func (b *bench) use(role member.Role, w *httptest.ResponseRecorder) {
	b.Helper()
	for _, cookie := range w.Result().Cookies() {
		if cookie.Name == sessionCookie && cookie.Value != "" {
			b.tokens[role] = cookie.Value
		}
	}
}

func TestAFormSurvivesAStepUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.stale()
	filled := form("name", "Web shop", "scope", "rates", "networks", "203.0.113.7")

	w := b.send(member.Owner, b.home+"/keys", filled)
	page := w.Body.String()
	if w.Code != http.StatusForbidden || !strings.Contains(page, "Confirm your identity") || !strings.Contains(page, "Nothing has been changed yet") {
		t.Fatalf("%d %s", w.Code, page)
	}
	if strings.Contains(page, "Web shop") || strings.Contains(page, "203.0.113.7") {
		t.Error("what was typed stands readable in the page")
	}
	held := heldOn(t, page)

	wrong := b.send(member.Owner, "/app/confirm", form("password", "not it", "held", held))
	if wrong.Code != http.StatusUnprocessableEntity || heldOn(t, wrong.Body.String()) != held {
		t.Errorf("a wrong password loses the form: %d", wrong.Code)
	}

	done := b.send(member.Owner, "/app/confirm", form("password", testPassword, "held", held))
	if done.Code != http.StatusOK || !strings.Contains(done.Body.String(), "sk_test_") || !strings.Contains(done.Body.String(), "Web shop") {
		t.Fatalf("the key was not made: %d", done.Code)
	}
	b.use(member.Owner, done)
	if page := b.send(member.Owner, b.home+"/keys", nil).Body.String(); strings.Count(page, "Programs that use it stop") != 1 {
		t.Error("there is not exactly one key")
	}
}

func TestAHeldFormIsOfItsSessionAndNobodyElses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.stale()
	held := heldOn(t, b.send(member.Developer, b.home+"/keys", form("name", "theirs", "scope", "rates")).Body.String())

	for role, values := range map[member.Role]url.Values{
		member.Owner:     form("held", held),
		member.Developer: form("held", held[:len(held)-2]+"xx"),
		member.Shipper:   form("held", ""),
	} {
		if w := b.send(role, "/app/resume", values); w.Code < 400 || !strings.Contains(w.Body.String(), "Nothing was changed") {
			t.Errorf("as %s: %d", role, w.Code)
		}
	}
}

// endpoints returns the number of the account's webhooks.
func (b *bench) endpoints() int {
	b.Helper()
	list, err := b.web.Webhook.Endpoints(b.Context(), ship.Tenant{Account: b.owner.ID})
	b.must(err)
	return len(list)
}

func TestAHeldFormSurvivesTheEndOfTheSession(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	filled := form("url", "http://127.0.0.1:19999/hook", "kind", "shipment.created", "description", "Shop")
	b.tokens[member.Developer] = "a session that has ended"
	w := b.send(member.Developer, b.home+"/webhooks", filled)
	if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "Nothing was bought or changed") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}

	// After the sign-in the person decides; nothing is carried out
	// automatically.
	in := b.send("", "/app/login", form("email", "dana@example.com", "password", testPassword, "held", heldOn(t, w.Body.String())))
	page := in.Body.String()
	if in.Code != http.StatusOK || !strings.Contains(page, "Submit the form now") || !strings.Contains(page, "Nothing was bought or changed") {
		t.Fatalf("%d %s", in.Code, page)
	}
	b.use(member.Owner, in)
	if n := b.endpoints(); n != 0 {
		t.Errorf("%d webhooks are made by signing in", n)
	}

	done := b.send(member.Owner, "/app/resume", form("held", heldOn(t, page)))
	if done.Code != http.StatusOK || b.endpoints() != 1 {
		t.Fatalf("the webhook is not made: %d", done.Code)
	}
}

// gate is a proxy to the database whose connections can be cut.
type gate struct {
	address string
	mu      sync.Mutex
	closed  bool
	open    []net.Conn
}

func newGate(t *testing.T, database string) (*gate, string) {
	t.Helper()
	to, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{address: to.Host}
	t.Cleanup(func() { listener.Close(); g.cut(true) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go g.pass(conn)
		}
	}()
	to.Host = listener.Addr().String()
	return g, to.String()
}

func (g *gate) pass(from net.Conn) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		from.Close()
		return
	}
	to, err := net.Dial("tcp", g.address)
	if err != nil {
		g.mu.Unlock()
		from.Close()
		return
	}
	g.open = append(g.open, from, to)
	g.mu.Unlock()

	go func() { io.Copy(to, from); to.Close() }() // ends when either side disconnects
	io.Copy(from, to)
	from.Close()
}

// cut closes all connections. New ones are let through only while the gate is
// open.
func (g *gate) cut(closed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = closed
	for _, conn := range g.open {
		conn.Close()
	}
	g.open = nil
}

func TestAFormSurvivesAnOutageOfTheDatabase(t *testing.T) {
	t.Parallel()
	g, database := newGate(t, storetest.URL(t))
	b := newBenchOn(t, database)
	filled := form("url", "http://127.0.0.1:19999/hook", "kind", "shipment.created", "description", "Ada Lovelace")

	g.cut(true)
	w := b.send(member.Developer, b.home+"/webhooks", filled)
	page := w.Body.String()
	if w.Code < 500 || !strings.Contains(page, "Nothing was bought or changed.") || !strings.Contains(page, "Try again") {
		t.Fatalf("%d %s", w.Code, page)
	}
	for _, internal := range []string{"pgconn", "dial tcp", "127.0.0.1", "goroutine", "SQLSTATE", "Ada Lovelace"} {
		if strings.Contains(page, internal) {
			t.Errorf("the page shows %q", internal)
		}
	}

	g.cut(false)
	var again *httptest.ResponseRecorder
	for range 50 { // the pool reconnects
		again = b.send(member.Developer, "/app/resume", form("held", heldOn(t, page)))
		if again.Code < 500 {
			break
		}
		page = again.Body.String()
		time.Sleep(100 * time.Millisecond)
	}
	if again.Code != http.StatusOK || b.endpoints() != 1 {
		t.Fatalf("the webhook is not made afterwards: %d", again.Code)
	}
}

func TestARecipientSeesNothingOfAnOutage(t *testing.T) {
	t.Parallel()
	g, database := newGate(t, storetest.URL(t))
	b := newBenchOn(t, database)
	path := b.trackPathOf(b.buy(b.owner, "1", people[0], 1))
	g.cut(true)
	w := b.send("", path, nil, "Accept-Language", "de")
	page := w.Body.String()
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(page, "gerade nicht verfügbar") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, page)
	}
	noInternals(t, "an outage", page)
}

// noInternals fails if a page for recipients reveals internals of the service,
// or that there is a dashboard.
func noInternals(t *testing.T, what, page string) {
	t.Helper()
	shown := strings.ToLower(page)
	for _, word := range []string{
		"waybill", "/app\"", "/app/acct_", "shp_", "acc_", "acct_", "req_", "con_", "rate_", "label_", "purchas", "needs_review", "uncertain", "refund", "unmapped", "fault ",
		"exception", "sandbox", "sql", "database", "internal", "panic", "goroutine", "error", "carrier code", "void_", "x9", "status code",
	} {
		if strings.Contains(withoutMarkup(shown), word) {
			t.Errorf("%s shows %q", what, word)
		}
	}
	for _, id := range []string{"shp_", "req_", "con_", "/app/acct_", `href="/app"`} {
		if strings.Contains(shown, id) {
			t.Errorf("%s has %q in its markup", what, id)
		}
	}
}

// withoutMarkup returns the text of a page, including what a screen reader
// announces.
func withoutMarkup(page string) string {
	page = regexp.MustCompile(`(?s)<(script|style|head)[^>]*>.*?</(script|style|head)>`).ReplaceAllString(page, "")
	return regexp.MustCompile(`<[^>]*>`).ReplaceAllString(page, " ")
}

func TestARecipientSeesNoInternalsInAnyState(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := ship.Tenant{Account: b.owner.ID}
	states := map[string]ship.Shipment{}

	for _, status := range []ship.Status{ship.LabelGenerated, ship.PickedUp, ship.InTransit, ship.OutForDelivery, ship.Delivered, ship.Exception} {
		sh := b.buy(b.owner, "o-"+string(status), people[1], 1)
		if status != ship.LabelGenerated {
			b.advance(sh, status, "")
		}
		states[string(status)] = sh
	}
	for _, reason := range []string{"customs_hold", "lost", "some_new_reason"} {
		sh := b.buy(b.owner, "o-"+reason, people[1], 1)
		_, _ = b.web.Tracking.Advance(t.Context(), tenant, sh.ID, ship.Exception, reason)
		states[reason] = sh
	}
	unmapped := b.buy(b.owner, "o-unmapped", to("FAULT UNMAPPED"), 1)
	for range 8 {
		if _, err := b.web.Tracking.Advance(t.Context(), tenant, unmapped.ID, "", ""); err != nil {
			break
		}
	}
	states["unmapped"] = unmapped
	for name, fault := range map[string]string{"voided": "Ada Lovelace", "voiding": "FAULT VOID TIMEOUT", "refund pending": "FAULT VOID PENDING"} {
		sh := b.buy(b.owner, "o-"+name, to(fault), 1)
		_, err := b.web.Shipping.Void(t.Context(), tenant, sh.ID)
		b.must(err)
		states[name] = sh
	}
	states["uncertain"] = b.buy(b.owner, "o-uncertain", to("FAULT TIMEOUT"), 1)
	states["needs review"] = b.buy(b.owner, "o-review", to("FAULT NO CONFIRMATION"), 1)
	b.settle(states["needs review"], ship.StateNeedsReview)
	states["failed"] = b.buy(b.owner, "o-failed", to("FAULT TIMEOUT"), 1)
	b.settle(states["failed"], ship.StateFailed)

	for name, sh := range states {
		for _, lang := range []string{"en", "de"} {
			w := b.send("", b.trackPathOf(sh)+"?lang="+lang, nil)
			if w.Code != http.StatusOK {
				t.Errorf("%s: %d", name, w.Code)
			}
			noInternals(t, name, w.Body.String())
		}
	}
	for name, answer := range map[string]*httptest.ResponseRecorder{
		"no parcel":     b.send("", "/track/nothing", nil),
		"no logo":       b.send("", b.trackPathOf(states["in_transit"])+"/logo/00", nil),
		"another page":  b.send("", "/track/a/b/c", nil),
		"a form":        b.send("", "/track/nothing", url.Values{"a": {"b"}}),
		"track without": b.send("", "/track", nil),
	} {
		noInternals(t, name, answer.Body.String())
	}
}

func TestScopesNarrowEverything(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	both := url.Values{"name": {"narrow"}, "scope": {"*", "rates", "tracking"}}
	if w := b.send(member.Owner, b.home+"/keys", both); w.Code != http.StatusOK {
		t.Fatal(w.Code)
	}
	keys, err := b.web.Account.Keys(t.Context(), b.owner.ID)
	b.must(err)
	if got := strings.Join(keys[len(keys)-1].Scopes, " "); got != "rates tracking" {
		t.Errorf("the key may %q", got)
	}
	w := b.send(member.Owner, b.home+"/keys", form("name", "nothing"))
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "Choose at least one permission") {
		t.Errorf("a key without a scope: %d", w.Code)
	}
}

func TestARefusedVoidSaysWhatToDo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "1", to("FAULT VOID REFUSED"), 1)
	w := b.send(member.Shipper, b.home+"/shipments/"+string(sh.ID)+"/void", url.Values{})
	for _, want := range []string{"Label " + sh.Purchase.TrackingNumber + " was not voided", "can no longer be voided", "stays valid and charged", "for a refund"} {
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%d, and the page lacks %q", w.Code, want)
		}
	}
}

// When a job retries a void, nobody is waiting for the carrier's refusal. The
// shipment's page and "Needs attention" show it until the label is used.
func TestAVoidThatIsRefusedLaterIsShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sh := b.buy(b.owner, "77", to("FAULT VOID REFUSED"), 1)
	path := b.home + "/shipments/" + string(sh.ID)
	b.must(b.store.Move(t.Context(), sh, ship.StateVoiding))
	if _, err := b.web.Shipping.SettleVoid(t.Context(), sh.Tenant, sh.ID); err != nil {
		t.Fatal(err)
	}

	for name, page := range map[string]string{
		"the shipment":     b.send(member.Viewer, path, nil).Body.String(),
		"needs attention":  b.send(member.Viewer, b.home+"/attention", nil).Body.String(),
		"the refused void": b.send(member.Viewer, b.home+"/attention?kind=voids", nil).Body.String(),
	} {
		for _, want := range []string{"Void refused", "Label " + sh.Purchase.TrackingNumber + " was not voided", "can no longer be voided", "Refused voids"} {
			if name == "the shipment" && want == "Refused voids" {
				continue
			}
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s lacks %q", name, want)
			}
		}
	}

	b.advance(sh, ship.PickedUp, "")
	for _, address := range []string{path, b.home + "/attention"} {
		if page := b.send(member.Viewer, address, nil).Body.String(); strings.Contains(page, "Void refused") {
			t.Errorf("%s still shows the void of a label that is used", address)
		}
	}
}
