package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// A PickupRequest asks a carrier to collect parcels: those of ShipmentIDs, or as
// many as Parcels says.
type PickupRequest struct {
	ConnectionID string   `json:"connectionId,omitempty"` // or
	Carrier      string   `json:"carrier,omitempty"`
	Address      *Address `json:"address,omitempty"` // nil is where the shipments come from, or the account's own
	// ReadyAt and CloseAt have the offset of the place: the carrier is sent the
	// local time.
	ReadyAt      time.Time `json:"readyAt"`
	CloseAt      time.Time `json:"closeAt"`
	ShipmentIDs  []string  `json:"shipmentIds,omitempty"`
	Parcels      int       `json:"parcels,omitempty"`
	Weight       float64   `json:"weight,omitempty"`
	WeightUnit   string    `json:"weightUnit,omitempty"`
	Instructions string    `json:"instructions,omitempty"` // for the driver
}

// A Pickup is a driver that collects parcels.
type Pickup struct {
	ID           string       `json:"id"`
	Status       string       `json:"status"` // "scheduled", "pending", "cancelled", "failed", "needs_review"
	Carrier      string       `json:"carrier"`
	ConnectionID string       `json:"connectionId,omitempty"`
	Confirmation string       `json:"confirmation,omitempty"` // the carrier's number; empty if it is not known
	Window       PickupWindow `json:"window"`
	Address      Address      `json:"address"`
	LocationID   string       `json:"locationId,omitempty"`
	Parcels      int          `json:"parcels"`
	ShipmentIDs  []string     `json:"shipmentIds"`
	Instructions string       `json:"instructions,omitempty"`
	Price        *Money       `json:"price,omitempty"`
	Message      string       `json:"message,omitempty"` // why it failed, needs review, or was not cancelled
	CreatedAt    time.Time    `json:"createdAt"`
	CancelledAt  time.Time    `json:"cancelledAt,omitzero"`
}

// A PickupWindow is from when until when a driver comes.
type PickupWindow struct {
	ReadyAt time.Time `json:"readyAt"`
	CloseAt time.Time `json:"closeAt"`
}

// BookPickup asks a carrier to collect parcels. A carrier account has one pickup
// at an address on a day: asked for again, it is returned as it is. If Status is
// "pending" the carrier has not answered yet: call Pickup to get the outcome.
func (c *Client) BookPickup(ctx context.Context, in PickupRequest, options ...CallOption) (Pickup, error) {
	var out Pickup
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/pickups", body: in, effect: true}, &out, options...)
	return out, err
}

// Pickup returns a pickup as it is now.
func (c *Client) Pickup(ctx context.Context, id string) (Pickup, error) {
	var out Pickup
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/pickups/" + url.PathEscape(id)}, &out)
	return out, err
}

// Pickups lists a page of pickups, newest first. limit 0 is the service's default,
// and an empty cursor begins at the newest.
func (c *Client) Pickups(ctx context.Context, limit int, cursor string) (Page[Pickup], error) {
	query := url.Values{}
	setPage(query, limit, cursor)
	var out Page[Pickup]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/pickups", query: query}, &out)
	return out, err
}

// CancelPickup cancels a pickup. Cancelling twice is the same as once.
func (c *Client) CancelPickup(ctx context.Context, id string, options ...CallOption) (Pickup, error) {
	var out Pickup
	path := "/v1/pickups/" + url.PathEscape(id) + "/cancel"
	_, err := c.do(ctx, call{method: http.MethodPost, path: path, effect: true}, &out, options...)
	return out, err
}

// ResolvePickup ends the review of a pickup whose Status is "needs_review", with what
// the carrier says: whether it is booked, and the carrier's number if it is. If it is
// not, another one can be booked.
func (c *Client) ResolvePickup(ctx context.Context, id string, booked bool, confirmation string, options ...CallOption) (Pickup, error) {
	body := map[string]string{"outcome": "not_booked"}
	if booked {
		body["outcome"] = "booked"
	}
	if confirmation != "" {
		body["confirmation"] = confirmation
	}

	var out Pickup
	path := "/v1/pickups/" + url.PathEscape(id) + "/resolve"
	_, err := c.do(ctx, call{method: http.MethodPost, path: path, body: body, effect: true}, &out, options...)
	return out, err
}
