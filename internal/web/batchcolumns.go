package web

import (
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/batch"
)

// mapBatch handles POST /app/{account}/{mode}/batches/{id}/columns.
func (s *Web) mapBatch(v *visit) error {
	current, err := v.batchOf()
	if err != nil {
		return err
	}

	meaning := batch.ColumnMapping{
		Columns: make([]string, len(current.Header)),
		Fixed:   map[string]string{},
	}
	for i := range meaning.Columns {
		meaning.Columns[i] = v.form("column." + strconv.Itoa(i))
	}
	for _, name := range []string{"weight", "weightUnit", "country"} {
		if value := v.form("fixed." + name); value != "" {
			meaning.Fixed[name] = value
		}
	}

	ctx := v.audited("batch.checked", "", map[string]string{"file": current.Name})
	err = s.Batch.Check(ctx, v.tenant(), current.ID, meaning)
	if invalid, fixable := problemsOf(err); fixable {
		page := batchView{Batch: current, Wrong: invalid}
		page.ColumnMapping = meaning // as it was filled in, to be corrected
		page.Problem = invalid.All
		return v.showBatch(http.StatusUnprocessableEntity, page)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("batches", string(current.ID)), "")
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
