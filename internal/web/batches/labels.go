package batches

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// printed lists the label formats to choose from for a batch.
var printed = []parts.Choice{{Value: "pdf", Title: "PDF, any printer"}, {Value: "zpl", Title: "ZPL, label printer"}}

// downloadPDF handles GET /app/{account}/{mode}/batches/{id}/labels.pdf.
func downloadPDF(v *site.Visit) error { return batchLabels(v, label.PDF) }

// downloadZPL handles GET /app/{account}/{mode}/batches/{id}/labels.zpl.
func downloadZPL(v *site.Visit) error { return batchLabels(v, label.ZPL) }

// batchLabels sends the labels of a batch in one file. The address says which
// of several files, or which lines.
func batchLabels(v *site.Visit, format label.Format) error {
	current, err := batchOf(v)
	if err != nil {
		return err
	}
	rows, err := requestedRows(v, current)
	if err != nil {
		return err
	}
	file, err := v.Shipping.Labels(v.Context(), v.Tenant(), shipmentIDs(rows), labelOptions(v, format))
	if preparing, ok := errors.AsType[*shipping.Preparing](err); ok {
		return v.Redirect(v.To("label-files", string(preparing.File))+"?batch="+string(current.ID), "")
	}
	if err != nil {
		return err
	}
	if mustConfirm(v, file) {
		return showUnprinted(v, current, rows, format, file)
	}
	v.RecordPrints(file.Printed...)

	disposition := "inline"
	if format == label.ZPL {
		disposition = "attachment" // browsers cannot display ZPL
	}
	header := v.Writer.Header()
	header.Set("Content-Type", format.ContentType())
	header.Set("Content-Disposition", disposition+`; filename="labels-`+fileSuffix(current)+"."+string(format)+`"`)
	header.Set("X-Labels", strconv.Itoa(file.Included))
	v.Writer.Write(file.Data) // the client may have disconnected
	return nil
}

// downloadDocuments handles GET /app/{account}/{mode}/batches/{id}/documents.pdf:
// the customs documents of the labels that are in one file.
func downloadDocuments(v *site.Visit) error {
	current, err := batchOf(v)
	if err != nil {
		return err
	}
	rows, err := requestedRows(v, current)
	if err != nil {
		return err
	}
	file, err := v.Shipping.Documents(v.Context(), v.Tenant(), shipmentIDs(rows))
	if err != nil {
		return err
	}
	if mustConfirm(v, file) {
		return showUnprinted(v, current, rows, label.PDF, file)
	}
	if file.Data == nil {
		return ship.Errorf(ship.NotFound, "no shipment of the batch has customs documents")
	}

	header := v.Writer.Header()
	header.Set("Content-Type", label.PDF.ContentType())
	header.Set("Content-Disposition", `inline; filename="documents-`+fileSuffix(current)+`.pdf"`)
	header.Set("X-Documents", strconv.Itoa(file.Included))
	v.Writer.Write(file.Data) // the client may have disconnected
	return nil
}

// downloadSlips handles GET /app/{account}/{mode}/batches/{id}/packing-slips.pdf: the
// packing slips of the labels that are in one file.
func downloadSlips(v *site.Visit) error {
	current, err := batchOf(v)
	if err != nil {
		return err
	}
	rows, err := requestedRows(v, current)
	if err != nil {
		return err
	}
	data, err := v.Shipping.PackingSlips(v.Context(), v.Tenant(), shipmentIDs(rows), labelOptions(v, label.PDF).Size)
	if err != nil {
		return err
	}

	header := v.Writer.Header()
	header.Set("Content-Type", label.PDF.ContentType())
	header.Set("Content-Disposition", `inline; filename="packing-slips-`+fileSuffix(current)+`.pdf"`)
	v.Writer.Write(data) // the client may have disconnected
	return nil
}

// mustConfirm reports whether the file leaves something out that the person has
// not seen yet. The page that lists it links to the file with the number of
// missing labels; if the number has changed by then, the page is shown again.
func mustConfirm(v *site.Visit, file shipping.LabelBundle) bool {
	missing := len(file.Excluded)
	return missing > 0 && (file.Data == nil || v.Query("without") != strconv.Itoa(missing))
}

// fileSuffix distinguishes the files of different batches.
func fileSuffix(current batch.Batch) string {
	return parts.ShortID(string(current.ID))[len("bat_…"):]
}

// requestedRows returns the bought lines that the address asks for: those named
// by number, or one part of all.
func requestedRows(v *site.Visit, current batch.Batch) ([]batch.Row, error) {
	rows, _, err := v.Batch.Rows(v.Context(), v.Tenant(), current.ID, 0, batch.MaxLines, batch.RowBought)
	if err != nil {
		return nil, err
	}

	if lines := v.Query("lines"); lines != "" {
		numbers := strings.Split(lines, ",")
		rows = slices.DeleteFunc(rows, func(row batch.Row) bool {
			return !slices.Contains(numbers, strconv.Itoa(row.Number))
		})
		return rows[:min(len(rows), shipping.MaxLabels)], nil
	}

	// A file holds at most MaxLabels, so a large batch is printed in parts.
	part, _ := strconv.Atoi(v.Query("part"))
	from := min(max(part-1, 0)*shipping.MaxLabels, len(rows))
	return rows[from:min(from+shipping.MaxLabels, len(rows))], nil
}

func labelOptions(v *site.Visit, format label.Format) label.Options {
	options := label.Options{
		Format: format,
		Size:   label.Size4x6,
		DPI:    203,
	}

	size := label.Size(v.Query("size"))
	if format == label.PDF && (size == label.SizeA4 || size == label.SizeLetter || size == label.SizeA6) {
		options.Size = size
	}
	if v.Query("dpi") == "300" {
		options.DPI = 300
	}
	return options
}

// labelFiles returns how many files the batch's labels need.
func (p batchView) labelFiles() int {
	return (p.Bought() + shipping.MaxLabels - 1) / shipping.MaxLabels
}

// unprinted is the page of labels that a file leaves out.
type unprinted struct {
	batch.Batch
	Format label.Format
	In     int // labels that are in the file
	Rows   []unprintedRow
	Rest   string // address of the file without them
	Other  string // address of them in the other format
}

// unprintedRow is the line of a label that is left out.
type unprintedRow struct {
	rowView
	Why string
}

// OtherFormat returns the format that they may be available in.
func (p unprinted) OtherFormat() label.Format {
	if p.Format == label.ZPL {
		return label.PDF
	}
	return label.ZPL
}

// showUnprinted answers with the page of labels that the file leaves out.
func showUnprinted(v *site.Visit, current batch.Batch, rows []batch.Row, format label.Format, file shipping.LabelBundle) error {
	missing := slices.DeleteFunc(slices.Clone(rows), func(row batch.Row) bool {
		return file.Excluded[row.Shipment] == nil
	})
	views, err := rowViews(v, current, missing)
	if err != nil {
		return err
	}

	page := unprinted{
		Batch:  current,
		Format: format,
		In:     file.Included,
	}
	var others []string // line numbers of labels that the other format may hold
	for _, row := range views {
		reason := file.Excluded[row.BatchRow.Shipment]
		page.Rows = append(page.Rows, unprintedRow{row, whyUnprinted(row, format, reason)})
		if ship.CodeOf(reason) == "format_unavailable" {
			others = append(others, strconv.Itoa(row.Number))
		}
	}

	if len(others) > 0 {
		query := url.Values{"lines": {strings.Join(others, ",")}}
		page.Other = v.To("batches", string(current.ID), "labels."+string(page.OtherFormat())) + "?" + query.Encode()
	}
	if page.In > 0 {
		query := v.Request.URL.Query()
		query.Set("without", strconv.Itoa(len(page.Rows)))
		page.Rest = v.Request.URL.Path + "?" + query.Encode()
	}
	return v.Show(http.StatusOK, unprintedPage(v.Frame(current.Name, "batches"), page))
}

// whyUnprinted says why a label is left out of a file.
func whyUnprinted(row rowView, format label.Format, reason error) string {
	if ship.CodeOf(reason) != "format_unavailable" {
		return parts.Sentence(reason.Error())
	}

	seller := "The carrier"
	if row.Shipment != nil {
		seller = parts.CarrierTitle(row.Shipment.Purchase.Carrier)
	}
	return seller + " sold this label in a format that cannot be converted to " + strings.ToUpper(string(format)) + "."
}
