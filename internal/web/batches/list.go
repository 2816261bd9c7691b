// Package batches has the pages of orders that are bought together from a file:
// the upload, its columns, its lines, and their labels.
package batches

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// batchList is the page of batches.
type batchList struct {
	State, At string // the filter, and the page's cursor
	List      []batch.Batch
	Next      string
	Wrong     site.Problems
}

// batchStates are the filters of the list.
var batchStates = []parts.Choice{
	{Value: "", Title: "All"},
	{Value: batch.Mapping, Title: "Columns to map"},
	{Value: batch.Ready, Title: "Ready"},
	{Value: batch.Buying, Title: "Buying"},
	{Value: batch.Done, Title: "Bought"},
}

// address returns the address of the batches of a state, from the cursor on.
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

// listBatches handles GET /app/{account}/{mode}/batches.
func listBatches(v *site.Visit) error { return showBatches(v, http.StatusOK, site.Problems{}) }

// showBatches renders the list, with the errors of an upload if there are any.
func showBatches(v *site.Visit, status int, invalid site.Problems) error {
	page := batchList{
		State: v.Query("state"),
		At:    v.Query("cursor"),
		Wrong: invalid,
	}
	window := ship.Page{Limit: site.PageSize}
	if id, ok := ship.ParseBatchID(page.At); ok {
		window.Before = id.Raw()
	}

	list, more, err := v.Batch.Batches(v.Context(), v.Tenant(), page.State, window)
	if err != nil {
		return err
	}
	page.List = list
	if more {
		page.Next = page.address(v.To("batches"), page.State, string(list[len(list)-1].ID))
	}
	return v.Show(status, batchesPage(v.Frame("Batches", "batches"), page))
}

// exportBatches handles GET /app/{account}/{mode}/batches.csv.
func exportBatches(v *site.Visit) error {
	out := v.ExportCSV("batches", "id", "file", "state", "by", "created", "orders", "ready", "to fix", "skipped", "pending", "bought", "paid")

	part := ship.Page{Limit: 200}
	for n := 0; n < site.CSVLimit && out.Err == nil; n += part.Limit {
		list, more, err := v.Batch.Batches(v.Context(), v.Tenant(), v.Query("state"), part)
		if err != nil {
			return err
		}

		for _, listed := range list {
			rows := listed.Tally.Rows
			out.Row(
				string(listed.ID),
				listed.Name,
				listed.State,
				listed.MadeBy,
				parts.MachineTime(listed.ID.Raw().Time()),
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

// downloadTemplate handles GET /app/{account}/{mode}/batches/template.csv.
func downloadTemplate(v *site.Visit) error {
	titles := make([]string, len(batch.Fields))
	for i, field := range batch.Fields {
		titles[i] = field.Title
	}

	out := v.ExportCSV("template", titles...)
	for _, line := range batch.Examples() {
		out.Row(line...)
	}
	return nil
}

// uploadBatch handles POST /app/{account}/{mode}/batches.
func uploadBatch(v *site.Visit) error {
	var uploaded batch.Batch
	name, data, err := upload(v, "file")
	if err == nil {
		uploaded, err = v.Batch.Upload(v.Audited("batch.uploaded", "", nil), v.Tenant(), name, v.Who.Name(), data)
	}

	if invalid, fixable := site.ProblemsOf(err); fixable {
		return showBatches(v, http.StatusUnprocessableEntity, invalid)
	}
	if err != nil {
		return err
	}
	return v.Redirect(v.To("batches", string(uploaded.ID)), "")
}

// upload reads a file of a form.
func upload(v *site.Visit, field string) (name string, data []byte, err error) {
	invalid := func(detail string) error {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/" + field, Code: "invalid", Detail: detail}})
	}

	file, header, err := v.Request.FormFile(field)
	if err == nil {
		defer file.Close()
		data, err = site.ReadFile(file, header)
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
func batchOf(v *site.Visit) (batch.Batch, error) {
	id, ok := ship.ParseBatchID(v.Request.PathValue("id"))
	if !ok {
		return batch.Batch{}, ship.Coded(ship.NotFound, "batch_not_found", "no such batch")
	}
	return v.Batch.Batch(v.Context(), v.Tenant(), id)
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
		return doneWord(listed.Tally.Rows)
	}

	rows := listed.Tally.Rows
	switch {
	case rows[batch.RowRated] > 0:
		return "Ready to buy", "badge badge-label_generated"
	case rows[batch.RowBad]+rows[batch.RowFailed] > 0:
		return "Needs fixes", "badge badge-fail"
	}
	return "Nothing to buy", "badge"
}

// doneWord names the state of a batch that nobody works on any more.
func doneWord(rows map[string]int) (word, class string) {
	bought := rows[batch.RowBought]
	pending := rows[batch.RowPending]
	failed := rows[batch.RowFailed]
	switch {
	case pending > 0 && bought == 0:
		return "Pending", "badge badge-warn"
	case pending > 0:
		return "Bought, " + parts.Grouped(pending) + " pending", "badge badge-warn"
	case bought == 0:
		return "Nothing bought", "badge badge-fail"
	case failed > 0:
		return "Bought, " + parts.Grouped(failed) + " not bought", "badge badge-warn"
	}
	return "Bought", "badge badge-ok"
}

// Word names the state of the line, with the class of its badge.
func (r rowView) Word() (word, class string) {
	// A label can be voided after the batch was bought, and a purchase can end
	// up in review: the shipment is more up to date than the line.
	if r.Shipment != nil && r.Shipment.State != ship.StatePurchased && (r.State == batch.RowBought || r.Shipment.State == ship.StateNeedsReview) {
		return parts.LabelWord(r.Shipment.State), "badge badge-warn"
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
	return parts.Plain(r.State), "badge"
}

// sums formats amounts of several currencies: "€5.00 + $12.00".
func sums(list []ship.Money) string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b ship.Money) int { return strings.Compare(a.Currency, b.Currency) })

	words := make([]string, len(list))
	for i, amount := range list {
		words[i] = parts.Money(amount)
	}
	return strings.Join(words, " + ")
}

// counted formats a number of things: "1 label", "12 labels".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%s %ss", parts.Grouped(n), thing)
}

// doubtfulWords says how many addresses should be looked at.
func doubtfulWords(n int) string {
	if n == 1 {
		return "The address of 1 order may be wrong."
	}
	return "The addresses of " + parts.Grouped(n) + " orders may be wrong."
}

// shippedWords says how many orders of a file were shipped before.
func shippedWords(n int) string {
	if n == 1 {
		return "1 order in this file was shipped"
	}
	return parts.Grouped(n) + " orders in this file were shipped"
}
