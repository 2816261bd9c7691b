//go:build browser

package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/emulator"
)

// TestALargeFileOfLabels prints labels that take longer to be drawn than a request may:
// a page shows how far they are, and turns by itself when they are ready.
func TestALargeFileOfLabels(t *testing.T) {
	t.Parallel()
	const lines = 120
	s := newStage(t)
	s.firstRun()

	var orders strings.Builder
	orders.WriteString("Order,Recipient,Street,City,State,Zip,Country,Weight\n")
	for n := range lines {
		fmt.Fprintf(&orders, "L-%d,Ada Lovelace,500 Main St,Austin,TX,78701,US,2.5\n", n+1)
	}
	path := filepath.Join(t.TempDir(), "orders.csv")
	s.must(os.WriteFile(path, []byte(orders.String()), 0o600))
	s.do("buy",
		chromedp.Navigate(s.base+"/app/test/batches"), chromedp.WaitVisible(`#f-file`), chromedp.SetUploadFiles(`#f-file`, []string{path}), chromedp.Click(`.upload button`),
		sees("Map columns"), chromedp.Click(`.form-foot button.primary`), sees("Buy 120 labels"),
		chromedp.SetValue(`#f-format`, "zpl"), until(`(window.confirm = () => true)`), chromedp.Click(`button[value=buy]`), sees("Print 120 labels"),
	)

	// The sandbox draws its own labels in a moment; those of carriers take time.
	page := emulator.Page{Wide: 288, High: 432}
	for line := range 30 {
		page.Text(20, 400-12*line, 9, "Line %d of a label with letters, digits and a number 9400100000000000000013", line)
	}
	db, err := pgx.Connect(s.Context(), s.data)
	s.must(err)
	_, err = db.Exec(s.Context(), `UPDATE labels SET format = 'pdf', data = $1`, emulator.PDF(page))
	s.must(err)

	s.do("the labels are being prepared",
		chromedp.Click(`a.button.primary[href*="labels.zpl"]`), sees("Preparing labels:"), sees("of 120"), s.shot("preparing"),
	)
	_, err = db.Exec(s.Context(), `UPDATE label_files SET state = 'ready'`) // the job takes as long as the machine is slow
	s.must(err)
	s.must(db.Close(s.Context()))
	s.do("and the page has a button when they are ready", sees("The labels are ready"), sees("Download 120 labels as ZPL"), s.shot("ready"))
}
