package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	neturl "net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/store"
)

// An agency is the program with a live connection to an emulated UPS, whose ledger
// says what was sold, and a person who is signed in to the dashboard.
type agency struct {
	*world
	url     string
	account string
	ledger  *emulator.Ledger
	person  *http.Client
}

func newAgency(t *testing.T, env ...string) *agency {
	t.Helper()
	a := &agency{world: newWorld(t)}
	var err error
	a.ledger, err = emulator.OpenLedger("")
	a.must(err)
	standIn := ups.New(a.ledger)
	standIn.LookupScale = 0
	carrier := httptest.NewServer(standIn)
	t.Cleanup(carrier.Close)
	t.Setenv("SECRET_KEY", "ZTJlLWUyZS1lMmUtZTJlLWUyZS1lMmUtZTJlLTEyMzQ1Njc4")
	env = append(env, "CARRIER_URLS=ups="+carrier.URL, "SPOOL_DIR="+t.TempDir(), "SETTLE_AFTER=3s", "PURCHASE_TIMEOUT=2s", "BUY_TIMEOUT=2s", "LOOK_EVERY=300ms", "SWEEP_EVERY=1s")
	a.url, _ = a.serve(env...)
	a.signIn()
	for _, line := range strings.Split(a.run("account", "list"), "\n") {
		if fields := strings.Fields(line); len(fields) > 0 && strings.HasPrefix(fields[0], "acct_") {
			a.account = fields[0]
		}
	}
	a.run("connection", "add", "--account", a.account, "--live", "--carrier", "ups",
		"--set", "client_id="+ups.ClientID, "--set", "client_secret="+ups.ClientSecret, "--set", "account_number="+ups.Account)
	return a
}

func (a *agency) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// signIn makes the first owner.
func (a *agency) signIn() {
	a.t.Helper()
	st, err := store.Open(a.t.Context(), store.Options{URL: a.database, Connections: 2})
	a.must(err)
	defer st.Close()
	members, err := member.New(member.Config{Store: st, BaseURL: a.url})
	a.must(err)
	link, err := members.SetupURL(a.t.Context())
	a.must(err)
	_, token, _ := strings.Cut(link, "token=")
	jar, err := cookiejar.New(nil)
	a.must(err)
	a.person = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := a.person.PostForm(a.url+"/app/setup", neturl.Values{
		"token": {token}, "accountName": {"Northwind"}, "name": {"Dana"}, "email": {"dana@example.com"}, "password": {"a long sentence about boxes"},
	})
	a.must(err)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther {
		a.t.Fatalf("setup: %d", answer.StatusCode)
	}
}

// decide presses a button of the page of approvals.
func (a *agency) decide(approval, how string) int {
	a.t.Helper()
	answer, err := a.person.PostForm(a.url+"/app/"+a.account+"/live/approvals/"+approval+"/"+how, nil)
	a.must(err)
	_ = answer.Body.Close()
	return answer.StatusCode
}

// bought is what the tests read of an answer.
type bought struct {
	status                          int
	ID, LabelStatus, TrackingNumber string
	Code, Detail                    string
	Approval                        struct{ ID, Status string }
}

func (a *agency) call(key, method, path, body, idempotency string) (out bought) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	a.must(err)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	if idempotency != "" {
		r.Header.Set("Idempotency-Key", idempotency)
	}
	answer, err := http.DefaultClient.Do(r)
	a.must(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	a.must(err)
	_ = json.Unmarshal(text, &out)
	out.status = answer.StatusCode
	return out
}

const agentOrder = `"origin":{"name":"Warehouse","company":"Shop","address1":"1 Market St","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"+14155550100"},
	"destination":{"name":"Ada Lovelace","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US","phone":"+12125550100"},
	"parcel":{"weight":2.5,"weightUnit":"lb","dimensions":{"length":10,"width":8,"height":4,"unit":"in"}}`

func (a *agency) buy(key, order string) bought {
	a.t.Helper()
	return a.call(key, http.MethodPost, "/v1/shipments", `{"orderId":"`+order+`",`+agentOrder+`}`, "key-"+order)
}

// becomes waits until the label of a shipment has the status.
func (a *agency) becomes(key, id, status string) bought {
	a.t.Helper()
	var now bought
	for range 200 {
		if now = a.call(key, http.MethodGet, "/v1/shipments/"+id, "", ""); now.LabelStatus == status {
			return now
		}
		time.Sleep(100 * time.Millisecond)
	}
	a.t.Fatalf("shipment %s is %+v, want %s", id, now, status)
	return now
}

func (a *agency) sold() (n int) {
	for _, entry := range a.ledger.Entries() {
		if entry.Kind == "sold" {
			n++
		}
	}
	return n
}

// TestKeysOfAgentsSpendWhatTheyMay tries every way of buying with keys whose limits
// do not allow it, against the program with its jobs. The carrier's ledger is the
// judge.
func TestKeysOfAgentsSpendWhatTheyMay(t *testing.T) {
	a := newAgency(t)
	free := a.key(a.account, "--live")
	first := a.buy(free, "free")
	if first.status != http.StatusCreated || a.sold() != 1 {
		t.Fatalf("%+v", first)
	}

	for flag, code := range map[string]string{"--max-per-purchase=0.01": "purchase_limit_exceeded", "--allowed-countries=CA,MX": "country_not_allowed", "--daily-limit=0.01": "spend_limit_reached"} {
		key := a.key(a.account, "--live", flag)
		if got := a.buy(key, "limited "+flag); got.status != http.StatusForbidden || got.Code != code || got.Detail == "" {
			t.Errorf("%s: %+v", flag, got)
		}

		returned := a.call(key, http.MethodPost, "/v1/shipments/"+first.ID+"/return", `{}`, "return "+flag)
		if returned.status != http.StatusForbidden || returned.Code != code {
			t.Errorf("%s, a return: %+v", flag, returned)
		}

		batch := a.call(key, http.MethodPost, "/v1/batches", `{"shipments":[{"orderId":"batch",`+agentOrder+`}]}`, "batch "+flag)
		if batch.status != http.StatusAccepted {
			t.Errorf("%s, a batch: %+v", flag, batch)
		}
		a.lineFails(key, batch.ID, code)

		rated := a.easypost(key)
		if rated.status == http.StatusOK || rated.status == http.StatusCreated {
			t.Errorf("%s, /v2: %+v", flag, rated)
		}
	}
	if n := a.sold(); n != 1 {
		t.Errorf("%d labels were sold", n)
	}
}

// lineFails waits until the line of a batch has failed with the code.
func (a *agency) lineFails(key, batch, code string) {
	a.t.Helper()
	var text []byte
	for range 100 {
		r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, a.url+"/v1/batches/"+batch, nil)
		a.must(err)
		r.Header.Set("Authorization", "Bearer "+key)
		answer, err := http.DefaultClient.Do(r)
		a.must(err)
		text, err = io.ReadAll(answer.Body)
		a.must(err)
		_ = answer.Body.Close()
		if strings.Contains(string(text), code) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	a.t.Errorf("the batch does not fail with %s: %s", code, text)
}

// easypost rates a shipment under /v2 and buys its first rate.
func (a *agency) easypost(key string) (out bought) {
	a.t.Helper()
	rated := a.rate(key)
	text, status := a.v2(key, "/shipments/"+rated.ID+"/buy", `{"rate":{"id":"`+rated.Rates[0].ID+`"}}`)
	out.status = status
	out.Detail = string(text)
	return out
}

// v2 makes a request under /v2.
func (a *agency) v2(key, path, body string) (text []byte, status int) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.url+"/v2"+path, strings.NewReader(body))
	a.must(err)
	r.SetBasicAuth(key, "")
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	a.must(err)
	defer answer.Body.Close()
	text, err = io.ReadAll(answer.Body)
	a.must(err)
	return text, answer.StatusCode
}

// A ratedShipment is a shipment under /v2 with its rates.
type ratedShipment struct {
	ID    string
	Rates []struct{ ID string }
}

// rate rates a shipment under /v2.
func (a *agency) rate(key string) (rated ratedShipment) {
	a.t.Helper()
	address := func(name, street, city, state, zip string) string {
		return `{"name":"` + name + `","street1":"` + street + `","city":"` + city + `","state":"` + state + `","zip":"` + zip + `","country":"US","phone":"4155550100"}`
	}
	text, status := a.v2(key, "/shipments", `{"shipment":{"from_address":`+address("Warehouse", "1 Market St", "San Francisco", "CA", "94105")+
		`,"to_address":`+address("Ada Lovelace", "350 5th Avenue", "New York", "NY", "10118")+`,"parcel":{"length":10,"width":8,"height":4,"weight":40}}}`)
	if err := json.Unmarshal(text, &rated); err != nil || len(rated.Rates) == 0 {
		a.t.Fatalf("/v2 rates: %d %s", status, text)
	}
	return rated
}

// TestAPersonApprovesWhatAnAgentBuys follows purchases through the program: nothing
// is bought before a person approves, and then once.
func TestAPersonApprovesWhatAnAgentBuys(t *testing.T) {
	a := newAgency(t)
	key := a.key(a.account, "--live", "--approval-above", "0")
	asked := a.buy(key, "1")
	if asked.status != http.StatusAccepted || asked.LabelStatus != "pending" || asked.Approval.Status != "waiting" || !strings.HasPrefix(asked.Approval.ID, "apr_") {
		t.Fatalf("%+v", asked)
	}
	if again := a.buy(key, "1"); again.status != http.StatusAccepted || again.ID != asked.ID || again.Approval != asked.Approval {
		t.Errorf("the same key: %+v", again)
	}
	if got := a.easypost(key); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.Detail, "approve") {
		t.Errorf("/v2: %+v", got)
	}
	if read := a.becomes(key, asked.ID, "pending"); read.Approval.Status != "waiting" || a.sold() != 0 {
		t.Errorf("%+v, and %d were sold", read, a.sold())
	}

	var all sync.WaitGroup
	var mu sync.Mutex
	statuses := map[int]int{}
	for range 4 {
		all.Go(func() {
			status := a.decide(asked.Approval.ID, "approve")
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	all.Wait()
	if statuses[http.StatusSeeOther] != 1 {
		t.Errorf("the decisions were answered with %v", statuses)
	}
	ready := a.becomes(key, asked.ID, "ready")
	if ready.Approval.Status != "approved" || ready.TrackingNumber == "" || a.sold() != 1 {
		t.Errorf("%+v, and %d were sold", ready, a.sold())
	}
	if again := a.buy(key, "1"); again.status != http.StatusCreated || again.ID != asked.ID || again.TrackingNumber != ready.TrackingNumber {
		t.Errorf("the same key after it: %+v", again)
	}

	denied := a.buy(key, "2")
	if status := a.decide(denied.Approval.ID, "deny"); status != http.StatusSeeOther {
		t.Errorf("deny: %d", status)
	}
	if failed := a.becomes(key, denied.ID, "failed"); failed.Approval.Status != "denied" {
		t.Errorf("%+v", failed)
	}
	for range 2 {
		if again := a.buy(key, "2"); again.status != http.StatusUnprocessableEntity || again.Code != "approval_denied" {
			t.Errorf("the same key after a denial: %+v", again)
		}
	}
	if n := a.sold(); n != 1 {
		t.Errorf("%d were sold", n)
	}
}

func TestAnApprovalExpires(t *testing.T) {
	a := newAgency(t, "APPROVAL_EXPIRES_AFTER=1s")
	key := a.key(a.account, "--live", "--approval-above", "0")
	asked := a.buy(key, "1")
	if failed := a.becomes(key, asked.ID, "failed"); failed.Approval.Status != "expired" {
		t.Errorf("%+v", failed)
	}
	if again := a.buy(key, "1"); again.status != http.StatusUnprocessableEntity || again.Code != "approval_expired" {
		t.Errorf("the same key: %+v", again)
	}
	if status := a.decide(asked.Approval.ID, "approve"); status == http.StatusSeeOther || a.sold() != 0 {
		t.Errorf("approved after it expired: %d, and %d were sold", status, a.sold())
	}
}
