//go:build browser

package browser

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// loseLabels records live purchases that a restore lost, with their orders.
func (s *stage) loseLabels(count int) {
	s.Helper()
	st, err := store.Open(s.Context(), store.Options{URL: s.data, Connections: 2})
	if err != nil {
		s.Fatal(err)
	}
	defer st.Close()
	box, err := seal.New([]byte("browser-browser-browser-browser-123456"))
	if err != nil {
		s.Fatal(err)
	}
	var account ship.RawID
	if err := storetest.Conn(s.T, s.data).QueryRow(s.Context(), "SELECT account_id FROM members").Scan(&account); err != nil {
		s.Fatal(err)
	}

	watch := restore.New(restore.Config{Store: st, Box: box, Slog: slog.New(slog.DiscardHandler)})
	tenant := ship.Tenant{Account: ship.AccountIDOf(account), Livemode: true}
	for i := range count {
		recipient := recipients[i%len(recipients)]
		entry := restore.Entry{
			At:       time.Now().Add(-time.Duration(count-i) * time.Minute),
			Tenant:   tenant,
			Shipment: ship.NewShipmentID(tenant.Shard(), time.Now()),
			Attempt:  1,
			Order: ship.Order{
				OrderID:     fmt.Sprint("B-", 2001+i),
				Destination: ship.Address{Name: recipient.Name, Address1: recipient.Address1, City: recipient.City, State: recipient.State, Zip: recipient.Zip, Country: "US"},
			},
			Purchase: ship.Purchase{Carrier: "ups", Service: "ground", Price: ship.Money{Minor: int64(1038 + 100*i), Currency: "USD"}},
			Sale:     &ship.Sale{},
		}
		if i > 0 { // of the first, the log has the request only
			entry.Purchase.TrackingNumber = fmt.Sprint("1Z999AA1012345678", i)
		}
		if err := watch.AddSale(s.Context(), entry); err != nil {
			s.Fatal(err)
		}
	}
}

// TestAPersonDecidesAfterARestore: a banner leads to what is missing, a decision is reviewed,
// and the banner goes.
func TestAPersonDecidesAfterARestore(t *testing.T) {
	t.Parallel()
	s := newStage(t, "SECRET_KEY", "YnJvd3Nlci1icm93c2VyLWJyb3dzZXItYnJvd3Nlci0xMjM0NTY=")
	s.firstRun()
	s.do("nothing is missing", chromedp.Navigate(s.base+"/app/live/restored"), sees("No missing purchases"), s.shot("restored-none"))

	s.loseLabels(4)
	s.do("the account is held",
		chromedp.Navigate(s.base+"/app/live"), sees("Purchases wait for a decision after a restore."), s.shot("restored-overview"),
		chromedp.Navigate(s.base+"/app/live/attention"), sees("that a restore of the database lost"), s.shot("restored-attention"),
		chromedp.Click(`.notice a`), sees("B-2001"), sees("4 undecided purchases"), s.shot("restored-list"),
	)
	s.do("all are held after a review",
		chromedp.Click(`#all-missing .actions a:nth-child(2)`), sees("Hold 4 purchases?"), sees("Nothing is final"), s.shot("restored-review"),
		chromedp.Click(`main form[action$=restored] button`), sees("Decided. It is carried out within seconds."), sees("4 held purchases"), s.shot("restored-held"),
		until(`!document.body.innerText.includes("Purchases wait for a decision")`),
		chromedp.Click(`#all-held .actions .danger`), sees("Void 4 purchases?"), sees("This cannot be undone"), s.shot("restored-void"),
	)
}
