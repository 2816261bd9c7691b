package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Track looks a parcel up by its tracking number, its shipment's id or its
// tracker's. The carrier decides if two carriers use the same number; it may be
// empty.
func (c *Client) Track(ctx context.Context, number, carrier string) (TrackingResult, error) {
	query := url.Values{}
	set(query, "carrier", carrier)
	var out TrackingResult
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/tracking/" + url.PathEscape(number), query: query}, &out)
	return out, err
}

// A NumberCandidate is a carrier that a tracking number may belong to.
type NumberCandidate struct {
	Carrier    string `json:"carrier"`
	Confidence string `json:"confidence"` // "high", "medium", "low"
}

// RecognizeTrackingNumber returns the carriers that have such numbers, the
// likeliest first; none if no supported carrier has. Nothing is asked of them.
func (c *Client) RecognizeTrackingNumber(ctx context.Context, number string) ([]NumberCandidate, error) {
	var out struct {
		Candidates []NumberCandidate `json:"candidates"`
	}
	query := url.Values{"number": {number}}
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/tracking-numbers/recognize", query: query}, &out)
	return out.Candidates, err
}

// CreateTracker follows a parcel that was not bought here, and reports whether
// it is new. Without a carrier, the number must identify it.
func (c *Client) CreateTracker(ctx context.Context, number, carrier string, options ...CallOption) (TrackingResult, bool, error) {
	in := struct {
		TrackingNumber string `json:"trackingNumber"`
		Carrier        string `json:"carrier,omitempty"`
	}{number, carrier}
	var out TrackingResult
	got, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/trackers", body: in, effect: true}, &out, options...)
	return out, got.status == http.StatusCreated, err
}

// TrackersPage returns one page of followed parcels, newest first, without
// their timelines.
func (c *Client) TrackersPage(ctx context.Context, limit int, cursor string) (Page[TrackingResult], error) {
	query := url.Values{}
	setPage(query, limit, cursor)
	var out Page[TrackingResult]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/trackers", query: query}, &out)
	return out, err
}

// Trackers iterates over all followed parcels, newest first, page by page. It
// ends after an error.
func (c *Client) Trackers(ctx context.Context) iter.Seq2[TrackingResult, error] {
	return pages(func(cursor string) (Page[TrackingResult], error) { return c.TrackersPage(ctx, 0, cursor) })
}

// DeleteTracker stops following a parcel.
func (c *Client) DeleteTracker(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: "/v1/trackers/" + url.PathEscape(id)}, nil)
	return err
}

// Advance moves the parcel of a test shipment on: to the status, or by one step
// if it is empty. The reason is for an exception.
func (c *Client) Advance(ctx context.Context, id, status, reason string, options ...CallOption) (TrackingResult, error) {
	in := struct {
		Status string `json:"status,omitempty"`
		Reason string `json:"reason,omitempty"`
	}{status, reason}
	var out TrackingResult
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/sandbox/shipments/" + url.PathEscape(id) + "/advance", body: in, effect: true}, &out, options...)
	return out, err
}

// EventsRequest says which part of the event log to read.
type EventsRequest struct {
	After string   // a cursor; empty is the oldest event that is kept
	Types []string // empty is all
	Limit int      // of a page; 0 is the service's default
}

// EventsPage reads one page of the log, oldest first. NextCursor of the page is
// never empty: it continues behind the page, also at the end of the log.
func (c *Client) EventsPage(ctx context.Context, in EventsRequest) (Page[Event], error) {
	query := url.Values{}
	set(query, "after", in.After)
	set(query, "types", strings.Join(in.Types, ","))
	setPage(query, in.Limit, "")
	var out Page[Event]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/events", query: query}, &out)

	// The service gives a cursor for the whole page. An event within it
	// continues at the page's beginning: that repeats events, and skips none.
	for i := range out.Data {
		out.Data[i].Cursor = in.After
	}
	if n := len(out.Data); n > 0 {
		out.Data[n-1].Cursor = out.NextCursor
	}
	return out, err
}

// Events iterates over the log to its present end, oldest first. It ends after
// an error.
func (c *Client) Events(ctx context.Context, in EventsRequest) iter.Seq2[Event, error] {
	return c.follow(ctx, in, 0)
}

// FollowEvents iterates over the log, and at its end waits for new events: it
// polls again after every. It ends with ctx, or after an error.
func (c *Client) FollowEvents(ctx context.Context, in EventsRequest, every time.Duration) iter.Seq2[Event, error] {
	return c.follow(ctx, in, max(every, 100*time.Millisecond))
}

// follow iterates over the log. At its end it polls again after every, or ends
// if that is zero.
func (c *Client) follow(ctx context.Context, in EventsRequest, every time.Duration) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			page, err := c.EventsPage(ctx, in)
			if err != nil {
				yield(Event{}, err)
				return
			}

			for _, event := range page.Data {
				if !yield(event, nil) {
					return
				}
			}
			in.After = page.NextCursor

			// Only an empty page is the end of the log.
			if len(page.Data) > 0 {
				continue
			}
			if every == 0 {
				return
			}
			timer := time.NewTimer(every)
			select {
			case <-ctx.Done():
				timer.Stop()
				yield(Event{}, context.Cause(ctx))
				return
			case <-timer.C:
			}
		}
	}
}
