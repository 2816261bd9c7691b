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
	upload := post("/app/{account}/{mode}/batches", member.BuyShipments, s.uploadBatch)
	upload.most = batch.MaxBytes + maxForm

	return []route{
		upload,
		get("/app/{account}/{mode}/batches", member.ViewShipments, s.batches),
		get("/app/{account}/{mode}/batches.csv", member.ExportShipments, s.batchesCSV),
		get("/app/{account}/{mode}/batches/template.csv", member.ViewShipments, s.batchTemplate),
		get("/app/{account}/{mode}/batches/{id}", member.ViewShipments, s.batch),
		keeping(post("/app/{account}/{mode}/batches/{id}", member.BuyShipments, s.changeBatch)),
		keeping(post("/app/{account}/{mode}/batches/{id}/columns", member.BuyShipments, s.mapBatch)),
		get("/app/{account}/{mode}/batches/{id}/rows/{n}", member.BuyShipments, s.batchRow),
		keeping(post("/app/{account}/{mode}/batches/{id}/rows/{n}", member.BuyShipments, s.changeRow)),
		get("/app/{account}/{mode}/batches/{id}/labels.pdf", member.PrintLabels, s.batchPDF),
		get("/app/{account}/{mode}/batches/{id}/labels.zpl", member.PrintLabels, s.batchZPL),
		get("/app/{account}/{mode}/batches/{id}/documents.pdf", member.PrintLabels, s.batchDocuments),
		get("/app/{account}/{mode}/batches/{id}/results.csv", member.ExportShipments, s.batchResults),
	}
}

// batchList is the page of batches.
type batchList struct {
	State, At string // the filter, and the page's cursor
	List      []batch.Batch
	Next      string
	Wrong     problems
}

// batchStates are the filters of the list.
var batchStates = []choice{
	{"", "All"},
	{batch.Mapping, "Columns to map"},
	{batch.Ready, "Ready"},
	{batch.Buying, "Buying"},
	{batch.Done, "Bought"},
}

// address is the address of the batches of a state, from the cursor on.
func (p batchList) address(path, state, cursor string) string {
	query := url.Values{}
	if state != "" {
		query.Set("state", state)
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}

	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}

// batches handles GET /app/{account}/{mode}/batches.
func (s *Web) batches(v *visit) error { return v.showBatches(http.StatusOK, problems{}) }

// showBatches answers with the list, and what is wrong with an upload.
func (v *visit) showBatches(status int, invalid problems) error {
	page := batchList{
		State: v.query("state"),
		At:    v.query("cursor"),
		Wrong: invalid,
	}
	window := ship.Page{Limit: pageSize}
	if id, ok := ship.ParseBatchID(page.At); ok {
		window.Before = id.Raw()
	}

	list, more, err := v.Batch.Batches(v.ctx(), v.tenant(), page.State, window)
	if err != nil {
		return err
	}
	page.List = list
	if more {
		page.Next = page.address(v.to("batches"), page.State, string(list[len(list)-1].ID))
	}
	return v.show(status, batchesPage(v.frame("Batches", "batches"), page))
}

// batchesCSV handles GET /app/{account}/{mode}/batches.csv.
func (s *Web) batchesCSV(v *visit) error {
	out := v.exportCSV("batches", "id", "file", "state", "by", "created", "orders", "ready", "to fix", "skipped", "pending", "bought", "paid")

	part := ship.Page{Limit: 200}
	for n := 0; n < csvLimit && out.err == nil; n += part.Limit {
		list, more, err := s.Batch.Batches(v.ctx(), v.tenant(), v.query("state"), part)
		if err != nil {
			return err
		}

		for _, listed := range list {
			rows := listed.Tally.Rows
			out.row(
				string(listed.ID),
				listed.Name,
				listed.State,
				listed.MadeBy,
				machineTime(listed.ID.Raw().Time()),
				strconv.Itoa(listed.Tally.Total()),
				strconv.Itoa(rows[batch.RowRated]),
				strconv.Itoa(rows[batch.RowBad]+rows[batch.RowFailed]),
				strconv.Itoa(rows[batch.RowSkipped]),
				strconv.Itoa(rows[batch.RowPending]),
				strconv.Itoa(rows[batch.RowBought]),
				sums(listed.Tally.Paid),
			)
		}

		if !more {
			break
		}
		part.Before = list[len(list)-1].ID.Raw()
	}
	return nil
}

// batchTemplate handles GET /app/{account}/{mode}/batches/template.csv.
func (s *Web) batchTemplate(v *visit) error {
	titles := make([]string, len(batch.Fields))
	for i, field := range batch.Fields {
		titles[i] = field.Title
	}

	out := v.exportCSV("template", titles...)
	for _, line := range batch.Examples() {
		out.row(line...)
	}
	return nil
}

// uploadBatch handles POST /app/{account}/{mode}/batches.
func (s *Web) uploadBatch(v *visit) error {
	var uploaded batch.Batch
	name, data, err := v.upload("file")
	if err == nil {
		uploaded, err = s.Batch.Upload(v.audited("batch.uploaded", "", nil), v.tenant(), name, v.who.Name(), data)
	}

	if invalid, fixable := problemsOf(err); fixable {
		return v.showBatches(http.StatusUnprocessableEntity, invalid)
	}
	if err != nil {
		return err
	}
	return v.redirect(v.to("batches", string(uploaded.ID)), "")
}

// upload reads a file of a form.
func (v *visit) upload(field string) (name string, data []byte, err error) {
	invalid := func(detail string) error {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/" + field, Code: "invalid", Detail: detail}})
	}

	// One byte more than allowed is read, so that the service can reject a file
	// that is too large.
	file, header, err := v.r.FormFile(field)
	if err == nil {
		defer file.Close()
		data, err = io.ReadAll(io.LimitReader(file, batch.MaxBytes+1))
	}

	switch _, isTooLarge := errors.AsType[*http.MaxBytesError](err); {
	case isTooLarge:
		return "", nil, invalid("the file is larger than 5 MB; split it into smaller files")
	case err != nil:
		return "", nil, invalid("choose a CSV file first")
	}
	return header.Filename, data, nil
}

// batchOf reads the batch that the address names.
func (v *visit) batchOf() (batch.Batch, error) {
	id, ok := ship.ParseBatchID(v.r.PathValue("id"))
	if !ok {
		return batch.Batch{}, ship.Coded(ship.NotFound, "batch_not_found", "no such batch")
	}
	return v.Batch.Batch(v.ctx(), v.tenant(), id)
}

// batchWord names a batch's state, with the class of its badge.
func batchWord(listed batch.Batch) (word, class string) {
	switch listed.State {
	case batch.Mapping:
		return "Columns to map", "badge badge-warn"
	case batch.Rating:
		return "Getting rates", "badge badge-in_transit"
	case batch.Buying:
		return "Buying", "badge badge-in_transit"
	case batch.Done:
		return "Bought", "badge badge-ok"
	}
	return "Ready to buy", "badge badge-label_generated"
}

// Word names the state of the line, with the class of its badge.
func (r rowView) Word() (word, class string) {
	// A label can be voided after the batch was bought, and a purchase can end
	// up in review: the shipment knows more than the line.
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
		return "Getting rate", "badge badge-in_transit"
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

// sums formats amounts of several currencies: "€5.00 + $12.00".
func sums(list []ship.Money) string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b ship.Money) int { return strings.Compare(a.Currency, b.Currency) })

	words := make([]string, len(list))
	for i, amount := range list {
		words[i] = money(amount)
	}
	return strings.Join(words, " + ")
}

// counted formats a number of things: "1 label", "12 labels".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%s %ss", grouped(n), thing)
}

// shippedWords says how many orders of a file were shipped before.
func shippedWords(n int) string {
	if n == 1 {
		return "1 order in this file was shipped"
	}
	return grouped(n) + " orders in this file were shipped"
}
