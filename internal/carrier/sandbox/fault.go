package sandbox

import (
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Fault is what a magic address makes go wrong.
type Fault string

// The faults.
const (
	FaultRefuse         Fault = "refuse"
	FaultRefuseUPS      Fault = "refuse_ups"
	FaultUnavailable    Fault = "unavailable"
	FaultLimited        Fault = "limited"
	FaultTimeout        Fault = "timeout"
	FaultTimeoutBought  Fault = "timeout_after_purchase"
	FaultNoConfirmation Fault = "no_confirmation"
	FaultSlowQuote      Fault = "slow_quote"
	FaultQuote          Fault = "quote_fails"
	FaultQuoteUSPS      Fault = "quote_fails_usps"
	FaultPriceChanged   Fault = "price_changed"
	FaultVoidRefused    Fault = "void_refused"
	FaultVoidPending    Fault = "void_pending"
	FaultVoidLost       Fault = "void_timeout"
	FaultException      Fault = "exception"
	FaultOutOfOrder     Fault = "out_of_order"
	FaultUnmapped       Fault = "unmapped"
)

// A Destination is a magic one: an order goes wrong in this way if its
// destination has the name, in any case, or the zip code in the United States.
type Destination struct {
	Fault Fault
	Name  string
	Zip   string
	Does  string // one sentence for the documentation
}

// Magic lists all magic destinations.
var Magic = []Destination{
	{FaultRefuse, "FAULT REFUSE", "00001", "Every carrier quotes, and refuses the purchase because of the address."},
	{FaultRefuseUPS, "FAULT REFUSE UPS", "00002", "UPS quotes and refuses the purchase; the other carriers sell."},
	{FaultUnavailable, "FAULT UNAVAILABLE", "00003", "No carrier can be reached for the purchase; nothing is bought."},
	{FaultTimeout, "FAULT TIMEOUT", "00004", "The purchase gets no response, and was not made."},
	{FaultTimeoutBought, "FAULT TIMEOUT AFTER PURCHASE", "00005", "The purchase is made but gets no response; looking it up finds it."},
	{FaultNoConfirmation, "FAULT NO CONFIRMATION", "00006", "The purchase gets no response, and cannot be looked up: it needs review."},
	{FaultSlowQuote, "FAULT SLOW QUOTE", "00007", "FedEx quotes after six seconds, the other carriers at once."},
	{FaultQuote, "FAULT QUOTE", "00008", "No carrier can be reached for a quote."},
	{FaultPriceChanged, "FAULT PRICE CHANGED", "00009", "The purchase costs a tenth more than the quote."},
	{FaultVoidRefused, "FAULT VOID REFUSED", "00010", "The label is sold, and the carrier refuses to void it."},
	{FaultVoidPending, "FAULT VOID PENDING", "00011", "The label is sold, and its refund stays pending after a void."},
	{FaultVoidLost, "FAULT VOID TIMEOUT", "00012", "The label is sold, and a void gets no response."},
	{FaultException, "FAULT EXCEPTION", "00013", "The parcel is shipped but cannot be delivered: the address is not found."},
	{FaultOutOfOrder, "FAULT OUT OF ORDER", "00014", "Scans arrive late, in the wrong order and twice."},
	{FaultUnmapped, "FAULT UNMAPPED", "00015", "The parcel's last scan has an unknown code; then the parcel is lost."},
	{FaultQuoteUSPS, "FAULT QUOTE USPS", "00016", "USPS cannot be reached for a quote; the other carriers quote."},
	{FaultLimited, "FAULT LIMITED", "00017", "No carrier accepts purchases for five seconds; nothing is bought."},
}

// A DayFault is what a magic name or zip code does at the address of a pickup or
// a manifest. A fault that is not listed does nothing there.
type DayFault struct {
	Fault    Fault
	Pickup   string // one sentence each for the documentation
	Manifest string
}

// MagicDay lists the faults of pickups and manifests. A carrier without state
// cannot know that it is asked a second time, so an answer that is lost stays lost
// wherever there is no look-up.
var MagicDay = []DayFault{
	{FaultRefuse, "Refused because of the address.", "Refused because of the labels."},
	{FaultRefuseUPS, "UPS refuses it; the other carriers book.", "Closed: UPS has no manifests."},
	{FaultUnavailable, "The carrier cannot be reached; nothing is booked.", "The carrier cannot be reached; nothing is closed."},
	{FaultLimited, "The carrier accepts nothing for five seconds; nothing is booked.", "The carrier accepts nothing for five seconds; nothing is closed."},
	{
		FaultTimeout,
		"Gets no response, and was not booked: looking it up at UPS does not find it. The others have no look-up: it needs review.",
		"Gets no response, and was not closed: looking it up at FedEx does not find it. USPS has no look-up: it needs review.",
	},
	{
		FaultTimeoutBought,
		"Booked, but gets no response: looking it up at UPS finds it. The others have no look-up: it needs review.",
		"Closed, but gets no response: looking it up at FedEx finds it. USPS has no look-up: it needs review.",
	},
	{FaultNoConfirmation, "Gets no response, and cannot be looked up: it needs review.", "Gets no response, and cannot be looked up: it needs review."},
	{FaultVoidRefused, "Booked, and the carrier refuses to cancel it.", "Closed."},
	{FaultVoidLost, "Booked, and a cancellation gets no response.", "Closed."},
}

// FaultOf returns what goes wrong with the order, "" if nothing does.
func FaultOf(order ship.Order) Fault { return faultOf(&order.Destination) }

const (
	magicName = "FAULT "
	magicZip  = "000"
)

func faultOf(to *ship.Address) Fault {
	hasName := len(to.Name) > len(magicName) && strings.EqualFold(to.Name[:len(magicName)], magicName)
	hasZip := to.Country == "US" && strings.HasPrefix(to.Zip, magicZip)
	if !hasName && !hasZip {
		return "" // nearly always
	}

	for i := range Magic {
		magic := &Magic[i]
		if hasName && strings.EqualFold(to.Name, magic.Name) || hasZip && to.Zip == magic.Zip {
			return magic.Fault
		}
	}
	return ""
}

// slowQuote is longer than clients wait for the last quote, and shorter than
// the deadline of one.
const slowQuote = 6 * time.Second

func (m *model) quoteFault(ctx context.Context, order *ship.Order) error {
	fault := faultOf(&order.Destination)
	switch {
	case fault == FaultQuote, fault == FaultQuoteUSPS && m.name == "usps":
		return ship.Errorf(ship.Unavailable, "%s could not be reached", m.title)

	case fault == FaultSlowQuote && m.name == "fedex":
		// Only one carrier is slow, so that the others show that a quote does
		// not wait for the last.
		return m.wait(ctx, slowQuote)
	}
	return nil
}

// wait delays an answer.
func (m *model) wait(ctx context.Context, delay time.Duration) error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return &ship.Error{Kind: ship.Unavailable, Message: m.title + " did not answer in time", Err: ctx.Err()}
	}
}

func (m *model) buyFault(order *ship.Order) error {
	return m.effectFault(&order.Destination, "order", m.refusals.address, "the recipient's address does not exist")
}

// effectFault is the error of a purchase, a booking or a manifest at a magic
// address. A refusal has the code and the reason.
func (m *model) effectFault(at *ship.Address, what, code, reason string) error {
	switch fault := faultOf(at); fault {
	case FaultRefuse, FaultRefuseUPS:
		if fault == FaultRefuse || m.name == "ups" {
			return m.decline(what, code, reason)
		}
	case FaultUnavailable:
		return ship.Errorf(ship.Unavailable, "%s could not be reached", m.title)
	case FaultLimited:
		return &ship.Error{Kind: ship.Limited, Message: m.title + " is rate-limiting requests; try again later", RetryAfter: 5 * time.Second}
	case FaultTimeout, FaultTimeoutBought, FaultNoConfirmation:
		return ship.Errorf(ship.Uncertain, "%s did not answer", m.title)
	}
	return nil
}

// findFault is the error of a look-up at a magic address: what was refused or
// never arrived is not found.
func (m *model) findFault(at *ship.Address, what string) error {
	switch fault := faultOf(at); fault {
	case FaultRefuse, FaultRefuseUPS, FaultUnavailable, FaultLimited, FaultTimeout:
		if fault != FaultRefuseUPS || m.name == "ups" {
			return ship.Errorf(ship.NotFound, "%s has no %s with this reference", m.title, what)
		}
	case FaultNoConfirmation:
		return ship.Errorf(ship.Unavailable, "%s cannot confirm whether it has the %s", m.title, what)
	}
	return nil
}
