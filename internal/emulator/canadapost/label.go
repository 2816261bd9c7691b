package canadapost

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/waybillhq/waybill/internal/emulator"
)

// artifact answers the links of labels and invoices: 202 until the file is made,
// then the file in the media type of the link.
func (p *post) artifact() http.HandlerFunc {
	var mu sync.Mutex
	asked := map[string]int{}
	return func(w http.ResponseWriter, r *http.Request) {
		sale, _, ok := p.Ledger.Sold(r.PathValue("id"))
		if !ok {
			refuse(w, http.StatusNotFound, "8064", "The artifact was not found.")
			return
		}
		stored := keptOf(sale)
		isInvoice := r.PathValue("index") == "1"
		mediaType := "application/pdf"
		if stored.Encoding == "ZPL" && !isInvoice {
			mediaType = "application/zpl"
		}
		if r.Header.Get("Accept") != mediaType {
			p.Fail(w, http.StatusNotAcceptable)
			return
		}

		mu.Lock()
		asked[r.URL.Path]++
		isReady := asked[r.URL.Path] > p.settings.Load().NotReady
		mu.Unlock()
		if !isReady {
			w.WriteHeader(http.StatusAccepted)
			return
		}

		w.Header().Set("Content-Type", mediaType)
		switch {
		case isInvoice:
			_, _ = w.Write(invoice(sale, stored))
		case mediaType == "application/zpl":
			_, _ = w.Write(zpl(sale, stored))
		default:
			_, _ = w.Write(label(sale, stored))
		}
	}
}

// label draws the label, four by six inches.
func label(sale emulator.Entry, stored kept) []byte {
	page := emulator.Page{Wide: 288, High: 432}
	page.Text(16, 404, 16, "CANADA POST  %s", stored.Service)
	page.Text(16, 388, 8, "NOT A REAL LABEL")
	for i, line := range stored.From {
		page.Text(16, 366-12*i, 8, "%s", line)
	}
	for i, line := range stored.To {
		page.Text(16, 312-14*i, 10, "%s", line)
	}
	page.Text(16, 250, 8, "%s kg   Ref %s", stored.Weight, sale.Second)
	page.Bars(16, 130, 80, sale.Number)
	page.Text(16, 114, 10, "PIN %s", sale.Number)
	return emulator.PDF(page)
}

// invoice draws the commercial invoice.
func invoice(sale emulator.Entry, stored kept) []byte {
	page := emulator.Page{Wide: 612, High: 792}
	page.Text(40, 740, 16, "COMMERCIAL INVOICE")
	page.Text(40, 720, 10, "%s   %s", sale.Number, strings.Join(stored.To, ", "))
	return emulator.PDF(page)
}

// zpl writes the label for a printer.
func zpl(sale emulator.Entry, stored kept) []byte {
	var out strings.Builder
	out.WriteString("^XA^CI28^PW812^LL1218^FO40,40^A0N,48,48^FDCANADA POST " + stored.Service + "^FS")
	for i, line := range append(append([]string{"NOT A REAL LABEL"}, stored.From...), stored.To...) {
		fmt.Fprintf(&out, "^FO40,%d^A0N,30,30^FD%s^FS", 110+40*i, strings.NewReplacer("^", " ", "~", " ").Replace(line))
	}
	fmt.Fprintf(&out, "^FO40,700^BY3^BCN,200,Y,N,N^FD%s^FS^XZ", sale.Number)
	return []byte(out.String())
}
