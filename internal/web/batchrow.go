package web

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
)

// rowOf reads the line that the address names.
func (v *visit) rowOf() (rowView, error) {
	current, err := v.batchOf()
	if err != nil {
		return rowView{}, err
	}

	number, _ := strconv.Atoi(v.r.PathValue("n"))
	row, err := v.Batch.Row(v.ctx(), v.tenant(), current.ID, number)
	if err != nil {
		return rowView{}, err
	}
	list, err := v.rowViews(current, []batch.Row{row})
	if err != nil {
		return rowView{}, err
	}
	return list[0], nil
}

// batchRow handles GET /app/{account}/{mode}/batches/{id}/rows/{n}: the form that
// corrects a line or, with ?shut, the line without it.
func (s *Web) batchRow(v *visit) error {
	row, err := v.rowOf()
	if err != nil {
		return err
	}
	row.Opened = v.query("shut") == "" && row.CanFix()
	return v.showRow(http.StatusOK, row, false)
}

// showRow answers with a line. After a change a part of a page also updates the
// summary, whose counts the line is in.
func (v *visit) showRow(status int, row rowView, changed bool) error {
	frame := v.frame(row.Of.Name, "batches")
	if !v.isPart() {
		return v.show(status, batchRowPage(frame, row))
	}
	if !changed {
		return v.show(status, batchRowPart(frame, row, nil))
	}

	summary := batchView{Batch: row.Of}
	if err := v.countLines(&summary); err != nil {
		return err
	}
	return v.show(status, batchRowPart(frame, row, &summary))
}

// changeRow handles POST /app/{account}/{mode}/batches/{id}/rows/{n}: it corrects
// a line, skips it, or ships its order again.
func (s *Web) changeRow(v *visit) error {
	shown, err := v.rowOf()
	if err != nil {
		return err
	}
	batchID := shown.Of.ID
	details := map[string]string{"line": strconv.Itoa(shown.Number)}

	var row batch.Row
	switch v.form("do") {
	case "skip":
		row, err = s.Batch.Skip(v.audited("batch.row_skipped", "", details), v.tenant(), batchID, shown.Number)

	case "again":
		row, err = s.Batch.ShipAgain(v.audited("batch.row_changed", "", details), v.tenant(), batchID, shown.Number)

	default:
		values := map[string]string{}
		for name, list := range v.r.PostForm {
			if field, ok := strings.CutPrefix(name, "field."); ok {
				values[field] = strings.TrimSpace(list[0])
			}
		}
		row, err = s.Batch.Fix(v.audited("batch.row_changed", "", details), v.tenant(), batchID, shown.Number, values)
	}
	if err != nil {
		return err
	}

	// The change may have moved the line to another count of the tally.
	current, err := s.Batch.Batch(v.ctx(), v.tenant(), batchID)
	if err != nil {
		return err
	}
	views, err := v.rowViews(current, []batch.Row{row})
	if err != nil {
		return err
	}

	// A line that still has errors keeps its form open.
	changed := views[0]
	changed.Opened = row.State == batch.RowBad
	if !v.isPart() && !changed.Opened {
		return v.redirect(v.to("batches", string(batchID)), "saved")
	}
	return v.showRow(http.StatusOK, changed, true)
}

// batchResults handles GET /app/{account}/{mode}/batches/{id}/results.csv: the
// file as it was uploaded, with the result of each line.
func (s *Web) batchResults(v *visit) error {
	current, err := v.batchOf()
	if err != nil {
		return err
	}
	rows, _, err := s.Batch.Rows(v.ctx(), v.tenant(), current.ID, 0, batch.MaxRows)
	if err != nil {
		return err
	}
	views, err := v.rowViews(current, rows)
	if err != nil {
		return err
	}

	head := append(append([]string{"line"}, current.Header...), "result", "problem", "shipment", "label", "carrier", "service", "tracking number", "amount", "currency")
	out := v.exportCSV("results", head...)
	for _, row := range views {
		out.row(append(append([]string{strconv.Itoa(row.Number)}, row.Cells...), row.results()...)...)
	}
	return nil
}

// results are the cells that follow a line's own.
func (r rowView) results() []string {
	word, _ := r.Word()
	cells := []string{word, strings.Join(r.Mistakes(), " "), string(r.BatchRow.Shipment), "", "", "", "", "", ""}
	if r.Shipment == nil {
		return cells
	}

	purchase := r.Shipment.Purchase
	cells[3] = r.Shipment.State.LabelStatus()
	cells[4] = purchase.Carrier
	cells[5] = purchase.Service
	cells[6] = purchase.TrackingNumber
	if price := cmp.Or(purchase.Price, r.Price); price != (ship.Money{}) {
		cells[7] = price.Amount()
		cells[8] = price.Currency
	}
	return cells
}
