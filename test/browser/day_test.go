//go:build browser

package browser

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// dayFile is a file of 200 orders for three carriers and from two places. The addresses
// of twelve of them can be corrected, and ten go abroad.
func dayFile(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("Order,Name,Street,City,State,Zip,Country,Phone,Weight,Weight unit,Carrier,Item,Quantity,Item value,Currency,HS code,Made in,Ship from\n")
	for i := range 200 {
		carrier := []string{"ups", "usps", "fedex"}[i%3]
		street := fmt.Sprintf("%d Main St", i+1)
		if i%17 == 5 {
			street = "Corrected Street"
		}
		place, customs := "Austin,TX,78701,US", ",,,,,"
		if i%20 == 7 {
			// Labels of FedEx that go abroad are on no manifest: it closes FedEx Ground.
			carrier, place, customs = "ups", "Berlin,,10117,DE", "Cotton T-shirt,2,12.50,USD,6109.10,US"
		}
		from := []string{"", "Reno warehouse"}[i%2]
		fmt.Fprintf(&b, "D-%d,Customer %d,%s,%s,+15125550100,%d.5,lb,%s,%s,%s\n", 7001+i, i+1, street, place, 1+i%5, carrier, customs, from)
	}
	path := filepath.Join(t.TempDir(), "day.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestAShippingDay is a day as a shipping team has it: orders from a file and from two
// places, addresses that are corrected, labels and customs papers to print, manifests of
// each place, and a pickup.
func TestAShippingDay(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	s.do("there is a second place to ship from",
		chromedp.Navigate(s.base+"/app/test/settings/locations/new"), chromedp.WaitVisible(`#f-name`),
		until(`(() => {
			const values = {name: "Reno warehouse", sender: "Acme", address1: "1 Commerce Way", city: "Reno", state: "NV", zip: "89502", phone: "7755550100", "cutoff.0.time": "16:30"};
			for (const name in values) document.querySelector("[name='" + name + "']").value = values[name];
			document.querySelector("[name=default]").checked = false;
			return true;
		})()`), s.shot("day-location"), chromedp.Click(`.form-foot button.primary`), sees("16:30"),
	)
	s.do("orders come from a file",
		chromedp.Navigate(s.base+"/app/test/batches"), chromedp.WaitVisible(`#f-file`), chromedp.SetUploadFiles(`#f-file`, []string{dayFile(t)}),
		chromedp.Click(`.upload button`), sees("Map columns"), chromedp.Click(`.form-foot button.primary`),
		sees("The addresses of 12 orders may be wrong."), sees("Buy 200 labels"),
	)
	s.do("addresses are corrected",
		chromedp.Navigate(s.base+"/app/test/batches"), chromedp.Click(`a.row`), sees("Review them"),
		chromedp.Click(`a[href*="show=addresses"]`), sees("the carrier suggests 1 Corrected Street"), s.shot("day-addresses"),
		chromedp.Click(`button[value=suggestions]`), until(`!document.body.innerText.includes("may be wrong") && document.body.innerText.includes("Buy 200 labels")`),
	)
	s.do("labels are bought",
		until(`(window.confirm = () => true)`), chromedp.Click(`button[value=buy]`), sees("Print 200 labels"), s.shot("day-bought"),
	)
	s.pages(s.fetch(`a[href*="labels.pdf"]`), 200)
	s.pages(s.fetch(`a[href*="documents.pdf"]`), 10)

	s.do("what waits is shown by carrier",
		chromedp.Navigate(s.base+"/app/test/end-of-day"), sees("Close manifest"), sees("Make hand-over sheet"),
		sees("Reno warehouse"), sees("Close before 16:30"), s.shot("day-waiting"),
	)
	s.do("a pickup is booked", chromedp.Click(`details summary`), chromedp.WaitVisible(`details[open] [name=date]`), s.shot("day-pickup"),
		until(`(() => {
			const tomorrow = new Date(Date.now() + 36 * 3600 * 1000);
			document.querySelector("details[open] [name=date]").value = tomorrow.toISOString().slice(0, 10);
			return true;
		})()`), chromedp.Click(`details[open] .button`), sees("Pickups"), sees("Scheduled"))
	// Of two carriers each place has a manifest of its own; FedEx closes the day.
	for range 5 {
		s.do("a manifest is closed", until(`document.querySelectorAll("form[action$=manifests] button").length > 0`),
			until(`(() => {
				window.groups = document.querySelectorAll("form[action$=manifests] button").length;
				document.querySelector("form[action$=manifests] button").click();
				return true;
			})()`), until(`window.groups === undefined && document.readyState === "complete"`))
	}
	s.do("everything is handed over", sees("Nothing to hand over"), s.shot("day-over"))
	s.pages(s.fetch(`a[href*="manifests/"]`), 0)
}

// pages checks that a file is a PDF with the number of pages; any number if it is 0.
func (s *stage) pages(file string, want int) {
	s.Helper()
	reader, err := exec.LookPath("pdfinfo")
	if err != nil {
		s.Skip("there is no pdfinfo")
	}
	path := filepath.Join(s.TempDir(), "file.pdf")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		s.Fatal(err)
	}
	out, err := exec.Command(reader, path).CombinedOutput()
	text := strings.Join(strings.Fields(string(out)), " ")
	if err != nil || want > 0 && !strings.Contains(text, fmt.Sprintf("Pages: %d ", want)) {
		s.Errorf("the file has not %d pages: %v\n%s", want, err, text)
	}
}
