//go:build browser

package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"
)

const pendingFile = "Order,Recipient,Street,City,State,Zip,Country,Weight,Carrier\n" +
	"P-1,Ada Lovelace,500 Main St,Austin,TX,78701,US,2.5,UPS\n" +
	"P-2,FAULT TIMEOUT AFTER PURCHASE,1 Main St,Austin,TX,78701,US,1,\n" +
	"P-3,Grace Hopper,2 Main St,Austin,TX,78701,US,1,FedEx\n"

// TestABatchWithoutAnAnswer buys for a label printer. One answer is lost: the
// page shows it until the carrier was asked, and turns by itself.
func TestABatchWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t, "PURCHASE_TIMEOUT", "1s", "BUY_TIMEOUT", "1s", "SETTLE_AFTER", "6s", "LOOK_EVERY", "1s", "LOOKUP_SCALE", "0.0001")
	s.firstRun()
	path := filepath.Join(t.TempDir(), "orders.csv")
	s.must(os.WriteFile(path, []byte(pendingFile), 0o600))
	s.do("upload",
		chromedp.Navigate(s.base+"/app/test/batches"), chromedp.WaitVisible(`#f-file`), chromedp.SetUploadFiles(`#f-file`, []string{path}), chromedp.Click(`.upload button`),
		sees("Map columns"), chromedp.Click(`.form-foot button.primary`), sees("Buy 3 labels"), s.shot("choose"),
	)
	s.do("the line without an answer waits",
		chromedp.SetValue(`#f-format`, "zpl"), until(`(window.confirm = () => true)`), chromedp.Click(`button[value=buy]`), sees("Print 2 labels"), sees("Pending"), s.shot("pending"),
	)
	s.do("and has its label when it is settled", sees("Print 3 labels"), until(`!document.body.innerText.includes("waiting for the carrier")`), s.shot("settled"))
	db, err := pgx.Connect(s.Context(), s.data)
	s.must(err)
	_, err = db.Exec(s.Context(), `UPDATE labels SET format = 'pdf', data = '%PDF-1.4 nothing' WHERE shipment_id = (SELECT shipment_id FROM batch_rows WHERE row_number = 2)`)
	s.must(err)
	s.must(db.Close(s.Context()))
	s.do("a label that does not fit is named",
		chromedp.Click(`a.button.primary[href*="labels.zpl"]`), sees("1 label cannot be printed as ZPL"), sees("P-2"), sees("Print the other 2"), s.shot("unprinted"),
	)
}
