package batches

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// rowOf reads the line that the address names.
func rowOf(v *site.Visit) (rowView, error) {
	current, err := batchOf(v)
	if err != nil {
		return rowView{}, err
	}

	number, _ := strconv.Atoi(v.Request.PathValue("n"))
	row, err := v.Batch.Row(v.Context(), v.Tenant(), current.ID, number)
	if err != nil {
		return rowView{}, err
	}
	list, err := rowViews(v, current, []batch.Row{row})
	if err != nil {
		return rowView{}, err
	}
	return list[0], nil
}

// getRow handles GET /app/{account}/{mode}/batches/{id}/rows/{n}: the form that
// corrects a line or, with ?shut, the line without it.
func getRow(v *site.Visit) error {
	row, err := rowOf(v)
	if err != nil {
		return err
	}
	row.Opened = v.Query("shut") == "" && row.CanFix()
	return showRow(v, http.StatusOK, row, false)
}

// showRow answers with a line. After a change a part of a page also updates the
// summary, whose counts the line is in.
func showRow(v *site.Visit, status int, row rowView, changed bool) error {
	frame := v.Frame(row.Of.Name, "batches")
	if !v.IsPart() {
		return v.Show(status, batchRowPage(frame, row))
	}
	if !changed {
		return v.Show(status, batchRowPart(frame, row, nil))
	}

	summary := batchView{Batch: row.Of}
	if err := countLines(v, &summary); err != nil {
		return err
	}
	return v.Show(status, batchRowPart(frame, row, &summary))
}

// changeRow handles POST /app/{account}/{mode}/batches/{id}/rows/{n}: it corrects
// a line, also by the address that the carrier suggests, skips it, or ships its order
// again.
func changeRow(v *site.Visit) error {
	shown, err := rowOf(v)
	if err != nil {
		return err
	}
	batchID := shown.Of.ID
	details := map[string]string{"line": strconv.Itoa(shown.Number)}

	var row batch.Row
	switch v.Form("do") {
	case "skip":
		row, err = v.Batch.Skip(v.Audited("batch.row_skipped", "", details), v.Tenant(), batchID, shown.Number)

	case "suggestion":
		row, err = v.Batch.UseSuggestion(v.Audited("batch.row_changed", "", details), v.Tenant(), batchID, shown.Number)

	case "again":
		row, err = v.Batch.ShipAgain(v.Audited("batch.row_changed", "", details), v.Tenant(), batchID, shown.Number)

	default:
		values := map[string]string{}
		for name, list := range v.Request.PostForm {
			if field, ok := strings.CutPrefix(name, "field."); ok {
				values[field] = strings.TrimSpace(list[0])
			}
		}
		row, err = v.Batch.Fix(v.Audited("batch.row_changed", "", details), v.Tenant(), batchID, shown.Number, values)
	}
	if err != nil {
		return err
	}

	// The change may have moved the line to another count of the tally.
	current, err := v.Batch.Batch(v.Context(), v.Tenant(), batchID)
	if err != nil {
		return err
	}
	views, err := rowViews(v, current, []batch.Row{row})
	if err != nil {
		return err
	}

	// A line that still has errors keeps its form open.
	changed := views[0]
	changed.Opened = row.State == batch.RowBad
	if !v.IsPart() && !changed.Opened {
		return v.Redirect(v.To("batches", string(batchID)), "saved")
	}
	return showRow(v, http.StatusOK, changed, true)
}

// exportResults handles GET /app/{account}/{mode}/batches/{id}/results.csv: the
// file as it was uploaded, with the result of each line.
func exportResults(v *site.Visit) error {
	current, err := batchOf(v)
	if err != nil {
		return err
	}
	views, after, err := resultsAfter(v, current, 0)
	if err != nil {
		return err
	}

	head := append(append([]string{"line"}, current.Header...), "result", "problem", "shipment", "label", "carrier", "service", "tracking number", "amount", "currency")
	out := v.ExportCSV("results", head...)
	for len(views) > 0 && out.Err == nil {
		for _, row := range views {
			out.Row(append(append([]string{strconv.Itoa(row.Number)}, row.Cells...), row.results()...)...)
		}
		if views, after, err = resultsAfter(v, current, after); err != nil {
			return err
		}
	}
	return nil
}

// resultsAtOnce is how many lines of an export are in memory, with their
// shipments.
const resultsAtOnce = 500

// resultsAfter returns the next lines of an export, and the number of the last.
func resultsAfter(v *site.Visit, current batch.Batch, after int) ([]rowView, int, error) {
	rows, _, err := v.Batch.Rows(v.Context(), v.Tenant(), current.ID, after, resultsAtOnce)
	if err != nil || len(rows) == 0 {
		return nil, after, err
	}
	views, err := rowViews(v, current, rows)
	return views, rows[len(rows)-1].Number, err
}

// results returns the cells that follow a line's own.
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
