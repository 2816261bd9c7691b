package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
// answered yet: call it again with the same idempotency key, or call Shipment,
// to get the outcome.
func (c *Client) CreateShipment(ctx context.Context, in ShipmentRequest, options ...CallOption) (Shipment, error) {
	var out Shipment
	got, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/shipments", body: in, effect: true}, &out, options...)
	out.Replayed = got.header.Get("Idempotent-Replayed") == "true"
	return out, err
}

// CreateShipmentAndWait buys a label and waits until it is there or has failed:
// if the carrier has not answered yet, it asks for the outcome after every. It
// ends with ctx, and then returns the shipment as it was last seen too.
func (c *Client) CreateShipmentAndWait(ctx context.Context, in ShipmentRequest, every time.Duration, options ...CallOption) (Shipment, error) {
	shipment, err := c.CreateShipment(ctx, in, options...)
	for err == nil && shipment.LabelStatus == "pending" {
		timer := time.NewTimer(max(every, 10*time.Millisecond))
		select {
		case <-ctx.Done():
			timer.Stop()
			return shipment, context.Cause(ctx)
		case <-timer.C:
		}

		var now Shipment
		if now, err = c.Shipment(ctx, shipment.ID); err == nil {
			shipment = now
		}
	}
	return shipment, err
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

// Return buys a label that brings the parcels of a shipment back. Like
// CreateShipment, it may be pending. If the shipment already has a return, the
// error has the code "return_exists".
func (c *Client) Return(ctx context.Context, id string, in ReturnRequest, options ...CallOption) (Shipment, error) {
	var out Shipment
	path := "/v1/shipments/" + url.PathEscape(id) + "/return"
	got, err := c.do(ctx, call{method: http.MethodPost, path: path, body: in, effect: true}, &out, options...)
	out.Replayed = got.header.Get("Idempotent-Replayed") == "true"
	return out, err
}

// UploadDocument adds a file to the documents of a bought shipment: PDF, PNG or
// JPEG of at most 10 MiB. The kind is one of "commercial_invoice",
// "certificate_of_origin", "packing_list", "export_license", "import_permit",
// "declaration", "power_of_attorney" and "other".
func (c *Client) UploadDocument(ctx context.Context, id, kind string, file []byte, options ...CallOption) (Document, error) {
	var out Document
	body := struct {
		Type string `json:"type"`
		Data []byte `json:"data"` // base64 in JSON
	}{kind, file}
	path := "/v1/shipments/" + url.PathEscape(id) + "/documents"
	_, err := c.do(ctx, call{method: http.MethodPost, path: path, body: body, effect: true}, &out, options...)
	return out, err
}

// ResolveDocument ends the review of a document whose Submission has the Status
// "needs_review", with what the carrier says: whether it has the document, and the
// carrier's number if it gives one. The number is that of the document among those of
// the shipment, from 1. A document that the carrier does not have can be uploaded
// again.
func (c *Client) ResolveDocument(ctx context.Context, id string, number int, received bool, documentID string, options ...CallOption) (Document, error) {
	body := map[string]string{"outcome": "not_received"}
	if received {
		body["outcome"] = "received"
	}
	if documentID != "" {
		body["documentId"] = documentID
	}

	var out Document
	path := "/v1/shipments/" + url.PathEscape(id) + "/documents/" + strconv.Itoa(number) + "/resolve"
	_, err := c.do(ctx, call{method: http.MethodPost, path: path, body: body, effect: true}, &out, options...)
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
	LabelStatus   []string // any of them
	Carrier       string
	CreatedAfter  time.Time
	CreatedBefore time.Time
	Limit         int    // of a page; 0 is the service's default
	Cursor        string // where to begin; empty is at the newest
}

func (r ShipmentsRequest) query() url.Values {
	query := url.Values{}
	set(query, "orderId", r.OrderID)
	set(query, "reference", r.Reference)
	set(query, "trackingNumber", r.TrackingNumber)
	set(query, "query", r.Query)
	set(query, "status", r.Status)
	set(query, "labelStatus", strings.Join(r.LabelStatus, ","))
	set(query, "carrier", r.Carrier)

	if !r.CreatedAfter.IsZero() {
		query.Set("createdAfter", r.CreatedAfter.UTC().Format(time.RFC3339Nano))
	}
	if !r.CreatedBefore.IsZero() {
		query.Set("createdBefore", r.CreatedBefore.UTC().Format(time.RFC3339Nano))
	}
	setPage(query, r.Limit, r.Cursor)
	return query
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

func setPage(query url.Values, limit int, cursor string) {
	if limit > 0 {
		query.Set("limit", strconv.Itoa(limit))
	}
	set(query, "cursor", cursor)
}

// ShipmentsPage returns one page of shipments, newest first.
func (c *Client) ShipmentsPage(ctx context.Context, in ShipmentsRequest) (Page[Shipment], error) {
	var out Page[Shipment]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/shipments", query: in.query()}, &out)
	return out, err
}

// Shipments iterates over all shipments of the request, newest first, page by
// page. It ends after an error.
func (c *Client) Shipments(ctx context.Context, in ShipmentsRequest) iter.Seq2[Shipment, error] {
	return pages(func(cursor string) (Page[Shipment], error) {
		if cursor != "" {
			in.Cursor = cursor
		}
		return c.ShipmentsPage(ctx, in)
	})
}

// pages iterates over all elements of a list.
func pages[T any](fetch func(cursor string) (Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			page, err := fetch(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}

			for _, element := range page.Data {
				if !yield(element, nil) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			cursor = page.NextCursor
		}
	}
}

// UpdateMetadata replaces the metadata of a shipment; an empty map removes it.
func (c *Client) UpdateMetadata(ctx context.Context, id string, metadata map[string]string) (Shipment, error) {
	if metadata == nil {
		metadata = map[string]string{}
	}
	body := map[string]any{"metadata": metadata}
	var out Shipment
	_, err := c.do(ctx, call{method: http.MethodPatch, path: "/v1/shipments/" + url.PathEscape(id), body: body}, &out)
	return out, err
}

// Void voids a label. LabelStatus of the answer is voided, voiding or
// refund_pending.
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
	query := url.Values{}
	set(query, "size", o.Size)
	if o.DPI != 0 {
		query.Set("dpi", strconv.Itoa(o.DPI))
	}

	got, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/labels/" + url.PathEscape(id+"."+o.Format), query: query}, nil)
	if err != nil {
		return nil, err
	}
	return got.body, nil
}

// LabelLink creates an address at which one format of a label can be fetched
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
