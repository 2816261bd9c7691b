//go:build browser

package browser

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// orderFile is a file of n orders, three of them wrong: nobody to send it to, a
// state that is none, a weight that is no number.
func orderFile(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("Order,Ship to name,Street,Town,State,Postcode,Country,Weight,Colour\n")
	for i := range n {
		name, state, weight := fmt.Sprintf("Customer %d", i+1), "TX", fmt.Sprintf("%d.5", 1+i%9)
		switch i {
		case 41:
			name = ""
		case 120:
			state = "Tixas"
		case 333:
			weight = "heavy"
		}
		fmt.Fprintf(&b, "B-%d,%s,%d Main St,Austin,%s,78701,United States,%s,blue\n", 5001+i, name, i+1, state, weight)
	}
	path := filepath.Join(t.TempDir(), "orders.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBatchOf500(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	start := time.Now()
	s.do("upload",
		chromedp.Navigate(s.base+"/app/test/batches"), chromedp.WaitVisible(`#f-file`), chromedp.SetUploadFiles(`#f-file`, []string{orderFile(t, 500)}),
		s.shot("batches"), chromedp.Click(`.upload button`), sees("Map columns"), sees("Customer 1"), s.shot("columns"),
		until(`document.querySelector('[name="column.1"]').value === "name" && document.querySelector('[name="column.3"]').value === "city" && document.querySelector('[name="column.8"]').value === ""`),
		chromedp.Click(`.form-foot button.primary`), sees("Buy 497 labels"),
	)
	s.do("the three are shown with what to do",
		sees("Recipient: this field is required."), sees("did you mean TX?"), sees("Weight: must be a number"), s.shot("mend"),
	)
	s.do("one is mended in its place",
		chromedp.Click(`#line-121 .button`), chromedp.WaitVisible(`#f-field-state`), until(`document.activeElement.id === "f-field-state"`),
		s.shot("mending"), chromedp.SetValue(`#f-field-state`, "Texas"), chromedp.Click(`#line-121 button.primary`), sees("Buy 498 labels"),
	)
	s.do("and two are skipped",
		chromedp.Click(`#line-42 button`), until(`document.querySelector("#line-42").innerText.includes("Skipped")`),
		chromedp.Click(`#line-334 button`), until(`document.querySelector("#line-334").innerText.includes("Skipped")`),
	)
	s.do("all are bought while nobody looks",
		until(`(window.confirm = () => true)`), chromedp.Click(`button[value=buy]`), sees("Buying labels"), s.shot("progress"),
		chromedp.Navigate(s.base+"/app/test/shipments"), sees("Shipments"), chromedp.Navigate(s.base+"/app/test/batches"), chromedp.Click(`a.row`),
		sees("Print 498 labels"), s.shot("bought"),
	)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("a batch of 500 took %v", took)
	} else {
		t.Logf("500 orders in %v", took)
	}
	s.batchFiles()
}

// batchFiles opens what comes out of the batch: the labels with a real reader,
// and the results.
func (s *stage) batchFiles() {
	s.Helper()
	reader, err := exec.LookPath("pdfinfo")
	if err != nil {
		s.Skip("there is no pdfinfo")
	}
	pdf := filepath.Join(s.TempDir(), "labels.pdf")
	if err := os.WriteFile(pdf, []byte(s.fetch(`a[href*="labels.pdf"]`)), 0o600); err != nil {
		s.Fatal(err)
	}
	out, err := exec.Command(reader, pdf).CombinedOutput()
	if err != nil || !strings.Contains(strings.Join(strings.Fields(string(out)), " "), "Pages: 498 ") {
		s.Errorf("the file of labels: %v\n%s", err, out)
	}
	if n := strings.Count(s.fetch(`a[href*="labels.zpl"]`), "^XA"); n != 498 {
		s.Errorf("the zpl has %d labels", n)
	}
	lines, err := csv.NewReader(strings.NewReader(s.fetch(`a[href$="results.csv"]`))).ReadAll()
	if err != nil || len(lines) != 501 {
		s.Fatalf("%d lines of results, %v", len(lines), err)
	}
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		if line[10] == "Bought" {
			seen[line[16]] = true
		}
	}
	if len(seen) != 498 {
		s.Errorf("%d tracking numbers, want 498", len(seen))
	}
}

// fetch downloads what a link of the page leads to, as the person who is
// signed in.
func (s *stage) fetch(link string) string {
	s.Helper()
	text, err := chromedp.Run(s.tab, chromedp.Evaluate[string](`(async () => {
		const answer = await fetch(document.querySelector(`+"`"+link+"`"+`).href);
		if (answer.status !== `+fmt.Sprint(http.StatusOK)+`) return "";
		const bytes = new Uint8Array(await answer.arrayBuffer());
		let text = "";
		for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode.apply(null, bytes.subarray(i, i + 8192));
		return btoa(text);
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		s.Fatalf("fetch %s: %v", link, err)
	}
	return decoded(s.T, text)
}
