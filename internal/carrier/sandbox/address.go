package sandbox

import (
	"context"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Street is a magic one: what a check of an address with it as its first line
// finds. All other streets are valid.
type Street struct {
	Line string // in any case
	Does string // one sentence for the documentation
}

// MagicStreets lists all magic streets.
var MagicStreets = []Street{
	{"CORRECTED STREET", "Corrected to `1 Corrected Street`; a home."},
	{"AMBIGUOUS STREET", "Ambiguous: `1 Ambiguous Street` or `2 Ambiguous Street`."},
	{"INVALID STREET", "Invalid: no carrier knows the street."},
	{slowStreet, "Valid, but the carriers take four seconds to answer."},
	{"UNREACHABLE STREET", "No carrier can be reached to check the address."},
}

const slowStreet = "SLOW STREET"

// slowCheck is longer than a purchase waits for a check, and shorter than the
// deadline of one.
const slowCheck = 4 * time.Second

// coverage is the same for all simulated carriers, so that each can be tried with
// any address of the countries with the most parcels.
var coverage = carrier.AddressCoverage{
	Streets: []string{"US", "PR", "CA", "MX", "GB", "DE", "FR", "NL", "AU"},
	Places:  true,
}

// CheckAddress gives the verdict of a magic street, and finds all others valid.
func (d direct) CheckAddress(ctx context.Context, address ship.Address) (ship.AddressCheck, error) {
	at := func(line string) ship.Address {
		place := address
		place.Address1 = line
		return place
	}

	switch strings.ToUpper(address.Address1) {
	case "CORRECTED STREET":
		isHome := true
		return ship.AddressCheck{
			Verdict:     ship.AddressCorrected,
			Address:     at("1 Corrected Street"),
			Residential: &isHome,
		}, nil
	case "AMBIGUOUS STREET":
		return ship.AddressCheck{
			Verdict:    ship.AddressAmbiguous,
			Candidates: []ship.Address{at("1 Ambiguous Street"), at("2 Ambiguous Street")},
			Messages:   []string{"The house number is missing."},
		}, nil
	case "INVALID STREET":
		return ship.AddressCheck{Verdict: ship.AddressInvalid, Messages: []string{"The street is not known."}}, nil
	case "UNREACHABLE STREET":
		return ship.AddressCheck{}, ship.Errorf(ship.Unavailable, "%s could not be reached", d.title)
	case slowStreet:
		if err := d.wait(ctx, slowCheck); err != nil {
			return ship.AddressCheck{}, err
		}
	}
	return ship.AddressCheck{Verdict: ship.AddressValid, Address: address, Residential: address.Residential}, nil
}

// CheckAddress checks over the wire.
func (r remote) CheckAddress(ctx context.Context, address ship.Address) (ship.AddressCheck, error) {
	var check ship.AddressCheck
	err := r.call(ctx, "address", false, address, &check)
	return check, err
}
