package web

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
)

// rowOf reads the line of the address.
func (v *visit) rowOf() (rowView, error) {
	b, err := v.batchOf()
	if err != nil {
		return rowView{}, err
	}
	number, _ := strconv.Atoi(v.r.PathValue("n"))
	row, err := v.Batch.Row(v.ctx(), v.tenant(), b.ID, number)
	if err != nil {
		return rowView{}, err
	}
	list, err := v.rowViews(b, []batch.Row{row})
	if err != nil {
		return rowView{}, err
	}
	return list[0], nil
}

// batchRow handles GET /app/{mode}/batches/{id}/rows/{n}: the form that mends
// a line, or with ?shut the line again.
func (s *Web) batchRow(v *visit) error {
	r, err := v.rowOf()
	if err != nil {
		return err
	}
	r.Opened = v.query("shut") == "" && r.MayMend()
	return v.showRow(http.StatusOK, r, false)
}

func (v *visit) showRow(status int, r rowView, changed bool) error {
	f := v.frame(r.Of.Name, "batches")
	if !v.isPart() {
		return v.show(status, batchRowPage(f, r))
	}
	if !changed {
		return v.show(status, batchRowPart(f, r, nil))
	}

	summary := batchView{Batch: r.Of}
	if err := v.countLines(&summary); err != nil {
		return err
	}
	return v.show(status, batchRowPart(f, r, &summary))
}

// changeRow handles POST /app/{mode}/batches/{id}/rows/{n}: mends or skips a
// line.
func (s *Web) changeRow(v *visit) error {
	r, err := v.rowOf()
	if err != nil {
		return err
	}
	var row batch.Row
	details := map[string]string{"line": strconv.Itoa(r.Number)}
	switch v.form("do") {
	case "skip":
		row, err = s.Batch.Skip(v.audited("batch.row_skipped", "", details), v.tenant(), r.Of.ID, r.Number)
	case "again":
		row, err = s.Batch.ShipAgain(v.audited("batch.row_changed", "", details), v.tenant(), r.Of.ID, r.Number)
	default:
		values := map[string]string{}
		for name, list := range v.r.PostForm {
			if field, ok := strings.CutPrefix(name, "field."); ok {
				values[field] = strings.TrimSpace(list[0])
			}
		}
		row, err = s.Batch.Mend(v.audited("batch.row_changed", "", details), v.tenant(), r.Of.ID, r.Number, values)
	}
	if err != nil {
		return err
	}
	if r.Of, err = s.Batch.Batch(v.ctx(), v.tenant(), r.Of.ID); err != nil {
		return err
	}
	views, err := v.rowViews(r.Of, []batch.Row{row})
	if err != nil {
		return err
	}
	r = views[0]
	r.Opened = row.State == batch.RowBad
	if !v.isPart() && !r.Opened {
		return v.redirect(v.to("batches", string(r.Of.ID)), "saved")
	}
	return v.showRow(http.StatusOK, r, true)
}

// batchResults handles GET /app/{mode}/batches/{id}/results.csv: the file as it
// came, and what became of each line.
func (s *Web) batchResults(v *visit) error {
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	rows, _, err := s.Batch.Rows(v.ctx(), v.tenant(), b.ID, 0, batch.MaxRows)
	if err != nil {
		return err
	}
	views, err := v.rowViews(b, rows)
	if err != nil {
		return err
	}
	head := append(append([]string{"line"}, b.Header...), "result", "problem", "shipment", "label", "carrier", "service", "tracking number", "amount", "currency")
	out := v.exportCSV("results", head...)
	for _, r := range views {
		out.row(append(append([]string{strconv.Itoa(r.Number)}, r.Cells...), r.results()...)...)
	}
	return nil
}

// results are the cells behind a line's own.
func (r rowView) results() []string {
	word, _ := r.Word()
	cells := []string{word, strings.Join(r.Mistakes(), " "), string(r.BatchRow.Shipment), "", "", "", "", "", ""}
	sh := r.Shipment
	if sh == nil {
		return cells
	}
	cells[3], cells[4], cells[5], cells[6] = sh.State.LabelStatus(), sh.Deal.Carrier, sh.Deal.Service, sh.Deal.TrackingNumber
	if price := cmp.Or(sh.Deal.Price, r.Price); price != (ship.Money{}) {
		cells[7], cells[8] = price.Amount(), price.Currency
	}
	return cells
}
