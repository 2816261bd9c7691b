package web

import (
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/batch"
)

// mapBatch handles POST /app/{mode}/batches/{id}/columns.
func (s *Web) mapBatch(v *visit) error {
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	m := batch.Meaning{Columns: make([]string, len(b.Header)), Fixed: map[string]string{}}
	for i := range m.Columns {
		m.Columns[i] = v.form("column." + strconv.Itoa(i))
	}
	for _, name := range []string{"weight", "weightUnit", "country"} {
		if value := v.form("fixed." + name); value != "" {
			m.Fixed[name] = value
		}
	}
	err = s.Batch.Check(v.audited("batch.checked", "", map[string]string{"file": b.Name}), v.tenant(), b.ID, m)
	if wrong, mendable := problemsOf(err); mendable {
		p := batchView{Batch: b, Wrong: wrong}
		p.Meaning = m
		p.Problem = wrong.All
		return v.showBatch(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("batches", string(b.ID)), "")
}

// missingFields are the fields that no column holds and every order needs.
func (p batchView) missingFields() (list []string) {
	for _, x := range batch.Fields {
		if w := p.Wrong.At("/fields/" + x.Name); w != "" {
			list = append(list, w)
		}
	}
	return list
}
