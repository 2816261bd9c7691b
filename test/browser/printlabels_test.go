//go:build browser

package browser

import (
	"encoding/json"
	"encoding/xml"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
)

// An emulatedCarrier is a carrier's emulator with the credentials that it
// accepts.
type emulatedCarrier struct {
	name        string
	open        func(*emulator.Ledger) *emulator.Server
	credentials map[string]string
}

var emulatedCarriers = []emulatedCarrier{
	{"ups", ups.New, map[string]string{
		"client_id":      ups.ClientID,
		"client_secret":  ups.ClientSecret,
		"account_number": ups.Account,
	}},
	{"usps", usps.New, map[string]string{
		"client_id":      usps.ClientID,
		"client_secret":  usps.ClientSecret,
		"crid":           usps.CRID,
		"mid":            usps.MID,
		"manifest_mid":   usps.ManifestMID,
		"account_number": usps.Account,
	}},
	{"fedex", fedex.New, map[string]string{
		"client_id":           fedex.ClientID,
		"client_secret":       fedex.ClientSecret,
		"account_number":      fedex.Account,
		"track_client_id":     fedex.TrackClientID,
		"track_client_secret": fedex.TrackClientSecret,
	}},
	{"dhl_express", dhlexpress.New, map[string]string{
		"api_key":        dhlexpress.APIKey,
		"api_secret":     dhlexpress.APISecret,
		"account_number": dhlexpress.Account,
	}},
}

const (
	warehouse = `{"name":"Northwind","address1":"1201 S Figueroa St","city":"Los Angeles","state":"CA","zip":"90015","country":"US","phone":"2135550100"}`
	toAustin  = `{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US","phone":"5125550100"}`
	toBerlin  = `{"name":"Konrad Zuse","address1":"Friedrichstr. 43","city":"Berlin","zip":"10117","country":"DE","phone":"+49301234567"}`
	toys      = `{"contentsType":"merchandise","items":[{"description":"Wooden toys","quantity":2,"value":{"amount":"12.50","currency":"USD"},"hsCode":"950300","originCountry":"US","weight":0.5}]}`
)

// TestEveryCarriersLabelPrintsAndScans buys a label of every emulated carrier,
// prints it from the dashboard, and scans the printed page.
func TestEveryCarriersLabelPrintsAndScans(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"pdftoppm", "zbarimg"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("there is no %s", tool)
			}
			t.Skipf("there is no %s", tool)
		}
	}

	var addresses []string
	for _, carrier := range emulatedCarriers {
		ledger, err := emulator.OpenLedger("")
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(carrier.open(ledger))
		t.Cleanup(server.Close)
		addresses = append(addresses, carrier.name+"="+server.URL)
	}

	s := newStage(t, "CARRIER_URLS", strings.Join(addresses, ","))
	s.firstRun()
	for _, carrier := range emulatedCarriers {
		s.connectCarrier(carrier)
	}
	key := s.newKey("Web shop")

	for _, carrier := range emulatedCarriers {
		parts := `"destination":` + toAustin
		if carrier.name == "dhl_express" { // it sells no domestic services
			parts = `"destination":` + toBerlin + `,"customs":` + toys
		}
		status, body := s.call(key, "/v1/shipments", `{"orderId":"P-`+carrier.name+`","carrier":"`+carrier.name+`","origin":`+warehouse+`,`+parts+`,"parcel":{"weight":2.5,"dimensions":{"length":10,"width":8,"height":4}}}`)
		if status != http.StatusCreated {
			t.Errorf("%s does not sell: %d %s", carrier.name, status, body)
			continue
		}
		s.printAndScan(carrier.name, between(body, `"id":"`, `"`), between(body, `"trackingNumber":"`, `"`))
	}
}

// connectCarrier connects a carrier with its credentials, as its form does.
func (s *stage) connectCarrier(carrier emulatedCarrier) {
	s.Helper()
	given, err := json.Marshal(carrier.credentials)
	s.must(err)
	connected, err := chromedp.Run(s.tab, chromedp.Evaluate[bool](`fetch(document.querySelector(".side .brand").href + "/connect/`+carrier.name+`", {
		method: "POST",
		body: new URLSearchParams({"connection-name": "Contract", ...`+string(given)+`}),
	}).then((answer) => answer.redirected && answer.ok)`, chromedp.EvalAwaitPromise))
	s.must(err)
	if !connected {
		s.Fatalf("%s was not connected", carrier.name)
	}
}

// printAndScan prints the label of a shipment from the dashboard, and holds the
// printed page to be one upright, whole label whose bar code can be read.
func (s *stage) printAndScan(name, id, number string) {
	s.Helper()
	s.do("the shipment of "+name, chromedp.Navigate(s.base+"/app/test/shipments/"+id), chromedp.WaitVisible(`.label-picture`),
		until(`document.querySelector(".label-picture img").naturalWidth > 400`), s.shot("print-"+name))
	s.do("the label of "+name, chromedp.Navigate(s.base+"/app/test/shipments/"+id+"/print"), until(`document.readyState === "complete"`),
		until(`document.querySelector("body.print img").naturalWidth > 1000`))

	paper, err := chromedp.Run(s.tab, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize()))
	s.must(err)
	pages := s.renderPDF("printed-"+name, paper)
	if len(pages) != 1 {
		s.Fatalf("%s: the label is printed on %d pages, want 1", name, len(pages))
	}

	codes := s.scan(pages[0])
	i := slices.IndexFunc(codes, func(c barcode) bool { return strings.Contains(c.text, number) })
	if i < 0 {
		s.Errorf("%s: no bar code of the printed page holds %s; it has %q", name, number, codes)
	} else if codes[i].orientation != "UP" {
		s.Errorf("%s: the label is not upright but %s", name, codes[i].orientation)
	}
	s.checkWhole(name, pages[0])
}

// renderDPI is the resolution of a usual label printer.
const renderDPI = 203

// renderPDF renders every page of a PDF with a reader of its own, and returns
// the pictures' files.
func (s *stage) renderPDF(name string, data []byte) []string {
	s.Helper()
	dir := os.Getenv("BROWSER_SHOTS")
	if dir == "" {
		dir = s.TempDir()
	}
	file := filepath.Join(dir, name)
	s.must(os.WriteFile(file+".pdf", data, 0o600))
	if out, err := exec.Command("pdftoppm", "-r", strconv.Itoa(renderDPI), "-png", file+".pdf", file).CombinedOutput(); err != nil {
		s.Fatalf("%s: %v %s", name, err, out)
	}
	pages, err := filepath.Glob(file + "-*.png")
	s.must(err)
	return pages
}

// A barcode is what a scanner reads from a picture.
type barcode struct{ text, orientation string }

// scan reads the bar codes of a picture.
func (s *stage) scan(picture string) (codes []barcode) {
	s.Helper()
	out, err := exec.Command("zbarimg", "--quiet", "--nodbus", "--xml", picture).Output()
	if err != nil {
		return nil // it also fails where there is no bar code
	}
	var found struct {
		Symbols []struct {
			Orientation string `xml:"orientation,attr"`
			Data        struct {
				Format string `xml:"format,attr"`
				Text   string `xml:",chardata"`
			} `xml:"data"`
		} `xml:"source>index>symbol"`
	}
	s.must(xml.Unmarshal(out, &found))
	for _, symbol := range found.Symbols {
		text := strings.TrimSpace(symbol.Data.Text)
		if symbol.Data.Format == "base64" { // it has control characters, as GS1 codes do
			text = decoded(s.T, text)
		}
		codes = append(codes, barcode{text, symbol.Orientation})
	}
	return codes
}

// checkWhole holds a printed page to be 4 by 6 inches and filled by its label,
// without anything that is cut off at an edge.
func (s *stage) checkWhole(name, picture string) {
	s.Helper()
	file, err := os.Open(picture)
	s.must(err)
	defer file.Close()
	page, err := png.Decode(file)
	s.must(err)

	paper := page.Bounds()
	if paper.Dx() != 4*renderDPI || paper.Dy() != 6*renderDPI {
		s.Errorf("%s: the page has %d by %d dots, want %d by %d", name, paper.Dx(), paper.Dy(), 4*renderDPI, 6*renderDPI)
	}

	var ink image.Rectangle
	for y := paper.Min.Y; y < paper.Max.Y; y++ {
		for x := paper.Min.X; x < paper.Max.X; x++ {
			if color.GrayModel.Convert(page.At(x, y)).(color.Gray).Y < 128 {
				ink = ink.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if !ink.In(paper.Inset(3)) {
		s.Errorf("%s: the label ends at the edge of the page: %v of %v", name, ink, paper)
	}
	if ink.Dx()*100 < paper.Dx()*80 || ink.Dy()*100 < paper.Dy()*75 {
		s.Errorf("%s: the label fills only %v of %v", name, ink, paper)
	}
}
