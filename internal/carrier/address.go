package carrier

import (
	"context"
	"slices"

	"github.com/waybillhq/waybill/internal/ship"
)

// AddressLimits describe how much of an address a carrier can print. Zero
// values set no limit.
type AddressLimits struct {
	Name, Company, City, State, Zip, Phone, Email int // characters
	Lines                                         int // street lines
	Line                                          int // characters in each
	// Charset is the character set that the carrier prints: "" for all of
	// Unicode, "latin1" or "ascii".
	Charset string
}

// AddressCoverage says where a carrier checks addresses.
type AddressCoverage struct {
	Streets []string // countries where it knows every house
	Places  bool     // elsewhere it knows whether it serves the city and postal code
}

// An AddressDepth is how precisely an address is checked. More is better.
type AddressDepth int

// The depths.
const (
	NotChecked AddressDepth = iota
	PlaceChecked
	StreetChecked
)

// DepthIn returns how precisely addresses of the country are checked.
func (c AddressCoverage) DepthIn(country string) AddressDepth {
	switch {
	case slices.Contains(c.Streets, country):
		return StreetChecked
	case c.Places:
		return PlaceChecked
	}
	return NotChecked
}

// AddressDepth returns how precisely the carrier checks addresses of the country.
func (c *Carrier) AddressDepth(country string) AddressDepth {
	if _, ok := abilityOf[AddressChecker](c, "addresses"); !ok {
		return NotChecked
	}
	return c.spec.AddressCoverage.DepthIn(country)
}

// CheckAddress looks up whether an address exists, which is normalized and has a
// country that the carrier covers. The address of the result has everything about
// the person as it was given. Fields that the carrier only writes in another way
// stay as they were given, and alone do not make an address corrected.
func (c *Carrier) CheckAddress(ctx context.Context, address ship.Address) (_ ship.AddressCheck, err error) {
	checker, ok := abilityOf[AddressChecker](c, "addresses")
	if !ok || c.spec.AddressCoverage.DepthIn(address.Country) == NotChecked {
		return ship.AddressCheck{}, c.errorf(ship.Unsupported, "%s does not check addresses in %s", c.spec.Title, ship.CountryName(address.Country))
	}

	ctx, done := c.begin(ctx, OpCheckAddress, c.Deadlines.CheckAddress)
	defer func() { done(err) }()
	check, err := checker.CheckAddress(ctx, withoutPerson(address))
	if err != nil {
		// A driver turns its carrier's "not found" into a verdict.
		return ship.AddressCheck{}, c.explainRead(err)
	}
	return c.conclude(address, check)
}

// withoutPerson returns the place alone: no carrier needs to know who lives there
// to check it.
func withoutPerson(address ship.Address) ship.Address {
	return ship.Address{
		Address1:    address.Address1,
		Address2:    address.Address2,
		Address3:    address.Address3,
		City:        address.City,
		State:       address.State,
		Zip:         address.Zip,
		Country:     address.Country,
		Residential: address.Residential,
	}
}

// conclude turns what a driver found into the result for the address as it was
// given.
func (c *Carrier) conclude(address ship.Address, check ship.AddressCheck) (ship.AddressCheck, error) {
	check.CheckedBy = c.spec.Name

	place, candidates := check.Address, check.Candidates
	check.Address, check.Candidates = address, nil
	for _, candidate := range candidates {
		check.Candidates = append(check.Candidates, asWritten(address, candidate))
	}

	switch check.Verdict {
	case ship.AddressValid, ship.AddressCorrected:
		check.Address = asWritten(address, place)
		check.Verdict = ship.AddressValid
		if check.Address != address {
			check.Verdict = ship.AddressCorrected
		}
	case ship.AddressAmbiguous, ship.AddressInvalid, ship.AddressUnknown:
	default:
		return ship.AddressCheck{}, c.errorf(ship.Unavailable, "%s gave no verdict on the address", c.spec.Title)
	}
	return check, nil
}

// asWritten returns the address at the place, normalized. A place that is not
// usable, such as one without a street, leaves the address as it is.
func asWritten(address, place ship.Address) ship.Address {
	moved := address.At(place)
	if moved == address {
		return address // nearly always, and it is normalized
	}

	moved, invalid := moved.Normalize("")
	if len(invalid) > 0 {
		return address
	}
	return moved
}
