package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// printed are the formats of a batch as people know them.
var printed = []choice{{"pdf", "PDF, any printer"}, {"zpl", "ZPL, label printer"}}

// batchPDF handles GET /app/{mode}/batches/{id}/labels.pdf.
func (s *Web) batchPDF(v *visit) error { return v.batchLabels(label.PDF) }

// batchZPL handles GET /app/{mode}/batches/{id}/labels.zpl.
func (s *Web) batchZPL(v *visit) error { return v.batchLabels(label.ZPL) }

// batchLabels sends the labels of a batch in one file; the address says which
// file of several, or which lines. If some cannot be in it, a page says so
// first: whoever saw it asks for the file without so many.
func (v *visit) batchLabels(format label.Format) error {
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	rows, _, err := v.Batch.Rows(v.ctx(), v.tenant(), b.ID, 0, batch.MaxRows, batch.RowBought)
	if err != nil {
		return err
	}
	rows = v.wanted(rows)
	ids := make([]ship.ShipmentID, len(rows))
	for i, row := range rows {
		ids[i] = row.Shipment
	}
	pile, err := v.Shipping.Labels(v.ctx(), v.tenant(), ids, v.labelOptions(format))
	if err != nil {
		return err
	}
	if n := len(pile.Out); n > 0 && (pile.Data == nil || v.query("without") != strconv.Itoa(n)) {
		return v.showUnprinted(b, rows, format, pile)
	}
	h, how := v.w.Header(), "inline"
	if format == label.ZPL {
		how = "attachment" // nobody reads it
	}
	h.Set("Content-Type", format.ContentType())
	h.Set("Content-Disposition", how+`; filename="labels-`+short(string(b.ID))[len("bat_…"):]+"."+string(format)+`"`)
	h.Set("X-Labels", strconv.Itoa(pile.In))
	v.w.Write(pile.Data) // the reader may have left
	return nil
}

// batchDocuments handles GET /app/{mode}/batches/{id}/documents.pdf: the customs
// papers of the labels that are in one file.
func (s *Web) batchDocuments(v *visit) error {
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	rows, _, err := s.Batch.Rows(v.ctx(), v.tenant(), b.ID, 0, batch.MaxRows, batch.RowBought)
	if err != nil {
		return err
	}
	rows = v.wanted(rows)
	ids := make([]ship.ShipmentID, len(rows))
	for i, row := range rows {
		ids[i] = row.Shipment
	}

	pile, err := s.Shipping.Documents(v.ctx(), v.tenant(), ids)
	switch {
	case err != nil:
		return err
	case len(pile.Out) > 0 && (pile.Data == nil || v.query("without") != strconv.Itoa(len(pile.Out))):
		return v.showUnprinted(b, rows, label.PDF, pile)
	case pile.Data == nil:
		return ship.Errorf(ship.NotFound, "no shipment of the batch has customs documents")
	}

	h := v.w.Header()
	h.Set("Content-Type", label.PDF.ContentType())
	h.Set("Content-Disposition", `inline; filename="documents-`+short(string(b.ID))[len("bat_…"):]+`.pdf"`)
	h.Set("X-Documents", strconv.Itoa(pile.In))
	v.w.Write(pile.Data) // the reader may have left
	return nil
}

// wanted are the lines that the address asks for.
func (v *visit) wanted(rows []batch.Row) []batch.Row {
	if lines := v.query("lines"); lines != "" {
		numbers := strings.Split(lines, ",")
		rows = slices.DeleteFunc(rows, func(r batch.Row) bool { return !slices.Contains(numbers, strconv.Itoa(r.Number)) })
		return rows[:min(len(rows), shipping.MaxLabels)]
	}
	part, _ := strconv.Atoi(v.query("part"))
	from := min(max(part-1, 0)*shipping.MaxLabels, len(rows))
	return rows[from:min(from+shipping.MaxLabels, len(rows))]
}

func (v *visit) labelOptions(format label.Format) label.Options {
	o := label.Options{Format: format, Size: label.Size4x6, DPI: 203}
	if size := label.Size(v.query("size")); format == label.PDF && (size == label.SizeA4 || size == label.SizeLetter || size == label.SizeA6) {
		o.Size = size
	}
	if v.query("dpi") == "300" {
		o.DPI = 300
	}
	return o
}

// labelFiles is how many files hold the batch's labels.
func (p batchView) labelFiles() int {
	return (p.Bought() + shipping.MaxLabels - 1) / shipping.MaxLabels
}

// unprinted is the page of labels that are not in a file.
type unprinted struct {
	batch.Batch
	Format label.Format
	In     int // labels that are in it
	Rows   []unprintedRow
	Rest   string // address of the file without them
	Other  string // address of them in the other format
}

// unprintedRow is one of them.
type unprintedRow struct {
	rowView
	Why string
}

// OtherFormat is what they may be had in.
func (p unprinted) OtherFormat() label.Format {
	if p.Format == label.ZPL {
		return label.PDF
	}
	return label.ZPL
}

func (v *visit) showUnprinted(b batch.Batch, rows []batch.Row, format label.Format, pile shipping.Pile) error {
	p := unprinted{Batch: b, Format: format, In: pile.In}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r batch.Row) bool { return pile.Out[r.Shipment] == nil })
	views, err := v.rowViews(b, rows)
	if err != nil {
		return err
	}
	var others []string // those that another format may hold
	for _, r := range views {
		why := pile.Out[r.BatchRow.Shipment]
		p.Rows = append(p.Rows, unprintedRow{r, whyUnprinted(r, format, why)})
		if ship.CodeOf(why) == "format_unavailable" {
			others = append(others, strconv.Itoa(r.Number))
		}
	}
	if len(others) > 0 {
		p.Other = v.to("batches", string(b.ID), "labels."+string(p.OtherFormat())) + "?" + url.Values{"lines": {strings.Join(others, ",")}}.Encode()
	}
	if p.In > 0 {
		q := v.r.URL.Query()
		q.Set("without", strconv.Itoa(len(p.Rows)))
		p.Rest = v.r.URL.Path + "?" + q.Encode()
	}
	return v.show(http.StatusOK, unprintedPage(v.frame(b.Name, "batches"), p))
}

// whyUnprinted says why a label is not in a file.
func whyUnprinted(r rowView, format label.Format, why error) string {
	if ship.CodeOf(why) != "format_unavailable" {
		return sentence(why.Error())
	}
	who := "The carrier"
	if r.Shipment != nil {
		who = carrierTitle(r.Shipment.Deal.Carrier)
	}
	return who + " sold this label in a format that " + strings.ToUpper(string(format)) + " cannot be made of."
}
