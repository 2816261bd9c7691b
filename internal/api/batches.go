package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/wire"
)

// batchShown is a batch without its lines.
type batchShown struct {
	ID        string      `json:"id" example:"bat_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the batch, prefix bat_."`
	Status    string      `json:"status" enum:"pending,working,done" doc:"pending before the first line is bought, working until the outcome of every line is known, then done. Lines that need review do not hold it up."`
	Source    string      `json:"source" enum:"api,file" doc:"Whether it came by the API or as a file in the dashboard."`
	Counts    batchCounts `json:"counts" doc:"Where its lines stand."`
	CreatedAt string      `json:"createdAt" format:"date-time" doc:"When it was created."`
}

type batchCounts struct {
	Total       int `json:"total" doc:"Number of lines: the sum of all others."`
	Pending     int `json:"pending" doc:"Lines whose outcome is not known yet."`
	Bought      int `json:"bought" doc:"Lines that have a shipment."`
	Failed      int `json:"failed" doc:"Lines that are invalid or that no carrier sold. Nothing was bought for them."`
	NeedsReview int `json:"needsReview" doc:"Lines whose purchase a carrier neither confirms nor denies; a person decides."`
	Skipped     int `json:"skipped" doc:"Lines that a person left out, or that were erased."`
}

// batchWithLines is a batch with a page of its lines.
type batchWithLines struct {
	ID         string           `json:"id" example:"bat_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the batch, prefix bat_."`
	Status     string           `json:"status" enum:"pending,working,done" doc:"pending before the first line is bought, working until the outcome of every line is known, then done. Lines that need review do not hold it up."`
	Source     string           `json:"source" enum:"api,file" doc:"Whether it came by the API or as a file in the dashboard."`
	Counts     batchCounts      `json:"counts" doc:"Where its lines stand."`
	CreatedAt  string           `json:"createdAt" format:"date-time" doc:"When it was created."`
	NotQuoted  []notQuotedShown `json:"notQuoted" doc:"Carriers of the account that gave no rate for lines of the batch, by reason, those with the most lines first. Look here before a batch is bought: another carrier may be dearer."`
	Lines      []batchLineShown `json:"lines" doc:"Lines of the page, in the order of the request."`
	NextCursor *string          `json:"nextCursor" doc:"Send it as cursor to get the next page; null on the last page."`
}

// notQuotedShown is a carrier that did not quote lines of a batch, in the words of
// the errors of POST /v1/rates.
type notQuotedShown struct {
	Carrier      string `json:"carrier" example:"usps" doc:"Identifier of the carrier."`
	ConnectionID string `json:"connectionId,omitempty" doc:"The carrier account, if it is known."`
	Reason       string `json:"reason" enum:"rate_limited,timeout,unavailable,circuit_open,credentials,missing_field,refused" doc:"Why it did not quote, as in the errors of POST /v1/rates."`
	Message      string `json:"message" doc:"Why it did not quote, as text."`
	Retryable    bool   `json:"retryable" doc:"Whether it may quote the same lines later."`
	RetryAt      string `json:"retryAt,omitempty" format:"date-time" doc:"When it can be asked again, if that is known."`
	Lines        int    `json:"lines" example:"174" doc:"Lines that it did not quote for this reason."`
	Of           int    `json:"of" example:"190" doc:"Lines of the batch that carriers were asked about."`
}

type batchLineShown struct {
	Index          int        `json:"index" example:"0" doc:"Position in shipments, from 0."`
	OrderID        string     `json:"orderId,omitempty" example:"ORD-1001" doc:"The client's order reference."`
	Status         string     `json:"status" enum:"pending,bought,failed,needs_review,skipped" doc:"Where the line stands."`
	ShipmentID     string     `json:"shipmentId,omitempty" example:"shp_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"The shipment of the line."`
	TrackingNumber string     `json:"trackingNumber,omitempty" example:"1Z999AA10123456784" doc:"Tracking number of the shipment."`
	Error          *lineError `json:"error,omitempty" doc:"Why nothing was bought for the line."`
}

type lineError struct {
	Code        string                 `json:"code" example:"validation_failed" doc:"Stable error code, as in the errors of POST /v1/shipments."`
	Detail      string                 `json:"detail" doc:"What happened, and what to do next."`
	DuplicateOf string                 `json:"possibleDuplicateOf,omitempty" doc:"The shipment that the order has already."`
	Errors      []httpkit.FieldProblem `json:"errors,omitempty" doc:"The problems in the line, at most 10. Pointers begin at the shipment."`
}

// batchOf returns a batch as clients see it.
func batchOf(b batch.Batch) batchShown {
	rows := b.Tally.Rows
	counts := batchCounts{
		Total:       b.Tally.Total(),
		Bought:      rows[batch.RowBought],
		Failed:      rows[batch.RowBad] + rows[batch.RowFailed],
		NeedsReview: b.Tally.Reviews,
		Skipped:     rows[batch.RowSkipped],
	}
	counts.Pending = counts.Total - counts.Bought - counts.Failed - counts.NeedsReview - counts.Skipped

	out := batchShown{
		ID:        string(b.ID),
		Status:    "pending",
		Source:    "file",
		Counts:    counts,
		CreatedAt: wire.Time(b.ID.Raw().Time()),
	}
	if b.ByAPI() {
		out.Source = "api"
	}

	// Lines that were invalid from the beginning are no progress.
	settled := counts.Bought + counts.NeedsReview + rows[batch.RowPending] + rows[batch.RowFailed]
	switch {
	case b.State == batch.Done && counts.Pending == 0:
		out.Status = "done"
	case b.State == batch.Done, b.State == batch.Buying && settled > 0:
		out.Status = "working"
	}
	return out
}

// createBatch handles POST /v1/batches.
func (s *server) createBatch(ctx context.Context, _ *struct{}) (reply, error) {
	ex := httpkit.From(ctx)
	caller := ex.Principal

	// Lines are bought later, with the limits of the key as they are then.
	if caller.Key == "" {
		return reply{}, ship.Coded(ship.Forbidden, "invalid_api_key", "a batch needs an API key")
	}
	read, err := s.readBatch(ex)
	if err != nil {
		return reply{}, err
	}

	input := batch.CreateInput{
		Tenant:         caller.Tenant,
		APIKey:         caller.Key,
		By:             cmp.Or(caller.KeyName, caller.KeyHint),
		Lines:          s.batchLines(caller, read),
		IdempotencyKey: ex.Idempotency,
		Fingerprint:    read.fingerprint,
		Answer: func(created batch.Batch) (ship.Answer, error) {
			out, err := jsonReply(http.StatusAccepted, batchOf(created))
			return ship.Answer{Status: out.status, Body: out.body}, err
		},
	}

	// A live batch without an idempotency key is recognized by its content for a
	// day: somebody who sends it again after a time-out must not buy everything
	// twice.
	if ex.Idempotency == "" && caller.Tenant.Livemode {
		input.IdempotencyKey = unnamedBatch(caller.Key, read.fingerprint)
		input.IsBrief = true
	}

	created, err := s.Batch.Create(ctx, input)
	if errors.Is(err, batch.ErrKeyUsed) {
		return s.repeatedBatch(ctx, input)
	}
	if err != nil {
		return reply{}, err
	}

	out, err := jsonReply(http.StatusAccepted, batchOf(created))
	return out.
		with("Location", "/v1/batches/"+string(created.ID)).
		with("Retry-After", "5"), err
}

// repeatedBatch answers a request whose idempotency key was used before.
func (s *server) repeatedBatch(ctx context.Context, input batch.CreateInput) (reply, error) {
	answer, err := s.Account.StoredAnswer(ctx, input.Tenant, input.IdempotencyKey, input.Fingerprint)
	if err != nil {
		return reply{}, err
	}
	return reply{status: answer.Status, body: answer.Body}.with(httpkit.ReplayedHeader, "true"), nil
}

// batchID reads the id in a path. Text that is not an id is not found, as the id
// of another account's batch is.
func batchID(text string) (ship.BatchID, error) {
	id, ok := ship.ParseBatchID(text)
	if !ok {
		return "", ship.Coded(ship.NotFound, "batch_not_found", "no such batch")
	}
	return id, nil
}

// listBatches handles GET /v1/batches.
func (s *server) listBatches(ctx context.Context, in *PageRequest) (reply, error) {
	window := ship.Page{Limit: in.Limit}
	if in.Cursor != "" {
		id, ok := ship.ParseBatchID(in.Cursor)
		if !ok {
			return reply{}, invalidCursor()
		}
		window.Before = id.Raw()
	}

	list, more, err := s.Batch.Batches(ctx, httpkit.From(ctx).Principal.Tenant, "", window)
	if err != nil {
		return reply{}, err
	}
	data := make([]batchShown, len(list))
	last := ""
	for i, listed := range list {
		data[i] = batchOf(listed)
		last = data[i].ID
	}
	return jsonReply(http.StatusOK, pageOf(data, more, last))
}

type getBatchRequest struct {
	ID     string `path:"id" example:"bat_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the batch."`
	Status string `query:"status" enum:"pending,bought,failed,skipped" doc:"Only lines with this status; pending includes those that need review."`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"Maximum number of lines to return."`
	Cursor string `query:"cursor" minLength:"1" maxLength:"10" doc:"nextCursor of the previous page."`
}

// rowStates are the states of the lines of a status.
var rowStates = map[string][]string{
	"pending": {batch.RowUnread, batch.RowGood, batch.RowRated, batch.RowBuying, batch.RowPending},
	"bought":  {batch.RowBought},
	"failed":  {batch.RowBad, batch.RowFailed},
	"skipped": {batch.RowSkipped},
}

// getBatch handles GET /v1/batches/{id}.
func (s *server) getBatch(ctx context.Context, in *getBatchRequest) (reply, error) {
	tenant := httpkit.From(ctx).Principal.Tenant
	id, err := batchID(in.ID)
	if err != nil {
		return reply{}, err
	}
	after := 0
	if in.Cursor != "" {
		if after, err = strconv.Atoi(in.Cursor); err != nil || after < 1 || after > batch.MaxLines {
			return reply{}, invalidCursor()
		}
	}

	found, err := s.Batch.Batch(ctx, tenant, id)
	if err != nil {
		return reply{}, err
	}
	rows, more, err := s.Batch.Rows(ctx, tenant, id, after, in.Limit, rowStates[in.Status]...)
	if err != nil {
		return reply{}, err
	}
	lines, err := s.linesOf(ctx, found, rows)
	if err != nil {
		return reply{}, err
	}

	quoted, err := s.Batch.QuoteSummary(ctx, tenant, id)
	if err != nil {
		return reply{}, err
	}

	summary := batchOf(found)
	out := batchWithLines{
		ID:        summary.ID,
		Status:    summary.Status,
		Source:    summary.Source,
		Counts:    summary.Counts,
		CreatedAt: summary.CreatedAt,
		NotQuoted: notQuotedOf(quoted),
		Lines:     lines,
	}
	if more {
		out.NextCursor = new(strconv.Itoa(rows[len(rows)-1].Number))
	}
	return jsonReply(http.StatusOK, out)
}

// notQuotedOf returns the carriers that did not quote as clients see them.
func notQuotedOf(quoted batch.QuoteSummary) []notQuotedShown {
	list := make([]notQuotedShown, len(quoted.Gaps))
	for i, gap := range quoted.Gaps {
		list[i] = notQuotedShown{
			Carrier:      gap.Carrier,
			ConnectionID: string(gap.Connection),
			Reason:       string(gap.Reason),
			Message:      gap.Why(),
			Retryable:    gap.Reason.IsTemporary(),
			RetryAt:      wire.Time(gap.RetryAt),
			Lines:        gap.Lines,
			Of:           quoted.Orders,
		}
	}
	return list
}

// linesOf returns lines as clients see them.
func (s *server) linesOf(ctx context.Context, of batch.Batch, rows []batch.Row) ([]batchLineShown, error) {
	var ids []ship.ShipmentID
	for _, row := range rows {
		if row.Shipment != "" {
			ids = append(ids, row.Shipment)
		}
	}
	shipments, err := s.Shipping.ShipmentsByID(ctx, of.Tenant, ids)
	if err != nil {
		return nil, err
	}

	lines := make([]batchLineShown, len(rows))
	for i, row := range rows {
		lines[i] = lineOf(of, row, shipments[row.Shipment])
	}
	return lines, nil
}

// lineOf returns a line as clients see it. The shipment is empty if the line has
// none, or none that clients know of yet.
func lineOf(of batch.Batch, row batch.Row, shipment ship.Shipment) batchLineShown {
	out := batchLineShown{
		Index:          row.Number - 1,
		OrderID:        of.ColumnMapping.Values(row.Cells)["order"],
		Status:         "pending",
		ShipmentID:     string(shipment.ID),
		TrackingNumber: shipment.Purchase.TrackingNumber,
	}
	for status, states := range rowStates {
		if slices.Contains(states, row.State) {
			out.Status = status
		}
	}
	if row.State == batch.RowPending && shipment.State == ship.StateNeedsReview {
		out.Status = "needs_review"
	}
	if len(row.Problems) > 0 {
		out.Error = lineErrorOf(row.Problems)
	}
	return out
}

// lineErrorOf returns the problems of a line as one error.
func lineErrorOf(problems []batch.Problem) *lineError {
	first := problems[0]
	out := &lineError{
		Code:        cmp.Or(first.Reason, "validation_failed"),
		Detail:      first.Detail,
		DuplicateOf: string(first.Shipment),
	}

	for _, problem := range problems {
		if problem.Code != "" {
			out.Errors = append(out.Errors, httpkit.FieldProblem{Pointer: problem.Pointer, Code: problem.Code, Detail: problem.Detail})
		}
	}
	if len(out.Errors) > 0 {
		out.Detail = ship.InvalidFieldsMessage
	}
	return out
}

type batchPDFRequest struct {
	ID   string `path:"id" example:"bat_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the batch."`
	Part int    `query:"part" minimum:"1" maximum:"20" default:"1" doc:"Which 500 labels, from 1: a file has at most that many."`
	Size string `query:"size" enum:"4x6,a6,a4,letter" doc:"Paper size: 4x6 in (default), A6, or A4 or letter with the label in one corner."`
}

// batchPDF handles GET /v1/batches/{id}/labels.pdf.
func (s *server) batchPDF(ctx context.Context, in *batchPDFRequest) (reply, error) {
	size := cmp.Or(label.Size(in.Size), label.Size4x6)
	return s.batchLabels(ctx, in.ID, in.Part, label.Options{Format: label.PDF, Size: size, DPI: 203})
}

type batchZPLRequest struct {
	ID   string `path:"id" example:"bat_01KJMBQDHV00G2N6V3T9RZKXB4" doc:"Identifier of the batch."`
	Part int    `query:"part" minimum:"1" maximum:"20" default:"1" doc:"Which 500 labels, from 1: a file has at most that many."`
	DPI  int    `query:"dpi" enum:"203,300" doc:"Printer resolution in dpi; 203 by default."`
}

// batchZPL handles GET /v1/batches/{id}/labels.zpl.
func (s *server) batchZPL(ctx context.Context, in *batchZPLRequest) (reply, error) {
	return s.batchLabels(ctx, in.ID, in.Part, label.Options{Format: label.ZPL, Size: label.Size4x6, DPI: cmp.Or(in.DPI, 203)})
}

// batchLabels answers with the labels of a batch in one file.
func (s *server) batchLabels(ctx context.Context, text string, part int, options label.Options) (reply, error) {
	tenant := httpkit.From(ctx).Principal.Tenant
	id, err := batchID(text)
	if err != nil {
		return reply{}, err
	}
	if _, err := s.Batch.Batch(ctx, tenant, id); err != nil {
		return reply{}, err
	}
	shipments, err := s.Batch.Shipments(ctx, tenant, id, part, shipping.MaxLabels)
	if err != nil {
		return reply{}, err
	}

	file, err := s.Shipping.Labels(ctx, tenant, shipments, options)
	if err != nil {
		return reply{}, err
	}
	if file.Data == nil {
		// No label can be in such a file: the first says why.
		for _, shipment := range shipments {
			if reason := file.Excluded[shipment]; reason != nil {
				return reply{}, reason
			}
		}
	}

	name := string(id) + "." + string(options.Format)
	return reply{status: http.StatusOK, kind: options.Format.ContentType(), body: file.Data}.
		with("X-Labels", strconv.Itoa(file.Included)).
		with("X-Labels-Excluded", strconv.Itoa(len(file.Excluded))).
		with("Content-Disposition", `attachment; filename="`+name+`"`), nil
}
