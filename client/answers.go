package client

import (
	"bytes"
	"encoding/json"
	"time"
)

// A Page is a part of a list.
type Page[T any] struct {
	Data       []T    `json:"data"`
	NextCursor string `json:"nextCursor"` // empty on the last page
}

// Rates are the offers of the carriers, cheapest first.
type Rates struct {
	Rates     []Rate      `json:"rates"`
	Errors    []RateError `json:"errors"`
	Partial   bool        `json:"partial"` // a carrier had not answered in time
	ExpiresAt time.Time   `json:"expiresAt"`

	// Removed are offers of services that cannot do an option of the shipment.
	Removed []RemovedRate `json:"removed"`

	// Warnings are what customs or a carrier would object to.
	Warnings []FieldError `json:"warnings"`
}

// A RemovedRate is an offer that was left out.
type RemovedRate struct {
	Carrier     string `json:"carrier"`
	Service     string `json:"service"`
	ServiceName string `json:"serviceName"`
	Pointer     string `json:"pointer"` // the field that the service cannot do: "/options/dryIce"
	Message     string `json:"message"`
}

// A Rate is an offer; its ID buys it.
type Rate struct {
	ID                    string    `json:"id"`
	Carrier               string    `json:"carrier"`
	ConnectionID          string    `json:"connectionId"`
	Service               string    `json:"service"`
	ServiceName           string    `json:"serviceName"`
	Amount                string    `json:"amount"`
	Currency              string    `json:"currency"`
	TransitDays           int       `json:"transitDays"`
	EstimatedDeliveryDate time.Time `json:"estimatedDeliveryDate"`
	Guaranteed            bool      `json:"guaranteed"`
	Source                string    `json:"source"` // "carrier", "sheet" or "cache"

	Estimate       bool          `json:"estimate"`     // not for sale: the destination was incomplete, and ID is empty
	Assumptions    []string      `json:"assumptions"`  // of an estimate
	DeliveryDays   int           `json:"deliveryDays"` // days from the ship date to the delivery
	ListAmount     string        `json:"listAmount"`   // the carrier's published price, in Currency
	Charges        []Charge      `json:"charges"`      // the parts of the price
	BillableWeight *WeightAmount `json:"billableWeight"`
}

// A Charge is a part of a price; a discount is negative.
type Charge struct {
	Type   string `json:"type"`   // "base", "fuel", "residential", ...
	Amount string `json:"amount"` // in the currency of the rate
}

// A WeightAmount is a weight with its unit.
type WeightAmount struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// A RateError is a carrier that did not quote.
type RateError struct {
	Carrier    string `json:"carrier"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	Retryable  bool   `json:"retryable"`
	DurationMs int64  `json:"durationMs"`

	Reason  string    `json:"reason"`  // "rate_limited", "timeout", "missing_field", ...
	RetryAt time.Time `json:"retryAt"` // when the carrier can be asked again; zero if that is not known

	Errors         []FieldError `json:"errors"` // the fields that the carrier objects to
	CarrierCode    string       `json:"carrierCode"`
	CarrierMessage string       `json:"carrierMessage"`
}

// A Shipment is an order with its label.
type Shipment struct {
	ID                    string            `json:"id"`
	Status                string            `json:"status"`
	Carrier               string            `json:"carrier"`
	TrackingNumber        string            `json:"trackingNumber"` // empty while a purchase is pending
	LabelURL              string            `json:"labelUrl"`
	Labels                Labels            `json:"labels"`
	OrderID               string            `json:"orderId"`
	Service               string            `json:"service"`
	ConnectionID          string            `json:"connectionId"`
	Rate                  *Money            `json:"rate"` // what was charged
	EstimatedDeliveryDate time.Time         `json:"estimatedDeliveryDate"`
	Routing               *Routing          `json:"routing"`
	LabelStatus           string            `json:"labelStatus"`
	Pieces                []Piece           `json:"pieces"`
	Documents             []Document        `json:"documents"`
	Warnings              []string          `json:"warnings"`
	PossibleDuplicateOf   string            `json:"possibleDuplicateOf"`
	Reason                string            `json:"reason"`
	Reference             string            `json:"reference"`
	Metadata              map[string]string `json:"metadata"`
	Simulated             bool              `json:"simulated"`
	Livemode              bool              `json:"livemode"`
	CreatedAt             time.Time         `json:"createdAt"`

	// What follows is shown by CreateShipment, Return, Shipment and Void, not in
	// lists and events.

	Origin          *Address         `json:"origin"`
	LocationID      string           `json:"locationId"` // of the origin, if it is a location of the account
	Destination     *Address         `json:"destination"`
	Parcels         []Parcel         `json:"parcels"`
	Customs         *Customs         `json:"customs"`
	Options         *ShippingOptions `json:"options"`
	IsReturn        bool             `json:"isReturn"`
	ReturnOf        string           `json:"returnOf"` // the shipment that the parcel is a return of
	ShipDate        string           `json:"shipDate"` // "2006-01-02"
	TrackingPageURL string           `json:"trackingPageUrl"`
	Approval        *Approval        `json:"approval"` // nil unless the purchase needs one
	VoidedAt        time.Time        `json:"voidedAt"` // zero unless the carrier took the label back

	Replayed bool `json:"-"` // CreateShipment or Return returned the answer of an earlier request with the same idempotency key
}

// Approval is what a person decided about a purchase that costs more than its key may
// spend without one. Nothing is bought before it is approved.
type Approval struct {
	ID     string `json:"id"`
	Status string `json:"status"` // waiting, approved, denied or expired
}

// Labels are the addresses of a label, one a format.
type Labels struct {
	PDF string `json:"pdf"`
	ZPL string `json:"zpl"`
	PNG string `json:"png"`
}

// Routing says why this carrier and service.
type Routing struct {
	Strategy   string          `json:"strategy"`
	Considered int             `json:"considered"`
	RunnerUp   *Offer          `json:"runnerUp"`
	Failed     []FailedCarrier `json:"failed"`

	// What follows is not in events.
	Version int            `json:"version"` // of the routing rules that were asked; 0 if there were none
	Rule    string         `json:"rule"`    // that chose
	Also    []string       `json:"also"`    // rules that forbade or required something
	Why     string         `json:"why"`
	Offers  []Offer        `json:"offers"` // all that were seen, cheapest first
	Dropped []DroppedOffer `json:"dropped"`
	Raised  *Raised        `json:"raised"`
}

// An Offer is a rate that was compared.
type Offer struct {
	Carrier      string `json:"carrier"`
	Service      string `json:"service"`
	Amount       string `json:"amount"`
	Currency     string `json:"currency"`
	ConnectionID string `json:"connectionId"`
	TransitDays  int    `json:"transitDays"` // 0 if not known
	Source       string `json:"source"`      // "carrier", "sheet" or "cache"
}

// A DroppedOffer could not be chosen.
type DroppedOffer struct {
	Carrier string `json:"carrier"`
	Service string `json:"service"`
	Why     string `json:"why"` // "late", "over_limit", "forbidden", "not_in_rule", "other_currency", "guard", "unsupported"
	Rule    string `json:"rule"`
	Option  string `json:"option"` // that the service cannot do: "dry_ice"
}

// Raised is a signature that routing rules required beyond what was asked for.
type Raised struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// A FailedCarrier made no offer, or could not sell.
type FailedCarrier struct {
	Carrier string `json:"carrier"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// A Piece is one parcel of a shipment.
type Piece struct {
	TrackingNumber string `json:"trackingNumber"`
	Parcel         Parcel `json:"parcel"`
	Status         string `json:"status"`
}

// A Document is a further paper of a shipment.
type Document struct {
	Type string `json:"type"`
	URL  string `json:"url"`

	Uploaded bool `json:"uploaded"` // by UploadDocument
	// Submission is how far the document is on its way to the carrier; nil if it is
	// only kept.
	Submission *DocumentSubmission `json:"submission"`
}

// A DocumentSubmission is how far a document is on its way to the carrier.
type DocumentSubmission struct {
	Status     string `json:"status"`     // "pending", "received", "failed", "needs_review"
	DocumentID string `json:"documentId"` // the carrier's number, if it gives one
	Message    string `json:"message"`    // why it failed or needs review
}

// A LabelLink is an address that needs no key.
type LabelLink struct {
	URL       string    `json:"url"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// A TrackingResult is a parcel's status and timeline.
type TrackingResult struct {
	TrackingNumber        string          `json:"trackingNumber"`
	Carrier               string          `json:"carrier"`
	Status                string          `json:"status"`
	EstimatedDeliveryDate time.Time       `json:"estimatedDeliveryDate"`
	Events                []TrackingEvent `json:"events"` // newest first
	ID                    string          `json:"id"`     // of a tracker
	ShipmentID            string          `json:"shipmentId"`
	Reason                string          `json:"reason"`
	EstimateSource        string          `json:"estimateSource"`
	LastCheckedAt         time.Time       `json:"lastCheckedAt"`
}

// A TrackingEvent is one entry of a timeline.
type TrackingEvent struct {
	Status      string    `json:"status"`
	Description string    `json:"description"`
	Location    *string   `json:"location"` // nil when no place is known
	Timestamp   time.Time `json:"timestamp"`
	Reason      string    `json:"reason"`
	CarrierCode string    `json:"carrierCode"`
	// TimeZoneKnown is false when Timestamp is the place's own clock read as
	// UTC; nil otherwise.
	TimeZoneKnown *bool `json:"timeZoneKnown"`
}

// An Event is one entry of the event log, the same as a webhook brings.
type Event struct {
	ID        string    `json:"id"`
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Livemode  bool      `json:"livemode"`
	Sequence  int       `json:"sequence"` // of its shipment, from 1 without gaps
	Late      bool      `json:"late"`
	Test      bool      `json:"test"` // made up by TestWebhook
	Data      EventData `json:"data"`

	// Cursor is where to continue after this event: a reader that starts there
	// may see a few events again, and misses none.
	Cursor string `json:"-"`

	// Body is the event as it was received, byte for byte, with members that
	// are not above.
	Body []byte `json:"-"`
}

// UnmarshalJSON decodes the event, and keeps the bytes in Body.
func (e *Event) UnmarshalJSON(data []byte) error {
	type plain Event // without this method
	if err := json.Unmarshal(data, (*plain)(e)); err != nil {
		return err
	}

	// The caller may use data again after this returns.
	e.Body = bytes.Clone(data)
	return nil
}

// EventData is what an event is about: a shipment or a tracker, and the
// tracking event that caused it.
type EventData struct {
	Shipment       *Shipment     `json:"shipment"`
	Tracker        *Tracker      `json:"tracker"`
	Event          TrackingEvent `json:"event"`
	PreviousStatus string        `json:"previousStatus"`
}

// A Tracker is a followed parcel in an event.
type Tracker struct {
	ID                    string    `json:"id"`
	Status                string    `json:"status"`
	Carrier               string    `json:"carrier"`
	TrackingNumber        string    `json:"trackingNumber"`
	EstimatedDeliveryDate time.Time `json:"estimatedDeliveryDate"`
	EstimateSource        string    `json:"estimateSource"`
	Reason                string    `json:"reason"`
	Livemode              bool      `json:"livemode"`
	CreatedAt             time.Time `json:"createdAt"`
}

// A Carrier is one that the key can use.
type Carrier struct {
	Carrier       string          `json:"carrier"`
	Name          string          `json:"name"`
	Services      []CodeName      `json:"services"`
	Packagings    []CodeName      `json:"packagings"`
	Abilities     []string        `json:"abilities"`
	AddressChecks AddressCoverage `json:"addressChecks"`
	Simulated     bool            `json:"simulated"`
	Plugin        bool            `json:"plugin"` // that the operator registered
	Connections   []Connection    `json:"connections"`
}

// An AddressCoverage says where a carrier checks addresses.
type AddressCoverage struct {
	Streets []string `json:"streets"` // countries where it checks streets and houses
	Places  bool     `json:"places"`  // elsewhere it checks that it serves the city and postal code
}

// A CodeName is a code with its name.
type CodeName struct {
	Code string `json:"code"`
	Name string `json:"name"`
}

// A Connection is a carrier account.
type Connection struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}
