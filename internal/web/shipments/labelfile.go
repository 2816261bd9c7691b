package shipments

import (
	"errors"
	"net/http"
	"strings"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/site"
)

// showPreparing leads to the page of a file of labels that a job prepares, if err is
// that one is. Any other error is returned.
func showPreparing(v *site.Visit, err error) error {
	preparing, ok := errors.AsType[*shipping.Preparing](err)
	if !ok {
		return err
	}
	return v.Redirect(v.To("label-files", string(preparing.File)), "")
}

// labelFileView is the page of a file of labels.
type labelFileView struct {
	shipping.PreparedLabels
	Batch ship.BatchID // whose labels they are, if the page was reached from one
}

// Address is that of the page.
func (p labelFileView) Address(f site.Frame) string {
	address := f.To("label-files", string(p.ID))
	if p.Batch != "" {
		address += "?batch=" + string(p.Batch)
	}
	return address
}

// Printed is the format of the file.
func (p labelFileView) Printed() label.Format { return label.Format(p.Format.Format) }

// Done returns how many labels of the file are ready, with those that take no time.
func (p labelFileView) Done() int { return len(p.Shipments) - p.Conversions + p.Ready }

// Title says what the page is about.
func (p labelFileView) Title() string {
	return counted(len(p.Shipments), "label") + " as " + strings.ToUpper(p.Format.Format)
}

// getLabelFile handles GET /app/{account}/{mode}/label-files/{id}: the page, or the
// part of it that changes by itself.
func getLabelFile(v *site.Visit) error {
	id, ok := ship.ParseLabelFileID(v.Request.PathValue("id"))
	if !ok {
		return ship.Errorf(ship.NotFound, "no such file of labels")
	}
	file, err := v.Shipping.LabelFile(v.Context(), v.Tenant(), id)
	if ship.KindOf(err) == ship.NotFound {
		return ship.Errorf(ship.NotFound, "the file of labels is no longer kept; print the labels again")
	}
	if err != nil {
		return err
	}

	page := labelFileView{PreparedLabels: file}
	if from, ok := ship.ParseBatchID(v.Query("batch")); ok {
		page.Batch = from
	}
	section := "shipments"
	if page.Batch != "" {
		section = "batches"
	}
	frame := v.Frame(page.Title(), section)
	if v.IsPart() {
		return v.Show(http.StatusOK, labelFileProgress(frame, page))
	}
	return v.Show(http.StatusOK, labelFilePage(frame, page))
}
