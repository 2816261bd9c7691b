package web

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

func (s *Web) batchRoutes() []route {
	upload := post("/app/{mode}/batches", member.BuyShipments, s.uploadBatch)
	upload.most = batch.MaxBytes + maxForm
	return []route{
		upload,
		get("/app/{mode}/batches", member.ViewShipments, s.batches),
		get("/app/{mode}/batches.csv", member.ExportShipments, s.batchesCSV),
		get("/app/{mode}/batches/template.csv", member.ViewShipments, s.batchTemplate),
		get("/app/{mode}/batches/{id}", member.ViewShipments, s.batch),
		keeping(post("/app/{mode}/batches/{id}", member.BuyShipments, s.changeBatch)),
		keeping(post("/app/{mode}/batches/{id}/columns", member.BuyShipments, s.mapBatch)),
		get("/app/{mode}/batches/{id}/rows/{n}", member.BuyShipments, s.batchRow),
		keeping(post("/app/{mode}/batches/{id}/rows/{n}", member.BuyShipments, s.changeRow)),
		get("/app/{mode}/batches/{id}/labels.pdf", member.PrintLabels, s.batchPDF),
		get("/app/{mode}/batches/{id}/labels.zpl", member.PrintLabels, s.batchZPL),
		get("/app/{mode}/batches/{id}/documents.pdf", member.PrintLabels, s.batchDocuments),
		get("/app/{mode}/batches/{id}/results.csv", member.ExportShipments, s.batchResults),
	}
}

// batchList is the page of batches.
type batchList struct {
	State, At string // the filter, and where the page begins
	List      []batch.Batch
	Next      string
	Wrong     problems
}

// batchStates are the filters of the list.
var batchStates = []choice{{"", "All"}, {batch.Mapping, "Columns to name"}, {batch.Ready, "Ready"}, {batch.Buying, "Buying"}, {batch.Done, "Bought"}}

func (p batchList) address(path, state, cursor string) string {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// batches handles GET /app/{mode}/batches.
func (s *Web) batches(v *visit) error { return v.showBatches(http.StatusOK, problems{}) }

func (v *visit) showBatches(status int, wrong problems) error {
	p := batchList{State: v.query("state"), At: v.query("cursor"), Wrong: wrong}
	page := ship.Page{Limit: pageSize}
	if id, ok := ship.ParseBatchID(p.At); ok {
		page.Before = id.Raw()
	}
	var more bool
	var err error
	if p.List, more, err = v.Batch.Batches(v.ctx(), v.tenant(), p.State, page); err != nil {
		return err
	}
	if more {
		p.Next = p.address(v.to("batches"), p.State, string(p.List[len(p.List)-1].ID))
	}
	return v.show(status, batchesPage(v.frame("Batches", "batches"), p))
}

// batchesCSV handles GET /app/{mode}/batches.csv.
func (s *Web) batchesCSV(v *visit) error {
	page := ship.Page{Limit: 200}
	out := v.exportCSV("batches", "id", "file", "state", "by", "created", "orders", "ready", "to fix", "skipped", "pending", "bought", "paid")
	for n := 0; n < csvLimit && out.err == nil; n += page.Limit {
		list, more, err := s.Batch.Batches(v.ctx(), v.tenant(), v.query("state"), page)
		if err != nil {
			return err
		}
		for _, b := range list {
			rows := b.Tally.Rows
			out.row(string(b.ID), b.Name, b.State, b.MadeBy, machineTime(b.ID.Raw().Time()), strconv.Itoa(b.Tally.Total()), strconv.Itoa(rows[batch.RowRated]),
				strconv.Itoa(rows[batch.RowBad]+rows[batch.RowFailed]), strconv.Itoa(rows[batch.RowSkipped]), strconv.Itoa(rows[batch.RowPending]), strconv.Itoa(rows[batch.RowBought]), sums(b.Tally.Paid))
		}
		if !more {
			break
		}
		page.Before = list[len(list)-1].ID.Raw()
	}
	return nil
}

// batchTemplate handles GET /app/{mode}/batches/template.csv.
func (s *Web) batchTemplate(v *visit) error {
	titles := make([]string, len(batch.Fields))
	for i, f := range batch.Fields {
		titles[i] = f.Title
	}
	out := v.exportCSV("template", titles...)
	for _, line := range batch.Examples() {
		out.row(line...)
	}
	return nil
}

// uploadBatch handles POST /app/{mode}/batches.
func (s *Web) uploadBatch(v *visit) error {
	name, data, err := v.upload("file")
	if err == nil {
		var b batch.Batch
		if b, err = s.Batch.Upload(v.audited("batch.uploaded", "", nil), v.tenant(), name, v.who.Name(), data); err == nil {
			return v.redirect(v.to("batches", string(b.ID)), "")
		}
	}
	if wrong, mendable := problemsOf(err); mendable {
		return v.showBatches(http.StatusUnprocessableEntity, wrong)
	}
	return err
}

// upload reads a file of a form.
func (v *visit) upload(field string) (name string, data []byte, err error) {
	fault := func(text string) error {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/" + field, Code: "invalid", Detail: text}})
	}
	f, head, err := v.r.FormFile(field)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, batch.MaxBytes+1))
	}
	switch _, large := errors.AsType[*http.MaxBytesError](err); {
	case large:
		return "", nil, fault("the file is larger than 5 MB: divide it")
	case err != nil:
		return "", nil, fault("choose a CSV file first")
	}
	return head.Filename, data, nil
}

// batchOf reads the batch of the address.
func (v *visit) batchOf() (batch.Batch, error) {
	id, ok := ship.ParseBatchID(v.r.PathValue("id"))
	if !ok {
		return batch.Batch{}, ship.Coded(ship.NotFound, "batch_not_found", "no such batch")
	}
	return v.Batch.Batch(v.ctx(), v.tenant(), id)
}

// batchWord is a batch's state, and the class of its badge.
func batchWord(b batch.Batch) (word, class string) {
	switch b.State {
	case batch.Mapping:
		return "Columns to name", "badge badge-warn"
	case batch.Rating:
		return "Getting rates", "badge badge-in_transit"
	case batch.Buying:
		return "Buying", "badge badge-in_transit"
	case batch.Done:
		return "Bought", "badge badge-ok"
	}
	return "Ready to buy", "badge badge-label_generated"
}

// Word is the state of the line, and the class of its badge. Of what was
// bought it is the label's.
func (r rowView) Word() (word, class string) {
	if r.Shipment != nil && r.Shipment.State != ship.StatePurchased && (r.State == batch.RowBought || r.Shipment.State == ship.StateNeedsReview) {
		return labelWord(r.Shipment.State), "badge badge-warn"
	}
	if r.Earlier() != "" && (r.State == batch.RowSkipped || r.State == batch.RowFailed) {
		return "Already shipped", "badge badge-warn"
	}
	switch r.State {
	case batch.RowBad:
		return "Needs fixes", "badge badge-fail"
	case batch.RowFailed:
		return "Not bought", "badge badge-fail"
	case batch.RowGood:
		return "Asking", "badge badge-in_transit"
	case batch.RowRated:
		return "Ready", "badge badge-label_generated"
	case batch.RowSkipped:
		return "Skipped", "badge"
	case batch.RowBuying:
		return "Buying", "badge badge-in_transit"
	case batch.RowPending:
		return "Pending", "badge badge-warn"
	case batch.RowBought:
		return "Bought", "badge badge-ok"
	}
	return plain(r.State), "badge"
}

// sums are amounts of several currencies as people read them.
func sums(list []ship.Money) string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b ship.Money) int { return strings.Compare(a.Currency, b.Currency) })
	words := make([]string, len(list))
	for i, m := range list {
		words[i] = money(m)
	}
	return strings.Join(words, " + ")
}

// counted is a number of things: "1 label", "12 labels".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%s %ss", grouped(n), thing)
}

// shippedWords are how many orders of a file were shipped before.
func shippedWords(n int) string {
	if n == 1 {
		return "1 order of this file was shipped"
	}
	return grouped(n) + " orders of this file were shipped"
}
