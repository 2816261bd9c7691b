package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// A LoggedRequest is a request to the API, as the request log has it. It has no
// bodies.
type LoggedRequest struct {
	ID             string    `json:"id"`
	Timestamp      time.Time `json:"timestamp"` // when it began
	Method         string    `json:"method"`
	Path           string    `json:"path"`  // without its query
	Route          string    `json:"route"` // the path with placeholders
	Status         int       `json:"status"`
	DurationMs     int64     `json:"durationMs"`
	KeyID          string    `json:"keyId"`
	IdempotencyKey string    `json:"idempotencyKey"`
	Code           string    `json:"code"` // of the error; empty for none
}

// RequestsRequest says which part of the request log to read.
type RequestsRequest struct {
	After  string    // a cursor, or the id of a request; empty starts at Since
	Since  time.Time // zero is the oldest request that is kept
	Status string    // "2xx", "4xx" or "5xx"; empty is all
	Limit  int       // of a page; 0 is the service's default
}

// RequestsPage reads one page of the request log, oldest first. NextCursor of the page
// is never empty: it continues behind the page, also at the end of the log.
func (c *Client) RequestsPage(ctx context.Context, in RequestsRequest) (Page[LoggedRequest], error) {
	query := url.Values{}
	set(query, "after", in.After)
	set(query, "status", in.Status)
	if in.After == "" && !in.Since.IsZero() {
		query.Set("since", in.Since.UTC().Format(time.RFC3339Nano))
	}
	setPage(query, in.Limit, "")
	var out Page[LoggedRequest]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/requests", query: query}, &out)
	return out, err
}

// Requests iterates over the request log to its present end, oldest first. It ends
// after an error.
func (c *Client) Requests(ctx context.Context, in RequestsRequest) iter.Seq2[LoggedRequest, error] {
	return func(yield func(LoggedRequest, error) bool) {
		for {
			page, err := c.RequestsPage(ctx, in)
			if err != nil {
				yield(LoggedRequest{}, err)
				return
			}
			for _, request := range page.Data {
				if !yield(request, nil) {
					return
				}
			}
			if len(page.Data) == 0 {
				return
			}
			in.After = page.NextCursor
		}
	}
}

// slowestRequest is how long after its beginning a request can appear in the log:
// requests are logged once they are answered.
const slowestRequest = 45 * time.Second

// FollowRequests iterates over the request log, and at its end waits for new requests:
// it polls again after every. Each request is returned once. It ends with ctx, or
// after an error.
func (c *Client) FollowRequests(ctx context.Context, in RequestsRequest, every time.Duration) iter.Seq2[LoggedRequest, error] {
	every = max(every, 100*time.Millisecond)
	return func(yield func(LoggedRequest, error) bool) {
		// The log is in the order in which requests began. Slow ones appear behind
		// what was already read, so the last part is read again each time.
		seen := map[string]time.Time{}
		start := in
		first := in.After // ids are in the order of the log
		for {
			page, err := c.RequestsPage(ctx, in)
			if err != nil {
				yield(LoggedRequest{}, err)
				return
			}
			for _, request := range page.Data {
				if _, again := seen[request.ID]; again || request.ID <= first {
					continue
				}
				seen[request.ID] = request.Timestamp
				if !yield(request, nil) {
					return
				}
			}
			in.After = page.NextCursor
			if len(page.Data) > 0 {
				continue
			}

			// The end of the log. What began too long ago to get company is
			// forgotten, and the rest is read again.
			horizon := time.Now().Add(-slowestRequest)
			in = start
			if horizon.After(in.Since) {
				in.After = ""
				in.Since = horizon
				start = in
			}
			for id, began := range seen {
				if began.Before(horizon.Add(-time.Minute)) {
					delete(seen, id)
				}
			}

			timer := time.NewTimer(every)
			select {
			case <-ctx.Done():
				timer.Stop()
				yield(LoggedRequest{}, context.Cause(ctx))
				return
			case <-timer.C:
			}
		}
	}
}
