package sandbox

import (
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Fault is what a magic destination makes go wrong.
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
	{FaultTimeout, "FAULT TIMEOUT", "00004", "The purchase is not answered, and was not made."},
	{FaultTimeoutBought, "FAULT TIMEOUT AFTER PURCHASE", "00005", "The purchase is made but not answered; looking it up finds it."},
	{FaultNoConfirmation, "FAULT NO CONFIRMATION", "00006", "The purchase is not answered, and cannot be looked up: it needs review."},
	{FaultSlowQuote, "FAULT SLOW QUOTE", "00007", "FedEx quotes after six seconds, the other carriers at once."},
	{FaultQuote, "FAULT QUOTE", "00008", "No carrier can be reached for a quote."},
	{FaultPriceChanged, "FAULT PRICE CHANGED", "00009", "The purchase costs a tenth more than the quote."},
	{FaultVoidRefused, "FAULT VOID REFUSED", "00010", "The label is sold, and the carrier refuses to void it."},
	{FaultVoidPending, "FAULT VOID PENDING", "00011", "The label is sold, and its refund stays pending after a void."},
	{FaultVoidLost, "FAULT VOID TIMEOUT", "00012", "The label is sold, and a void is never answered."},
	{FaultException, "FAULT EXCEPTION", "00013", "The parcel travels, and cannot be delivered: the address is not found."},
	{FaultOutOfOrder, "FAULT OUT OF ORDER", "00014", "Scans come late, in the wrong order and twice."},
	{FaultUnmapped, "FAULT UNMAPPED", "00015", "The parcel's last scan has a code that nobody knows; then it is lost."},
	{FaultQuoteUSPS, "FAULT QUOTE USPS", "00016", "USPS cannot be reached for a quote; the other carriers quote."},
	{FaultLimited, "FAULT LIMITED", "00017", "Every carrier takes no more purchases for five seconds; nothing is bought."},
}

// FaultOf returns what goes wrong with the order, "" if nothing does.
func FaultOf(o ship.Order) Fault { return faultOf(&o.Destination) }

// NeedsIntent reports whether the purchase may end in anything but a label at
// once, so that it must be written down before and settled after, as with a
// live carrier.
func NeedsIntent(o ship.Order) bool { return faultOf(&o.Destination) != "" }

const (
	magicName = "FAULT "
	magicZip  = "000"
)

func faultOf(to *ship.Address) Fault {
	named := len(to.Name) > len(magicName) && strings.EqualFold(to.Name[:len(magicName)], magicName)
	zipped := to.Country == "US" && strings.HasPrefix(to.Zip, magicZip)
	if !named && !zipped {
		return "" // nearly always
	}
	for i := range Magic {
		d := &Magic[i]
		if named && strings.EqualFold(to.Name, d.Name) || zipped && to.Zip == d.Zip {
			return d.Fault
		}
	}
	return ""
}

// slowQuote is longer than clients wait for the last quote, and shorter than
// the deadline of one.
const slowQuote = 6 * time.Second

func (m *model) quoteFault(ctx context.Context, o *ship.Order) error {
	f := faultOf(&o.Destination)
	switch {
	case f == FaultQuote, f == FaultQuoteUSPS && m.name == "usps":
		return ship.Errorf(ship.Unavailable, "%s could not be reached", m.title)
	case f == FaultSlowQuote && m.name == "fedex":
		timer := time.NewTimer(slowQuote)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return &ship.Error{Kind: ship.Unavailable, Message: m.title + " did not answer in time", Err: ctx.Err()}
		}
	}
	return nil
}

func (m *model) buyFault(o *ship.Order) error {
	switch f := faultOf(&o.Destination); f {
	case FaultRefuse, FaultRefuseUPS:
		if f == FaultRefuse || m.name == "ups" {
			return m.refuse(m.refusals.address, "the address of the recipient does not exist")
		}
	case FaultUnavailable:
		return ship.Errorf(ship.Unavailable, "%s could not be reached", m.title)
	case FaultLimited:
		return &ship.Error{Kind: ship.Limited, Message: m.title + " takes no more requests for now", RetryAfter: 5 * time.Second}
	case FaultTimeout, FaultTimeoutBought, FaultNoConfirmation:
		return ship.Errorf(ship.Uncertain, "%s did not answer", m.title)
	}
	return nil
}

// findFault judges a look-up: what was refused or never arrived is not there.
func (m *model) findFault(o *ship.Order) error {
	switch f := faultOf(&o.Destination); f {
	case FaultRefuse, FaultRefuseUPS, FaultUnavailable, FaultLimited, FaultTimeout:
		if f != FaultRefuseUPS || m.name == "ups" {
			return ship.Errorf(ship.NotFound, "%s sold nothing under this reference", m.title)
		}
	case FaultNoConfirmation:
		return ship.Errorf(ship.Unavailable, "%s cannot say whether it sold", m.title)
	}
	return nil
}
