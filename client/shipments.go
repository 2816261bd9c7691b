package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Rates asks all carriers for their prices, cheapest first.
func (c *Client) Rates(ctx context.Context, in RatesRequest) (Rates, error) {
	var out Rates
	// Quoting has no effect, so it is repeated without a key.
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/rates", body: in}, &out)
	return out, err
}

// CreateShipment buys a label. If LabelStatus is "pending" the carrier has not
// answered yet; the same idempotency key, or Shipment, tells later.
func (c *Client) CreateShipment(ctx context.Context, in ShipmentRequest, options ...CallOption) (Shipment, error) {
	var out Shipment
	got, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/shipments", body: in, effect: true}, &out, options...)
	out.Replayed = got.header.Get("Idempotent-Replayed") == "true"
	return out, err
}

// Shipment returns a shipment as it is now.
func (c *Client) Shipment(ctx context.Context, id string) (Shipment, error) {
	var out Shipment
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/shipments/" + url.PathEscape(id)}, &out)
	return out, err
}

// Duplicate returns a request that ships the same order again: addresses,
// parcels, customs and options filled in, the days left out. Nothing is bought.
func (c *Client) Duplicate(ctx context.Context, id string) (ShipmentRequest, error) {
	var out ShipmentRequest
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/shipments/" + url.PathEscape(id) + "/duplicate"}, &out)
	return out, err
}

// ShipmentsRequest narrows a list of shipments; its zero value lists all.
type ShipmentsRequest struct {
	OrderID        string
	Reference      string // your own
	TrackingNumber string // of any piece
	// Query is any part of an order or tracking number, or words of the
	// recipient's name, company, e-mail address or city.
	Query         string
	Status        string
	Carrier       string
	CreatedAfter  time.Time
	CreatedBefore time.Time
	Limit         int    // of a page; 0 is the service's default
	Cursor        string // where to begin; empty is at the newest
}

func (r ShipmentsRequest) query() url.Values {
	q := url.Values{}
	set(q, "orderId", r.OrderID)
	set(q, "reference", r.Reference)
	set(q, "trackingNumber", r.TrackingNumber)
	set(q, "query", r.Query)
	set(q, "status", r.Status)
	set(q, "carrier", r.Carrier)
	if !r.CreatedAfter.IsZero() {
		q.Set("createdAfter", r.CreatedAfter.UTC().Format(time.RFC3339Nano))
	}
	if !r.CreatedBefore.IsZero() {
		q.Set("createdBefore", r.CreatedBefore.UTC().Format(time.RFC3339Nano))
	}
	setPage(q, r.Limit, r.Cursor)
	return q
}

func set(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func setPage(q url.Values, limit int, cursor string) {
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	set(q, "cursor", cursor)
}

// ShipmentsPage returns one page of shipments, newest first.
func (c *Client) ShipmentsPage(ctx context.Context, in ShipmentsRequest) (Page[Shipment], error) {
	var out Page[Shipment]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/shipments", query: in.query()}, &out)
	return out, err
}

// Shipments goes over all shipments of the request, newest first, page by page.
// After an error it ends.
func (c *Client) Shipments(ctx context.Context, in ShipmentsRequest) iter.Seq2[Shipment, error] {
	return pages(func(cursor string) (Page[Shipment], error) {
		if cursor != "" {
			in.Cursor = cursor
		}
		return c.ShipmentsPage(ctx, in)
	})
}

// pages goes over all elements of a list.
func pages[T any](fetch func(cursor string) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			p, err := fetch(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, v := range p.Data {
				if !yield(v, nil) {
					return
				}
			}
			if p.NextCursor == "" {
				return
			}
			cursor = p.NextCursor
		}
	}
}

// Void takes a label back. LabelStatus of the answer tells how far it came:
// voided, voiding or refund_pending.
func (c *Client) Void(ctx context.Context, id string, options ...CallOption) (Shipment, error) {
	var out Shipment
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/shipments/" + url.PathEscape(id) + "/void", effect: true}, &out, options...)
	return out, err
}

// LabelOptions choose a rendering of a label. The zero value is a PDF of 4x6
// inches for printers of 203 dpi.
type LabelOptions struct {
	Format string // "pdf", "zpl" or "png"
	Size   string // "4x6", "a6", "a4" or "letter"
	DPI    int    // 203 or 300
}

// Label fetches a label.
func (c *Client) Label(ctx context.Context, id string, o LabelOptions) ([]byte, error) {
	if o.Format == "" {
		o.Format = "pdf"
	}
	q := url.Values{}
	set(q, "size", o.Size)
	if o.DPI != 0 {
		q.Set("dpi", strconv.Itoa(o.DPI))
	}
	got, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/labels/" + url.PathEscape(id+"."+o.Format), query: q}, nil)
	if err != nil {
		return nil, err
	}
	return got.body, nil
}

// LabelLink makes an address at which one format of a label can be fetched
// without a key, for a while: a day if lasting is zero, 7 days at most.
func (c *Client) LabelLink(ctx context.Context, id, format string, lasting time.Duration) (LabelLink, error) {
	in := struct {
		Format    string `json:"format,omitempty"`
		ExpiresIn int64  `json:"expiresIn,omitempty"`
	}{format, int64(lasting / time.Second)}
	var out LabelLink
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/shipments/" + url.PathEscape(id) + "/label-link", body: in}, &out)
	return out, err
}

// Carriers lists the carriers that the key can use.
func (c *Client) Carriers(ctx context.Context) ([]Carrier, error) {
	var out Page[Carrier]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/carriers"}, &out)
	return out.Data, err
}
