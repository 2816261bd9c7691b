//go:build chaos

package crash

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/ast"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// A handing is one pickup, manifest or document and what happens around it, but for
// the death of the process that is asked.
type handing struct {
	what    string // "pickups", "manifests" or "documents"
	carrier string
	fault   string // of the first call: one of the emulator's day, or "stall"

	cancels bool // the client cancels the pickup when it has it
	silent  bool // the carrier answers no look-up for so long that a person must decide
	removed bool // the connection is removed after the request
}

func (h handing) String() string {
	words := []string{h.what, h.carrier, h.fault}
	for word, is := range map[string]bool{"cancel": h.cancels, "silent": h.silent, "removed": h.removed} {
		if is {
			words = append(words, word)
		}
	}
	return strings.Join(words, " ")
}

// handings pass every point of package handover between them.
var handings = []handing{
	{what: "pickups", carrier: "ups"},
	{what: "pickups", carrier: "ups", fault: "hang"},
	{what: "pickups", carrier: "ups", fault: "refuse"},
	{what: "pickups", carrier: "ups", fault: "stall"},
	{what: "pickups", carrier: "ups", cancels: true},
	{what: "pickups", carrier: "ups", fault: "hang", removed: true},
	{what: "pickups", carrier: "usps", fault: "reset"},
	{what: "pickups", carrier: "fedex"},
	{what: "pickups", carrier: "fedex", fault: "hang", cancels: true},
	{what: "pickups", carrier: "dhl_express", fault: "500"},
	{what: "manifests", carrier: "usps"},
	{what: "manifests", carrier: "usps", fault: "hang"},
	{what: "manifests", carrier: "usps", fault: "refuse"},
	{what: "manifests", carrier: "fedex"},
	{what: "manifests", carrier: "fedex", fault: "truncate"},
	{what: "manifests", carrier: "fedex", fault: "stall"},
	{what: "manifests", carrier: "fedex", fault: "hang", silent: true},
	{what: "manifests", carrier: "ups"},
	{what: "documents", carrier: "ups"},
	{what: "documents", carrier: "ups", fault: "hang"},
	{what: "documents", carrier: "ups", fault: "500"},
	{what: "documents", carrier: "ups", fault: "refuse"},
	{what: "documents", carrier: "ups", fault: "stall"},
	{what: "documents", carrier: "ups", fault: "hang", removed: true},
	{what: "documents", carrier: "fedex"},
	{what: "documents", carrier: "fedex", fault: "truncate"},
}

// The carriers that take documents at once show none, so nothing is looked up, and a lost
// answer goes to a person at once. DHL Express does show them, and takes the first one ten
// minutes after the purchase; the tests of packages effect and handover look up instead.
var notPassed = []string{"document_mark_uncertain", "document_look", "document_miss", "document_again"}

// TestOperationsAtEveryPoint kills the program at every point of a pickup, a cancellation,
// a manifest and a document. The judge is the carrier's ledger. ONLY is a part of the
// name of a handing, to see it alone.
func TestOperationsAtEveryPoint(t *testing.T) {
	proving.Pick(t, 0, 0)
	w := newWorld(t)
	began := time.Now()
	only := os.Getenv("ONLY")
	handings := slices.DeleteFunc(slices.Clone(handings), func(h handing) bool { return !strings.Contains(h.String(), only) })

	traces := make([][]string, len(handings))
	w.each(len(handings), func(i int) {
		trace := filepath.Join(w.dir, fmt.Sprintf("handing-%d", i))
		b := w.hand(handings[i], kill{point: "?" + trace})
		w.complainOf(b, handings[i])
		traces[i] = numbered(handoverPoints(b.trace))
	})

	type death struct {
		handing
		kill
	}
	var deaths []death
	for i, trace := range traces {
		for _, point := range trace {
			for _, recovery := range []string{same, other} {
				deaths = append(deaths, death{handings[i], kill{point: point, recovery: recovery}})
			}
		}
	}

	killed := map[string]int{}
	violations := 0
	cases := make([]*bench, len(deaths))
	w.each(len(deaths), func(i int) { cases[i] = w.hand(deaths[i].handing, deaths[i].kill) })
	for i, b := range cases {
		violations += w.complainOf(b, deaths[i].handing)
		if name, _, _ := strings.Cut(b.point, "#"); b.hit {
			killed[name]++
		}
	}

	kills := 0
	wanted := pointsOfHandover(t, w.root)
	for _, point := range wanted {
		if killed[point] == 0 && only == "" {
			t.Errorf("no case dies at %q", point)
		}
		kills += killed[point]
	}
	proving.Report(t, "operations.json", func(out *proving.Proof) {
		storm, _ := out.Figures["TestOperationsUnderKills"].(map[string]any)
		ofStorm, _ := storm["violations"].(float64)
		out.Violations = int(ofStorm) + violations
	}, map[string]any{
		"violations": violations,
		"points":     len(wanted), "scenarios": len(handings), "cases": len(deaths), "kills": kills, "killsByPoint": killed,
		"seconds": proving.Round(time.Since(began).Seconds()),
	})
	t.Logf("%d points, %d cases, %d died at their point: %d violations", len(wanted), len(deaths), kills, violations)
}

// complainOf reports what was wrong in a case.
func (w *world) complainOf(b *bench, h handing) int {
	if len(b.wrong) == 0 {
		return 0
	}
	var logs []string
	for _, p := range b.running {
		logs = append(logs, p.said())
	}
	w.t.Errorf("%s / %s / %s: %s\nledger %+v\n%s", h, b.point, b.recovery, strings.Join(b.wrong, "; "), b.carrier.Ledger.Entries(), strings.Join(logs, "\n"))
	return 1
}

// handoverPoints are the lines of a trace that belong to package handover.
func handoverPoints(trace string) []string {
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(trace), "\n"), func(point string) bool {
		return !isOfHandover(point)
	})
}

func isOfHandover(point string) bool { return strings.Contains(point, " handover ") }

// pointsOfHandover are both sides of every step that package handover takes, as
// the source has them: the acts of package effect for each of the three, and the
// steps that are named where they are taken.
func pointsOfHandover(t *testing.T, root string) (list []string) {
	t.Helper()
	for _, file := range sources(t, root) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == "Kind" && file.Name.Name == "effect" {
					for _, what := range []string{"pickup_", "manifest_", "document_"} {
						if step := what + text(t, n.Values[0]); !slices.Contains(notPassed, step) {
							list = append(list, around("handover "+step)...)
						}
					}
				}
			case *ast.CallExpr:
				fn, ok := n.Fun.(*ast.Ident)
				if !ok || fn.Name != "around" || file.Name.Name != "handover" {
					break
				}
				if _, ok := n.Args[0].(*ast.BasicLit); ok {
					list = append(list, around("handover "+text(t, n.Args[0]))...)
				}
			}
			return true
		})
	}
	return list
}

// hand plays a case and judges it.
func (w *world) hand(h handing, k kill) *bench {
	k.scenario = scenario{carrier: h.carrier, outcome: "answered", review: h.silent || h.removed}
	k.bare = true
	b := w.openBench(k)
	if len(b.wrong) > 0 {
		return b
	}
	defer b.close()

	// The label is bought in peace.
	c := &handler{client: b.client, handing: h}
	if h.what == "documents" {
		c.body = `{"orderId":"order-1","carrier":"` + h.carrier + `",` + abroad
	}
	p := b.start(first, "")
	b.goOn(p, first)
	p.kill()
	if !b.client.bought {
		b.complain("no label was bought: %s", b.client.refused)
		return b
	}

	b.carrier.arm(h)
	p = b.goOnHanding(c, b.start(first, k.point))
	if b.hit = p.gone(); b.hit {
		b.buried()
		disk := first
		if k.recovery == other {
			disk = second
		}
		if p = b.goOnHanding(c, b.start(disk, "")); p.gone() {
			b.complain("%s died by itself", p.name)
		}
	}
	b.readTrace()
	b.judgeHanding(c)
	if h.removed {
		b.sql("UPDATE connections SET carrier = '" + h.carrier + "' WHERE carrier = 'removed'")
	}
	return b
}

// goOnHanding has the client ask a copy until it has what it wants and nothing is
// open any more, or the copy dies. It returns the copy.
func (b *bench) goOnHanding(c *handler, p *process) *process {
	for deadline := time.Now().Add(patience); !p.gone(); time.Sleep(100 * time.Millisecond) {
		c.ask(p.addr)
		if c.removed && c.id != "" && b.carrier.wasAsked() && !c.isRemoved && !p.gone() {
			c.isRemoved = true
			p = b.removeConnection(p)
		}
		if c.done() && b.openHandings() == 0 {
			p.goesWithin(250 * time.Millisecond)
			break
		}
		if time.Now().After(deadline) {
			b.complain("not settled within %v: it is %q", patience, c.status)
			break
		}
	}
	return p
}

// removeConnection makes the account's connection unusable. A copy that knows it
// already would go on with it, so it is started again.
func (b *bench) removeConnection(p *process) *process {
	p.kill()
	b.sql("UPDATE connections SET carrier = 'removed' WHERE carrier = '" + b.scenario.carrier + "'")
	b.sql("DELETE FROM river_leader")
	point := b.point
	if b.hit { // a copy has died there already
		point = ""
	}
	return b.start(first, point)
}

func (b *bench) openHandings() (n int) {
	err := b.conn.QueryRow(context.Background(), `
		SELECT (SELECT count(*) FROM pickups WHERE state IN ('pending', 'uncertain', 'cancelling')) +
		       (SELECT count(*) FROM manifests WHERE state IN ('pending', 'uncertain')) +
		       (SELECT count(*) FROM document_submissions WHERE state IN ('queued', 'pending', 'uncertain'))`).Scan(&n)
	if err != nil {
		b.complain("%v", err)
	}
	return n
}

// judgeHanding compares what the service says with the carrier's ledger.
func (b *bench) judgeHanding(c *handler) {
	booked, cancelled, closed, filed := 0, 0, 0, 0
	for _, entry := range b.carrier.Ledger.Entries() {
		switch entry.Kind {
		case emulator.PickupBooked:
			booked++
		case emulator.PickupCancelled:
			cancelled++
		case emulator.ManifestClosed:
			closed++
		case emulator.DocumentFiled:
			filed++
		}
	}

	done := map[string]int{"pickups": booked, "manifests": closed, "documents": filed}[c.what]
	story := fmt.Sprintf("it is %q (%s), the carrier booked %d, cancelled %d, closed %d and filed %d", c.status, c.refused, booked, cancelled, closed, filed)
	switch {
	case done > 1:
		b.complain("done twice: %s", story)
	case slices.Contains([]string{"scheduled", "closed", "received"}, c.status) && done == 0 && !c.isSheet():
		b.complain("recorded and not done: %s", story)
	case (c.status == "failed" || c.status == "") && done > 0:
		b.complain("done and not recorded: %s", story)
	case c.status == "cancelled" && booked > cancelled && !c.wasInReview:
		b.complain("cancelled and still booked: %s", story)
	case c.status == "needs_review" && !c.canBeLost():
		b.complain("a person must decide, though the carrier can be asked: %s", story)
	}
}

// handler is the client of a handing. It asks until it has a definite answer, always
// with the same key.
type handler struct {
	*client
	handing

	id, status  string
	refused     string
	wasInReview bool
	isRemoved   bool
}

// isSheet reports whether the carrier is not asked at all.
func (c *handler) isSheet() bool { return c.what == "manifests" && c.handing.carrier == "ups" }

// canBeLost reports whether a person may have to find out what happened.
func (c *handler) canBeLost() bool {
	return c.silent || c.removed || c.what == "documents" || c.what == "pickups" && (c.handing.carrier == "fedex" || c.handing.carrier == "dhl_express")
}

func (c *handler) done() bool {
	switch {
	case c.refused != "":
		return true
	case c.status == "" || c.status == "pending":
		return false
	case c.cancels:
		return c.status == "cancelled" || c.status == "failed"
	}
	return true
}

// ask makes the client's next request of a copy.
func (c *handler) ask(addr string) {
	switch {
	case c.done():
	case c.what == "documents":
		c.askDocument(addr)
	case c.id == "":
		c.askFor(addr)
	case c.status == "pending":
		c.take(c.call(addr, http.MethodGet, "/v1/"+c.what+"/"+c.id, ""))
	default:
		c.wasInReview = c.wasInReview || c.status == "needs_review"
		c.take(c.call(addr, http.MethodPost, "/v1/pickups/"+c.id+"/cancel", ""))
	}
}

// askDocument looks at what became of the document, and uploads it if the shipment has
// none.
func (c *handler) askDocument(addr string) {
	status, body, err := c.call(addr, http.MethodGet, "/v1/shipments/"+c.shipment, "")
	var shown struct {
		Documents []struct {
			Uploaded   bool
			Submission *struct{ Status string }
		}
	}
	if err != nil || status != http.StatusOK || json.Unmarshal(body, &shown) != nil {
		return
	}
	for _, document := range shown.Documents {
		if document.Uploaded && document.Submission != nil {
			c.id, c.status = c.shipment, document.Submission.Status
			return
		}
	}

	file := base64.StdEncoding.EncodeToString([]byte("%PDF-1.4\n%%EOF\n"))
	status, body, err = c.call(addr, http.MethodPost, "/v1/shipments/"+c.shipment+"/documents", `{"type":"commercial_invoice","data":"`+file+`"}`)
	if err == nil && status >= 400 && status < 500 {
		c.refused = string(body)
	}
}

func (c *handler) askFor(addr string) {
	zone := time.FixedZone("", -8*3600)
	day := time.Now().In(zone).AddDate(0, 0, 1)
	ready := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, zone)
	body := fmt.Sprintf(`{"carrier":%q,"shipmentIds":[%q]`, c.handing.carrier, c.shipment)
	if c.what == "pickups" {
		body += fmt.Sprintf(`,"readyAt":%q,"closeAt":%q`, ready.Format(time.RFC3339), ready.Add(4*time.Hour).Format(time.RFC3339))
	} else if c.handing.carrier == "fedex" { // closes the whole day
		body = `{"carrier":"fedex"`
	}
	c.take(c.call(addr, http.MethodPost, "/v1/"+c.what, body+"}"))
}

// take notes an answer.
func (c *handler) take(status int, body []byte, err error) {
	var shown struct{ ID, Status string }
	switch {
	case err != nil || status >= 500 || status == http.StatusTooManyRequests || status == http.StatusConflict:
	case status >= 400:
		c.refused = string(body)
	case json.Unmarshal(body, &shown) == nil:
		c.id, c.status = shown.ID, shown.Status
	}
}
