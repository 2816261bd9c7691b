package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// A Location is a place that parcels are sent from.
type Location struct {
	ID          string       `json:"id"`
	Name        string       `json:"name"`
	Address     Address      `json:"address"`
	Contact     *Contact     `json:"contact,omitempty"` // nil is the name and phone of the address
	CutoffTimes []CutoffTime `json:"cutoffTimes"`
	Connections []string     `json:"connections"` // the carrier accounts that are used from here; empty means all
	Default     bool         `json:"default"`     // parcels leave from here if a request has no origin
	CreatedAt   time.Time    `json:"createdAt"`
}

// A Contact is whom a driver asks for at a location.
type Contact struct {
	Name  string `json:"name,omitempty"`
	Phone string `json:"phone,omitempty"`
	Email string `json:"email,omitempty"`
}

// A CutoffTime is until when parcels must be handed over at a location.
type CutoffTime struct {
	Carrier string `json:"carrier,omitempty"` // empty is for all that have no time of their own
	Time    string `json:"time"`              // "17:00", in the time zone of the location
}

// A LocationRequest describes a new location.
type LocationRequest struct {
	Name        string       `json:"name"`
	Address     Address      `json:"address"`
	Contact     *Contact     `json:"contact,omitempty"`
	CutoffTimes []CutoffTime `json:"cutoffTimes,omitempty"`
	Connections []string     `json:"connections,omitempty"`
	Default     bool         `json:"default,omitempty"`
}

// A LocationChange changes a location; nil leaves a field as it is.
type LocationChange struct {
	Name        *string       `json:"name,omitempty"`
	Address     *Address      `json:"address,omitempty"`
	Contact     *Contact      `json:"contact,omitempty"` // an empty one removes the contact
	CutoffTimes *[]CutoffTime `json:"cutoffTimes,omitempty"`
	Connections *[]string     `json:"connections,omitempty"`
	Default     *bool         `json:"default,omitempty"`
}

// AtLocation is the origin of a request that leaves from a location: its address
// is copied by the service.
func AtLocation(id string) *Address { return &Address{LocationID: id} }

// MarshalJSON writes an address; one that names a location is that alone.
func (a Address) MarshalJSON() ([]byte, error) {
	if a.LocationID != "" {
		return json.Marshal(map[string]string{"locationId": a.LocationID})
	}
	type plain Address
	return json.Marshal(plain(a))
}

// CreateLocation creates a place that parcels are sent from.
func (c *Client) CreateLocation(ctx context.Context, in LocationRequest, options ...CallOption) (Location, error) {
	var out Location
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/locations", body: in, effect: true}, &out, options...)
	return out, err
}

// Location returns a location.
func (c *Client) Location(ctx context.Context, id string) (Location, error) {
	var out Location
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/locations/" + url.PathEscape(id)}, &out)
	return out, err
}

// Locations lists all locations, by name.
func (c *Client) Locations(ctx context.Context) ([]Location, error) {
	var out Page[Location]
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/locations"}, &out)
	return out.Data, err
}

// ChangeLocation changes a location. What was sent from it keeps its address.
func (c *Client) ChangeLocation(ctx context.Context, id string, in LocationChange) (Location, error) {
	var out Location
	_, err := c.do(ctx, call{method: http.MethodPatch, path: "/v1/locations/" + url.PathEscape(id), body: in}, &out)
	return out, err
}

// DeleteLocation deletes a location. What was sent from it keeps its address.
func (c *Client) DeleteLocation(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: "/v1/locations/" + url.PathEscape(id)}, nil)
	return err
}
