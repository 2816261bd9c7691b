// Package shipping buys labels, settles purchases, voids labels and reads what
// was bought. It decides and owns the transactions; it speaks to carriers only
// between them, never inside one. Package quoting finds the offers that it buys.
package shipping

import (
	"time"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// BuyInput is an order and how to buy it.
type BuyInput struct {
	Tenant      ship.Tenant
	Account     ship.Account
	Key         ship.KeyID
	Person      ship.PersonID       // who buys in the dashboard, where there is no key
	Limits      ship.SpendingLimits // of the key or the person
	Order       ship.Order          // as the client wrote it: not yet normalized
	OneParcel   bool
	Carrier     string
	Service     string
	Connection  ship.ConnectionID
	RateID      string
	MaxAmount   ship.Money
	MaxIsShown  bool   // MaxAmount is the price that a person was shown: rules do not see it
	OnDuplicate string // "allow", "return", "reject"
	// AddressValidation is what is done about the destination; empty means
	// ValidationWarn.
	AddressValidation AddressValidation
	// AcceptDuplicate is the live shipment of the order that somebody has seen
	// and wants to ship beside: it alone is no reason to return or reject.
	AcceptDuplicate ship.ShipmentID
	// AnotherReturn allows the return of a shipment that has one already.
	AnotherReturn  bool
	IdempotencyKey string
	Fingerprint    [32]byte // of the request, for the idempotency key
	// WithoutRate is the fingerprint of the request without its rate id; zero if
	// it has none.
	WithoutRate [32]byte
	// FormerName is what copies of the release before this one call the same
	// purchase; empty for none.
	FormerName ship.KeyName

	offer [32]byte // fingerprint of the request with the offer of the rate id; zero if it has none
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
	Tenant   ship.Tenant // whose label it is; set for a link
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
