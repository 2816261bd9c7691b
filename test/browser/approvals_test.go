//go:build browser

package browser

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/ups"
)

// TestAPersonApprovesAPurchase: an agent asks for two live labels, a person approves
// one and denies the other, and one is sold.
func TestAPersonApprovesAPurchase(t *testing.T) {
	t.Parallel()
	ledger, err := emulator.OpenLedger("")
	if err != nil {
		t.Fatal(err)
	}
	standIn := ups.New(ledger)
	standIn.LookupScale = 0
	carrier := httptest.NewServer(standIn)
	t.Cleanup(carrier.Close)
	s := newStage(t, "CARRIER_URLS", "ups="+carrier.URL, "SECRET_KEY", "YnJvd3Nlci1icm93c2VyLWJyb3dzZXItYnJvd3Nlci0xMjM0NTY=")
	s.firstRun()
	s.command("connection", "add", "--live", "--carrier", "ups", "--set", "client_id="+ups.ClientID, "--set", "client_secret="+ups.ClientSecret, "--set", "account_number="+ups.Account)

	s.do("a key with limits is created",
		chromedp.Navigate(s.base+"/app/live/approvals"), sees("No approvals"), s.shot("approvals-none"),
		chromedp.Navigate(s.base+"/app/live/keys"), chromedp.WaitVisible(`[name=approvalAbove]`), chromedp.SetValue(`[name=name]`, "Support agent"),
		chromedp.SetValue(`[name=maxPerPurchase]`, "80"), chromedp.SetValue(`[name=approvalAbove]`, "much"), chromedp.SetValue(`[name=countries]`, "us, ca"),
		chromedp.Click(`form[action$=keys] button.primary`), sees("Must be an amount of USD"), s.shot("approvals-key-wrong"),
		chromedp.SetValue(`[name=approvalAbove]`, "0"), chromedp.Click(`form[action$=keys] button.primary`), sees("approval for every purchase"), s.shot("approvals-key"),
	)

	key := s.command("key", "create", "--live", "--name", "Shopping agent", "--approval-above", "5")
	for _, order := range []string{"A-1001", "A-1002"} {
		status := s.ask("POST", "/v1/shipments", key, `{"orderId":"`+order+`",
			"origin":{"name":"Warehouse","company":"Northwind","address1":"1 Market St","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"+14155550100"},
			"destination":{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US","phone":"+15125550100"},
			"parcel":{"weight":2.5,"weightUnit":"lb","dimensions":{"length":10,"width":8,"height":4,"unit":"in"}}}`)
		if status != http.StatusAccepted {
			t.Fatalf("a purchase of the agent: %d", status)
		}
	}
	s.do("a person decides",
		chromedp.Navigate(s.base+"/app/live/approvals"), sees("A-1002"), sees("Shopping agent"), s.shot("approvals-queue"),
		chromedp.Click(`form[action$=approve] button`), sees("Approved. The label is being bought."),
		chromedp.Click(`form[action$=deny] button`), sees("Denied. Nothing is bought."),
		until(`(fetch(location.pathname).then((answer) => answer.text()).then((text) => { window.isDone = text.includes("Approved") && !text.includes("Waiting for approval") && !text.includes("Label pending"); }), window.isDone)`),
		chromedp.Navigate(s.base+"/app/live/approvals"), sees("History"), s.shot("approvals-history"),
	)
	if sold := len(ledger.Entries()); sold != 1 {
		t.Errorf("%d labels were sold", sold)
	}
}
