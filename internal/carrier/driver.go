// Package carrier says what a carrier is: the abilities that a driver may
// have, the Spec that describes one, and Carrier, the portable type that the
// services use. It does no I/O of its own and knows no particular carrier.
package carrier

import (
	"context"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Driver is one carrier account, opened. The interfaces below that it also
// implements say what it can do; none is mandatory.
//
// Every method honours ctx, is safe for concurrent use, makes at most one
// attempt, and returns *ship.Error for any failure it understands.
type Driver interface {
	// Check verifies that the credentials work, without side effects.
	Check(ctx context.Context) error
}

// An AbilityLister is a driver whose type has more abilities than the carrier
// behind it, because that is known only when it is opened. It has an ability if
// its type implements the interface and Can reports true.
type AbilityLister interface {
	// Can reports whether the carrier has the ability, by its name in
	// Carrier.Abilities.
	Can(ability string) bool
}

// A Permitter knows from its token what the account may do. Then a check need
// not try it, which would use up the quota of an account that has a small one.
type Permitter interface {
	// Permits reports whether the account may use the operation. It is known
	// after Check, if the carrier reports it.
	Permits(op Operation) (permitted, known bool)
}

// A Rater quotes prices.
type Rater interface {
	// Rates returns what the carrier offers for the order, in any order. An
	// order that the carrier does not take is an error of kind ship.Invalid
	// with the carrier's own words.
	Rates(ctx context.Context, o ship.Order) ([]ship.Rate, error)
}

// BuyOrder is an order and how to buy it: everything that one purchase needs,
// and that it takes to look the purchase up again.
type BuyOrder struct {
	Order     ship.Order
	Service   string          // the carrier's code, from its Spec
	Reference string          // ours, unique for each attempt; the carrier keeps it with the purchase
	Shipment  ship.ShipmentID // sent only in a field that is not printed on the label
	Selection string          // of the rate that is bought; empty if the service was chosen without a quote
}

// A Buyer sells labels.
type Buyer interface {
	// Buy purchases the order. If the request may have reached the carrier
	// and no answer was read, the error must be of kind ship.Uncertain.
	Buy(ctx context.Context, b BuyOrder) (ship.Sale, error)
}

// A Repeater guarantees, under conditions, that a purchase which is sent again is
// the same purchase: then a lost answer is asked for by sending it again.
type Repeater interface {
	// Repeats says whether Buy may be called again with exactly b, of which an
	// answer was lost.
	Repeats(b BuyOrder) Repetition
}

// A Repetition says when a purchase may be sent again as the same purchase.
type Repetition int

// When a purchase may be sent again.
const (
	RepeatsNever    Repetition = iota
	RepeatsIfAbsent            // after a look-up that did not find it
	RepeatsAnyTime             // no look-up is needed
)

// A Rehearser has the carrier check a purchase without making it.
type Rehearser interface {
	// Rehearse returns nil if the carrier would sell the order. A refusal is an
	// error of kind ship.Invalid with the carrier's own words. Nothing is bought.
	Rehearse(ctx context.Context, b BuyOrder) error
}

// A Finder can look a purchase up by our reference. A Buyer that is also a
// Finder lets uncertain purchases settle without a human.
type Finder interface {
	// Find returns what was bought under b.Reference, or an error of kind
	// ship.NotFound if nothing was. The rest of b is the order as it was sent,
	// for carriers whose answer lacks a part of the purchase.
	Find(ctx context.Context, b BuyOrder) (ship.Sale, error)
}

// A Voider voids labels.
type Voider interface {
	// Void cancels the purchase. A refusal is an error of kind ship.Invalid
	// with the carrier's own words; an answer that was lost is ship.Uncertain,
	// and asking again is safe.
	Void(ctx context.Context, d ship.Purchase) (VoidResult, error)
}

// VoidResult is what became of a label that is voided.
type VoidResult struct {
	State ship.State // ship.StateVoided, or ship.StateRefundPending
}

// A Tracker reports where parcels are.
type Tracker interface {
	// Track returns everything that the carrier knows of the numbers. Unknown
	// numbers are missing from the result.
	Track(ctx context.Context, numbers []string) ([]TrackingUpdate, error)
}

// An AddressChecker looks up whether an address exists. Spec.AddressCoverage says
// where, and how precisely.
type AddressChecker interface {
	// CheckAddress returns the verdict, the residential flag, messages, and as
	// Address the place as the carrier has it. It is given the place without the
	// person, whom the caller adds. An address that does not exist is a verdict,
	// not an error; an answer that cannot be read is an error, never a verdict.
	CheckAddress(ctx context.Context, a ship.Address) (ship.AddressCheck, error)
}

// A PushDecoder understands the carrier's own webhooks. It does no I/O.
type PushDecoder interface {
	// DecodePush verifies and decodes one pushed request; body is its whole body. A
	// request that is not the carrier's is an error of kind ship.Forbidden, one
	// that cannot be read ship.Invalid.
	DecodePush(header http.Header, body []byte) (Push, error)
}

// A Push is what a carrier sent by itself.
type Push struct {
	Updates  []TrackingUpdate
	Numbers  []string // parcels that changed, although the push does not say how
	Verified bool     // its signature or credential is valid; otherwise it is only a reason to poll the carrier
}

// A Subscriber asks the carrier to push tracking updates.
type Subscriber interface {
	// Subscribe asks for pushes to the address about the numbers, at most
	// Spec.SubscribeBatch of them; none means all of the account, where the
	// carrier has that. It reports until when they come; the zero time means
	// until further notice. Asking again is safe.
	Subscribe(ctx context.Context, s Subscription) (until time.Time, err error)
}

// A Subscription is where pushes go and about which parcels.
type Subscription struct {
	URL     string
	Numbers []string
}

// An InstantDriver computes its answers in this process: it has no network, and
// what it sells costs nothing.
type InstantDriver interface {
	// Instant reports whether everything about the order is answered at once. A
	// driver says no to an order for which it simulates a fault: such a purchase
	// is recorded before and settled after, as with a live carrier.
	Instant(o ship.Order) bool
}

// A Reprinter makes the documents of a purchase again at any time, so that they
// need not be stored.
type Reprinter interface {
	// Reprint returns the documents that came with the label of the tracking
	// number, in the same order.
	Reprint(o ship.Order, trackingNumber string) []ship.Document
}

// A VoidChecker knows without asking that a label can no longer be voided.
type VoidChecker interface {
	// CheckVoid returns the refusal, of kind ship.Invalid, to void the label of
	// a parcel with the status; nil if the void may be tried.
	CheckVoid(status ship.Status) error
}

// TrackingUpdate is one tracking update of one parcel, as a carrier reported it.
type TrackingUpdate struct {
	TrackingNumber string
	Scan           ship.Scan
	EstimateAt     time.Time // the carrier's date of delivery, if it gave one
	Raw            []byte    // as received, so that a better mapping can be applied later
}
