package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A ManifestRequest hands labels over to a carrier: those of ShipmentIDs, or all
// that are not handed over yet.
type ManifestRequest struct {
	ConnectionID string   `json:"connectionId,omitempty"` // or
	Carrier      string   `json:"carrier,omitempty"`
	ShipDate     string   `json:"shipDate,omitempty"` // "2026-03-02"; empty is today
	ShipmentIDs  []string `json:"shipmentIds,omitempty"`
	Address      *Address `json:"address,omitempty"` // nil is the account's own
}

// A Manifest is labels that are handed over together. In lists Documents,
// ShipmentIDs and Excluded are empty.
type Manifest struct {
	ID            string              `json:"id"`
	Status        string              `json:"status"` // "pending", "closed", "failed", "needs_review"
	Carrier       string              `json:"carrier"`
	ConnectionID  string              `json:"connectionId,omitempty"`
	ShipDate      string              `json:"shipDate"`
	LocationID    string              `json:"locationId,omitempty"`
	Number        string              `json:"number,omitempty"` // the carrier's
	Documents     []ManifestDocument  `json:"documents"`
	ShipmentCount int                 `json:"shipmentCount"`
	ShipmentIDs   []string            `json:"shipmentIds"`
	Excluded      []ManifestExclusion `json:"excluded"`
	Message       string              `json:"message,omitempty"` // why it failed or needs review
	CreatedAt     time.Time           `json:"createdAt"`
	ClosedAt      time.Time           `json:"closedAt,omitzero"`
}

// A ManifestDocument is what to print.
type ManifestDocument struct {
	Type string `json:"type"` // "scan_form" and the like, or "handover_sheet"
	URL  string `json:"url"`
}

// A ManifestExclusion is a shipment that is not on the manifest.
type ManifestExclusion struct {
	ShipmentID string `json:"shipmentId"`
	Reason     string `json:"reason"`
}

// CloseManifest hands labels over. A shipment is on one manifest at most. If
// Status is "pending" the carrier has not answered yet: call Manifest to get the
// outcome.
func (c *Client) CloseManifest(ctx context.Context, in ManifestRequest, options ...CallOption) (Manifest, error) {
	var out Manifest
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/manifests", body: in, effect: true}, &out, options...)
	return out, err
}

// Manifest returns a manifest as it is now.
func (c *Client) Manifest(ctx context.Context, id string) (Manifest, error) {
	var out Manifest
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/manifests/" + url.PathEscape(id)}, &out)
	return out, err
}

// Manifests lists a page of manifests, newest first. limit 0 is the service's
// default, and an empty cursor begins at the newest.
func (c *Client) Manifests(ctx context.Context, limit int, cursor string) (Page[Manifest], error) {
	query := url.Values{}
	setPage(query, limit, cursor)
	var out Page[Manifest]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/manifests", query: query}, &out)
	return out, err
}

// ResolveManifest ends the review of a manifest whose Status is "needs_review", with
// what the carrier says: whether it was closed, and the carrier's number if it gave
// one. The labels of one that was not closed can go on another manifest.
func (c *Client) ResolveManifest(ctx context.Context, id string, closed bool, number string, options ...CallOption) (Manifest, error) {
	body := map[string]string{"outcome": "not_closed"}
	if closed {
		body["outcome"] = "closed"
	}
	if number != "" {
		body["number"] = number
	}

	var out Manifest
	path := "/v1/manifests/" + url.PathEscape(id) + "/resolve"
	_, err := c.do(ctx, call{method: http.MethodPost, path: path, body: body, effect: true}, &out, options...)
	return out, err
}

// ManifestFile returns a document of a manifest, counted from 1: a PDF file.
func (c *Client) ManifestFile(ctx context.Context, id string, number int) ([]byte, error) {
	query := url.Values{}
	if number > 1 {
		query.Set("document", strconv.Itoa(number))
	}
	got, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/manifests/" + url.PathEscape(id) + ".pdf", query: query}, nil)
	return got.body, err
}
