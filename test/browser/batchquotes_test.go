//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"
)

// TestABatchSaysWhoDidNotQuote looks at a batch before the purchase whose lines
// lack carriers, waits for one of them, and goes on without it.
func TestABatchSaysWhoDidNotQuote(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	path := filepath.Join(t.TempDir(), "orders.csv")
	s.must(os.WriteFile(path, []byte(pendingFile+"P-3,Grace Hopper,2 Main St,Austin,TX,78701,US,1,\n"), 0o600))
	s.do("upload",
		chromedp.Navigate(s.base+"/app/test/batches"), chromedp.WaitVisible(`#f-file`), chromedp.SetUploadFiles(`#f-file`, []string{path}), chromedp.Click(`.upload button`),
		sees("Map columns"), chromedp.Click(`.form-foot button.primary`), sees("Buy 3 labels"),
	)

	// The simulated carriers have no quota: the lines get what a live one leaves.
	db, err := pgx.Connect(s.Context(), s.data)
	s.must(err)
	_, err = db.Exec(s.Context(), `UPDATE batch_rows SET not_quoted = '[
		{"carrier": "usps", "reason": "rate_limited", "retryAt": "2099-01-01T06:12:00Z"},
		{"carrier": "fedex", "reason": "missing_field", "fields": ["/parcels/0/dimensions"]},
		{"carrier": "dhl_express", "reason": "refused"}]' WHERE state = 'rated'`)
	s.must(err)

	s.do("the page says so before the purchase",
		chromedp.Reload(), sees("USPS did not quote 3 of 3 orders: its rate limit is reached"), sees("FedEx did not quote 3 of 3 orders"),
		chromedp.Click(`nav.filters a:last-child`), sees("No rate from USPS"), sees("line 3 has the same order number"), s.shot("unquoted"),
	)

	// Nobody works on a batch that waits without a job, so it waits as long as the
	// test looks at it.
	_, err = db.Exec(s.Context(), `WITH waiting AS (UPDATE batch_rows SET requote = true WHERE state = 'rated') UPDATE batches SET state = 'rating'`)
	s.must(err)
	s.must(db.Close(s.Context()))
	s.do("while it waits, it can go on without the carrier",
		chromedp.Reload(), sees("Waiting for USPS"), sees("3 orders left"), s.shot("awaiting"), chromedp.Click(`button[value=continue]`), sees("Buy anyway: 3 labels"),
	)
	s.do("quoted again, nobody is missing",
		chromedp.Click(`button[value=wait]`), sees("Buy 3 labels"), until(`!document.body.innerText.includes("did not quote")`),
	)
}
