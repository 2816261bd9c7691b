package batches

import (
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/web/site"
)

// mapBatch handles POST /app/{account}/{mode}/batches/{id}/columns.
func mapBatch(v *site.Visit) error {
	current, err := batchOf(v)
	if err != nil {
		return err
	}

	meaning := batch.ColumnMapping{
		Columns: make([]string, len(current.Header)),
		Fixed:   map[string]string{},
	}
	for i := range meaning.Columns {
		meaning.Columns[i] = v.Form("column." + strconv.Itoa(i))
	}
	for _, name := range []string{"weight", "weightUnit", "country", "location"} {
		if value := v.Form("fixed." + name); value != "" {
			meaning.Fixed[name] = value
		}
	}

	ctx := v.Audited("batch.checked", "", map[string]string{"file": current.Name})
	err = v.Batch.Check(ctx, v.Tenant(), current.ID, meaning)
	if invalid, fixable := site.ProblemsOf(err); fixable {
		page := batchView{Batch: current, Wrong: invalid}
		page.ColumnMapping = meaning // as submitted, so that it can be corrected
		page.Problem = invalid.All
		return showBatch(v, http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("batches", string(current.ID)), "")
}

// missingFields describes the fields that every order needs and no column
// holds.
func (p batchView) missingFields() (list []string) {
	for _, field := range batch.Fields {
		if problem := p.Wrong.At("/fields/" + field.Name); problem != "" {
			list = append(list, problem)
		}
	}
	return list
}
