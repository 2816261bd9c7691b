package label

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// Invoice is a commercial invoice for customs, as data. Any text may be in any
// script; an empty one is not printed.
type Invoice struct {
	Sample   bool          `json:"sample,omitempty"` // prints "SAMPLE - NOT FOR SHIPPING"
	Size     Size          `json:"size,omitempty"`   // letter or a4; letter if empty
	Number   string        `json:"number,omitempty"`
	Date     string        `json:"date,omitempty"`
	From     []string      `json:"from,omitempty"` // address lines as printed
	To       []string      `json:"to,omitempty"`
	Facts    []InvoiceFact `json:"facts,omitempty"` // carrier, tracking number, terms and the like
	Items    []InvoiceItem `json:"items,omitempty"`
	Total    string        `json:"total,omitempty"`
	Signer   string        `json:"signer,omitempty"`
	Declares string        `json:"declares,omitempty"` // the sentence above the signature
}

// InvoiceFact is a name with its value.
type InvoiceFact struct {
	Name  string `json:"n"`
	Value string `json:"v"`
}

// InvoiceItem is one line of goods.
type InvoiceItem struct {
	Description string `json:"d,omitempty"`
	HSCode      string `json:"hs,omitempty"`
	Origin      string `json:"o,omitempty"` // country of manufacture
	Quantity    int    `json:"q,omitempty"`
	Value       string `json:"v,omitempty"` // of one
	Total       string `json:"t,omitempty"`
}

// Marshal returns the invoice as the JSON that is stored.
func (v Invoice) Marshal() []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic("label: " + err.Error()) // strings, numbers and lists always encode
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

// ParseInvoice reads what Marshal wrote.
func ParseInvoice(data []byte) (Invoice, error) {
	var invoice Invoice
	if err := json.Unmarshal(data, &invoice); err != nil {
		return Invoice{}, ship.Errorf(ship.Internal, "stored invoice is not readable: %w", err)
	}
	return invoice, nil
}

const invoiceItems = 100 // at most; an order has no more

// RenderInvoice writes the invoice as a PDF, as many pages as its items need.
func (r *Renderer) RenderInvoice(invoice Invoice) (Rendering, error) {
	if len(invoice.Items) > invoiceItems {
		return Rendering{}, ship.Errorf(ship.Invalid, "an invoice has at most %d items", invoiceItems)
	}
	if invoice.Size == "" {
		invoice.Size = SizeLetter
	}
	paper, ok := invoice.Size.dimensions()
	if !ok || !invoice.Size.isSheet() {
		return Rendering{}, ship.Errorf(ship.Invalid, "an invoice is printed on letter or a4")
	}

	writer := &invoiceWriter{
		invoice: invoice,
		paperWriter: paperWriter{
			isSample: invoice.Sample,
			paper:    paper,
			language: languageOf(invoice.To, invoice.From),
		},
	}
	writer.writeHead()
	for _, item := range invoice.Items {
		writer.writeItem(item)
	}
	writer.writeTotals()

	pen := &pen{renderer: r}
	defer pen.release()
	data := writePDF(writer.scenes, pen)
	return Rendering{Data: data, Missing: pen.missingRunes()}, nil
}

// invoiceWriter lays an invoice out, from top to bottom.
type invoiceWriter struct {
	paperWriter
	invoice Invoice
}

// writeHead writes the title, the parties, the facts and the table's header.
func (w *invoiceWriter) writeHead() {
	invoice := w.invoice
	w.beginPage()
	w.write("COMMERCIAL INVOICE", paperLeft, 900, 56, true)
	w.drawRule()

	// The parties stand side by side; what follows begins below the longer
	// address.
	w.y += 70
	middle := (paperLeft + paperRight) / 2
	top := w.y
	lowest := w.y
	for i, party := range []struct {
		title string
		lines []string
	}{{"SHIPPER / EXPORTER", invoice.From}, {"CONSIGNEE", invoice.To}} {
		x := paperLeft + i*(middle-paperLeft)
		w.y = top
		w.write(party.title, x, middle-paperLeft-40, 22, false)
		for _, line := range cleanLines(party.lines) {
			w.y += 40
			w.write(line, x, middle-paperLeft-40, 30, false)
		}
		lowest = max(lowest, w.y)
	}

	w.y = lowest + 70
	facts := append([]InvoiceFact{{"Invoice number", invoice.Number}, {"Invoice date", invoice.Date}}, invoice.Facts...)
	for _, fact := range facts {
		if clean(fact.Value) == "" {
			continue
		}
		w.write(fact.Name, paperLeft, 420, 28, false)
		w.write(fact.Value, paperLeft+440, 1060, 28, true)
		w.y += 42
	}

	w.y += 40
	w.writeRow([...]string{"Description of goods", "HS code", "Origin", "Qty", "Unit value", "Total value"}, true)
	w.drawRule()
}

// writeRow writes the cells of a row of the table.
func (w *invoiceWriter) writeRow(cells [6]string, bold bool) {
	for i, column := range [...]struct{ x, width int }{{100, 640}, {760, 150}, {930, 90}, {1040, 80}, {1140, 210}, {1370, 230}} {
		w.write(cells[i], column.x, column.width, 28, bold)
	}
}

// writeItem writes a row of goods, on a new page if this one is full.
func (w *invoiceWriter) writeItem(item InvoiceItem) {
	w.y += paperRow
	if w.y > paperBottom {
		w.beginPage()
	}
	w.writeRow([...]string{item.Description, item.HSCode, item.Origin, strconv.Itoa(item.Quantity), item.Value, item.Total}, false)
}

// writeTotals writes the total and the signature.
func (w *invoiceWriter) writeTotals() {
	// The total, the declaration and the signature stay on one page.
	w.drawRule()
	if w.y+300 > paperBottom {
		w.beginPage()
	}

	w.y += paperRow
	w.write("Total", 1140, 210, 30, true)
	w.write(w.invoice.Total, 1370, 230, 30, true)

	w.y += 110
	w.write(w.invoice.Declares, paperLeft, paperRight-paperLeft, 26, false)

	w.y += 90
	w.write(w.invoice.Signer, paperLeft, 700, 30, true)
	w.y += 8
	w.drawRule()
	w.y += 50
	w.write("Signature and date", paperLeft, 700, 22, false)
}
