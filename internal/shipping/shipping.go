// Package shipping quotes, buys, settles and voids. It decides and owns the
// transactions; it speaks to carriers only between them, never inside one.
package shipping

import (
	"time"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// QuoteInput asks all carriers for their price.
type QuoteInput struct {
	Tenant     ship.Tenant
	Account    ship.Account
	Order      ship.Order // as the client wrote it: not yet normalized, OrderID may be empty
	OneParcel  bool       // the client wrote "parcel", not "parcels": errors point there
	Carriers   []string
	Services   []string
	Connection ship.ConnectionID
	Timeout    time.Duration // zero means the default soft deadline
	Recent     bool          // quotes of the last minutes will do, whatever the operator set

	// MayEstimate allows a destination that is no whole address. Its rates
	// cannot be bought.
	MayEstimate bool
}

// Quotes are the answers of the carriers, cheapest first.
type Quotes struct {
	Rates     []Quote
	Errors    []QuoteError
	Partial   bool
	ExpiresAt time.Time
	ShipDate  ship.Date

	Estimate bool     // the destination is no whole address: the rates have no ids
	Assumed  []string // what an estimate takes for granted, a sentence each
}

// A Quote is a rate with the token that buys it.
type Quote struct {
	ID string
	ship.Rate
}

// A QuoteError is a carrier that did not quote.
type QuoteError struct {
	Carrier   string
	Code      string
	Message   string            // names the carrier
	Fields    []ship.FieldError // that it objects to
	Refusal   ship.Refusal      // its own words
	Retryable bool
	Duration  time.Duration
}

// BuyInput is an order and how to buy it.
type BuyInput struct {
	Tenant      ship.Tenant
	Account     ship.Account
	Key         ship.KeyID
	DailyLimit  ship.Money // that the key may spend in a day; zero for none
	Order       ship.Order // as the client wrote it: not yet normalized
	OneParcel   bool
	Carrier     string
	Service     string
	Connection  ship.ConnectionID
	RateID      string
	MaxAmount   ship.Money
	OnDuplicate string // "allow", "return", "reject"
	// AcceptDuplicate is the live shipment of the order that somebody has seen
	// and wants to ship beside: it alone is no reason to return or reject.
	AcceptDuplicate ship.ShipmentID
	IdempotencyKey  string
	Fingerprint     [32]byte // of the request, for the idempotency key
}

// Bought is the outcome of a purchase that did not fail.
type Bought struct {
	Shipment ship.Shipment
	Pending  bool         // the carrier has not answered yet: 202
	Existing bool         // an earlier shipment of the order is returned instead: 200
	Replayed bool         // the idempotency key was used before
	Answer   *ship.Answer // set when the stored answer must be repeated byte for byte
}

// Filter narrows a list of shipments.
type Filter struct {
	OrderID       string
	Status        ship.Status
	States        []ship.State // any of them
	Carrier       string
	Reference     string // the client's own, whole
	Number        string // a tracking number, whole
	Query         string // a part of an order or tracking number, or words of the recipient's name, e-mail address or city
	CreatedAfter  time.Time
	CreatedBefore time.Time
	Order         Order
	Page          ship.Page
	DueAt         time.Time // in a list by estimate: that of the last of the page before
}

// An Order is what a list is sorted by; the zero one is by creation, newest
// first.
type Order = store.ShipmentOrder

// A LabelFile is a label, rendered.
type LabelFile struct {
	Shipment ship.ShipmentID
	Format   label.Format
	Data     []byte
	ETag     string // strong, quoted
	Warnings []string
}

// A Link lets a person without a key fetch one label for a while.
type Link struct {
	Token     string
	ExpiresAt time.Time
}
