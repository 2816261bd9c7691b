package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A Batch is many shipments that are bought with one request.
type Batch struct {
	ID        string      `json:"id"`
	Status    string      `json:"status"` // pending, working, done
	Source    string      `json:"source"` // api, file
	Counts    BatchCounts `json:"counts"`
	CreatedAt time.Time   `json:"createdAt"`
	Replayed  bool        `json:"-"` // the idempotency key was used before: this is the batch of the first request

	// NotQuoted are the carriers that gave no rate for lines; only reading one
	// batch returns them.
	NotQuoted []BatchNotQuoted `json:"notQuoted"`
}

// A BatchNotQuoted is a carrier that did not quote lines of a batch for a reason.
type BatchNotQuoted struct {
	Carrier      string    `json:"carrier"`
	ConnectionID string    `json:"connectionId"`
	Reason       string    `json:"reason"` // as that of a RateError
	Message      string    `json:"message"`
	Retryable    bool      `json:"retryable"`
	RetryAt      time.Time `json:"retryAt"` // when it can be asked again; zero if that is not known
	Lines        int       `json:"lines"`   // that it did not quote
	Of           int       `json:"of"`      // that carriers were asked about
}

// BatchCounts are how many lines of a batch have a status.
type BatchCounts struct {
	Total       int `json:"total"`
	Pending     int `json:"pending"`
	Bought      int `json:"bought"`
	Failed      int `json:"failed"`
	NeedsReview int `json:"needsReview"`
	Skipped     int `json:"skipped"`
}

// A BatchLine is one shipment of a batch.
type BatchLine struct {
	Index          int             `json:"index"` // in the request, from 0
	OrderID        string          `json:"orderId"`
	Status         string          `json:"status"` // pending, bought, failed, needs_review, skipped
	ShipmentID     string          `json:"shipmentId"`
	TrackingNumber string          `json:"trackingNumber"`
	Error          *BatchLineError `json:"error"` // why nothing was bought; nil otherwise
}

// A BatchLineError is why nothing was bought for a line.
type BatchLineError struct {
	Code                string       `json:"code"`
	Detail              string       `json:"detail"`
	PossibleDuplicateOf string       `json:"possibleDuplicateOf"`
	Errors              []FieldError `json:"errors"`
}

// CreateBatch buys many shipments, at most 10,000 and 16 MiB. It returns when
// the batch is stored; the lines are bought afterwards. Call Batch until its
// Status is "done".
func (c *Client) CreateBatch(ctx context.Context, shipments []ShipmentRequest, options ...CallOption) (Batch, error) {
	body := struct {
		Shipments []ShipmentRequest `json:"shipments"`
	}{shipments}

	var out Batch
	got, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/batches", body: body, effect: true}, &out, options...)
	out.Replayed = got.header.Get("Idempotent-Replayed") == "true"
	return out, err
}

// Batch returns a batch as it is now, without its lines.
func (c *Client) Batch(ctx context.Context, id string) (Batch, error) {
	var out Batch
	query := url.Values{"limit": {"1"}}
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/batches/" + url.PathEscape(id), query: query}, &out)
	return out, err
}

// BatchLines iterates over the lines of a batch in their order, page by page:
// those with the status "pending", "bought", "failed" or "skipped", or all if it
// is empty. It ends after an error.
func (c *Client) BatchLines(ctx context.Context, id, status string) iter.Seq2[BatchLine, error] {
	return pages(func(cursor string) (Page[BatchLine], error) {
		query := url.Values{"limit": {"500"}}
		set(query, "status", status)
		set(query, "cursor", cursor)

		var out struct {
			Lines      []BatchLine `json:"lines"`
			NextCursor string      `json:"nextCursor"`
		}
		_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/batches/" + url.PathEscape(id), query: query}, &out)
		return Page[BatchLine]{Data: out.Lines, NextCursor: out.NextCursor}, err
	})
}

// BatchesPage returns one page of batches, newest first.
func (c *Client) BatchesPage(ctx context.Context, limit int, cursor string) (Page[Batch], error) {
	query := url.Values{}
	setPage(query, limit, cursor)
	var out Page[Batch]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/batches", query: query}, &out)
	return out, err
}

// Batches iterates over all batches, newest first, page by page. It ends after
// an error.
func (c *Client) Batches(ctx context.Context) iter.Seq2[Batch, error] {
	return pages(func(cursor string) (Page[Batch], error) { return c.BatchesPage(ctx, 0, cursor) })
}

// BatchLabels returns labels of a batch in one file, in the order of its lines.
// The format is "pdf" or "zpl". A file has at most 500 labels: part 1 are the
// first 500, part 2 the next. Excluded is how many labels cannot be part of such
// a file; get those with Label.
func (c *Client) BatchLabels(ctx context.Context, id, format string, part int) (file []byte, excluded int, err error) {
	query := url.Values{"part": {strconv.Itoa(max(part, 1))}}
	got, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/batches/" + url.PathEscape(id) + "/labels." + url.PathEscape(format), query: query}, nil)
	if err != nil {
		return nil, 0, err
	}
	excluded, _ = strconv.Atoi(got.header.Get("X-Labels-Excluded")) // a number, or nothing
	return got.body, excluded, nil
}
