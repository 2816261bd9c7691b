package client

import (
	"context"
	"net/http"
	"net/url"
)

// ProofOfDelivery fetches the proof that a parcel was delivered from its carrier: a
// PDF, or a picture of the signature. If there is none, the error has the code
// "proof_not_available".
func (c *Client) ProofOfDelivery(ctx context.Context, id string) ([]byte, error) {
	path := "/v1/shipments/" + url.PathEscape(id) + "/proof-of-delivery"
	got, err := c.do(ctx, call{method: http.MethodGet, path: path}, nil)
	if err != nil {
		return nil, err
	}
	return got.body, nil
}

// PackingSlip fetches the packing slip of a shipment as a PDF. The size is "4x6",
// "a4" or "letter"; empty means 4x6.
func (c *Client) PackingSlip(ctx context.Context, id, size string) ([]byte, error) {
	query := url.Values{}
	set(query, "size", size)
	path := "/v1/shipments/" + url.PathEscape(id) + "/packing-slip.pdf"
	got, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query}, nil)
	if err != nil {
		return nil, err
	}
	return got.body, nil
}

// ServicePointsRequest looks for service points near a place.
type ServicePointsRequest struct {
	Country string
	Zip     string // Zip or City is needed
	City    string
	Carrier string // empty asks all
	Limit   int    // 0 is the service's default
}

// ServicePoints are places where parcels are handed in or collected, the nearest
// first.
type ServicePoints struct {
	Points []ServicePoint `json:"points"`
	Errors []RateError    `json:"errors"` // carriers that did not answer
}

// A ServicePoint is a shop, a locker or a post office.
type ServicePoint struct {
	ID       string  `json:"id"` // the carrier's
	Carrier  string  `json:"carrier"`
	Name     string  `json:"name"`
	Address  Address `json:"address"`
	Distance *struct {
		Value float64 `json:"value"`
		Unit  string  `json:"unit"` // "m"
	} `json:"distance"` // nil if not known
	Latitude  *float64     `json:"latitude"`
	Longitude *float64     `json:"longitude"`
	Locker    bool         `json:"locker"`
	Abilities []string     `json:"abilities"` // "collect", "hand_in", "returns"
	Hours     []PointHours `json:"hours"`
}

// PointHours are when a service point is open on a day of the week.
type PointHours struct {
	Day   string `json:"day"`  // "monday"
	Open  string `json:"open"` // "09:00"
	Close string `json:"close"`
}

// ServicePoints asks the account's carriers for service points near a place.
func (c *Client) ServicePoints(ctx context.Context, in ServicePointsRequest) (ServicePoints, error) {
	query := url.Values{}
	set(query, "country", in.Country)
	set(query, "zip", in.Zip)
	set(query, "city", in.City)
	set(query, "carrier", in.Carrier)
	setPage(query, in.Limit, "")

	var out ServicePoints
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/v1/service-points", query: query}, &out)
	return out, err
}

// LandedCost is what customs will charge, by carrier.
type LandedCost struct {
	Estimates []DutyEstimate `json:"estimates"` // carriers disagree; they are not combined
	Errors    []RateError    `json:"errors"`    // carriers that did not answer
}

// A DutyEstimate is what one carrier estimates. Its amounts can be in several
// currencies.
type DutyEstimate struct {
	Carrier    string         `json:"carrier"`
	Guaranteed bool           `json:"guaranteed"` // the carrier bears the difference
	Charges    []LandedCharge `json:"charges"`
	Messages   []string       `json:"messages"`
}

// A LandedCharge is a duty, a tax or a fee.
type LandedCharge struct {
	Type   string `json:"type"` // "duty", "tax", "fee"
	Name   string `json:"name"`
	Item   *int   `json:"item"` // of the declaration, from 0; nil for the shipment as a whole
	Amount Money  `json:"amount"`
}

// LandedCost asks the account's carriers what customs will charge for a shipment.
// Of the request, Customs is needed and OrderID is not. Nothing is bought.
func (c *Client) LandedCost(ctx context.Context, in ShipmentRequest) (LandedCost, error) {
	var out LandedCost
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/landed-cost", body: in}, &out)
	return out, err
}
