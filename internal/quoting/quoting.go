// Package quoting asks carriers for their prices and ranks the offers of an
// order: for a client that compares rates, and for a purchase, which takes the
// best. It has no database and writes nothing.
package quoting

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
)

// Service quotes.
type Service struct {
	accounts     carrier.Accounts
	signer       seal.Signer
	softDeadline time.Duration
	policy       func(context.Context, ship.Tenant) (Policy, error)
	location     func(context.Context, ship.Tenant, ship.LocationID) (ship.Location, error)
	cache        quoteCache
}

// Config is what a Service needs.
type Config struct {
	// Accounts are the carriers that are asked.
	Accounts carrier.Accounts
	// SigningKey signs the tokens of rates. What an old key signed is still
	// valid.
	SigningKey     []byte
	OldSigningKeys [][]byte
	// SoftDeadline is after how long rates are answered with what is there;
	// zero means DefaultSoftDeadline.
	SoftDeadline time.Duration

	// QuoteLife is for how long a quote answers the same question again; zero
	// asks the carrier every time.
	QuoteLife time.Duration
	// QuoteLifeToBuy lets purchases be decided by such quotes too.
	QuoteLifeToBuy bool

	// Policy is what the tenant decided about its routing; nil for no tenant
	// to have decided anything.
	Policy func(context.Context, ship.Tenant) (Policy, error)
	// Location returns a location of the tenant; nil for no tenant to have any.
	Location func(context.Context, ship.Tenant, ship.LocationID) (ship.Location, error)
}

// DefaultSoftDeadline is that of the contract.
const DefaultSoftDeadline = 4 * time.Second

// New returns a service.
func New(c Config) *Service {
	if c.SoftDeadline == 0 {
		c.SoftDeadline = DefaultSoftDeadline
	}
	if c.Policy == nil {
		cheapest, err := routing.Compile(routing.Book{})
		if err != nil {
			panic(err) // a book without rules has no fault
		}
		c.Policy = func(context.Context, ship.Tenant) (Policy, error) { return Policy{Book: cheapest}, nil }
	}
	if c.Location == nil {
		c.Location = func(context.Context, ship.Tenant, ship.LocationID) (ship.Location, error) {
			return ship.Location{}, ship.Errorf(ship.NotFound, "no such location")
		}
	}
	var lifeToBuy time.Duration
	if c.QuoteLifeToBuy {
		lifeToBuy = c.QuoteLife
	}

	return &Service{
		accounts:     c.Accounts,
		signer:       seal.NewSigner(c.SigningKey, c.OldSigningKeys...),
		softDeadline: c.SoftDeadline,
		policy:       c.Policy,
		location:     c.Location,
		cache:        newQuoteCache(c.QuoteLife, lifeToBuy),
	}
}

// Input asks all carriers for their price.
type Input struct {
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
	Removed   []carrier.Removal // offers of services that cannot do what the order asks for
	Partial   bool
	ExpiresAt time.Time
	ShipDate  ship.Date

	Estimate bool     // the destination is no whole address: the rates have no ids
	Assumed  []string // what an estimate takes for granted, a sentence each

	// Warnings are what customs or carriers would object to.
	Warnings []ship.FieldError
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
	Reason    ship.NotQuotedReason
	RetryAt   time.Time         // when the carrier can be asked again; zero if that is not known
	Message   string            // names the carrier
	Fields    []ship.FieldError // that it objects to
	Refusal   ship.Refusal      // its own words
	Retryable bool
	Duration  time.Duration
}
