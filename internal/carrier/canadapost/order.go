package canadapost

import (
	"cmp"
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	maxReference = 35 // fact: reference-limit
	home         = "CA"
)

// draft is an order in Canada Post's terms: what a quote and a purchase share.
type draft struct {
	from, to    carrierkit.FittedAddress
	lane        lane
	isAbroad    bool
	isReturn    bool
	mailingDate string
	parcel      parcel
	options     []option
	warnings    []string

	// takesIOSS is whether a declaration has room for an IOSS number.
	takesIOSS bool
}

// newDraft checks an order that is to be bought. Everything that Canada Post
// would refuse for sure is refused here, all at once.
func (d driver) newDraft(order ship.Order, now time.Time) (draft, error) {
	return d.checkDraft(&checker{}, order, now)
}

// newQuoteDraft checks an order that is to be quoted. A quote needs neither names
// nor streets nor phone numbers nor a declaration.
func (d driver) newQuoteDraft(order ship.Order, now time.Time) (draft, error) {
	return d.checkDraft(&checker{isQuote: true}, order, now)
}

func (d driver) checkDraft(c *checker, order ship.Order, now time.Time) (draft, error) {
	lane := laneTo(order.Destination.Country)
	c.isAbroad = lane != laneCanada
	c.isReturn = order.IsReturn
	c.unsupported(order)
	if lane == laneUSA && !d.hasUSDuties {
		c.refuse("/destination/country", "unsupported", `Canada Post sells labels to the United States only to customers whose duties are prepaid by Zonos: link a Zonos account to your Canada Post account, then set us_duties of the connection to "zonos" under Carriers`)
	}
	if order.IsReturn {
		c.returns(order, d.hasContract())
	}

	p := draft{
		lane:      lane,
		isAbroad:  c.isAbroad,
		isReturn:  order.IsReturn,
		takesIOSS: d.hasContract(),
	}
	var warnings []string
	p.from, p.warnings = c.address(order.Origin, "/origin")
	p.to, warnings = c.address(order.Destination, "/destination")
	p.warnings = append(p.warnings, warnings...)
	p.mailingDate = c.mailingDate(order, now)
	p.parcel = c.parcel(order)
	c.options(order)
	p.options = optionsOf(order, c.isAbroad)
	return p, carrierkit.InvalidOrder("Canada Post", c.invalid)
}

// checker collects the invalid fields of an order.
type checker struct {
	isQuote  bool // only what a quote needs is required
	isAbroad bool
	isReturn bool // a return label needs no phone numbers
	invalid  []ship.FieldError
}

func (c *checker) refuse(pointer, code, detail string) {
	c.invalid = append(c.invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

// unsupported refuses what Canada Post, or this driver, does not sell at all.
func (c *checker) unsupported(order ship.Order) {
	if order.Origin.Country != home {
		c.refuse("/origin/country", "unsupported", "Canada Post accepts parcels only from Canada")
	}
	if territory := carrierkit.PlaceOf(order.Destination).Territory(); carrierkit.IsUSTerritory(territory) {
		// Whether Canada Post reads them as a part of the United States or as
		// countries, and whether their duties are prepaid, is not documented.
		c.refuse("/destination/country", "unsupported", "parcels to territories of the United States cannot be sent with Canada Post through this driver")
	}
	if order.Billing != nil && order.Billing.Type != "" && order.Billing.Type != "sender" {
		c.refuse("/billing/type", "unsupported", "Canada Post charges only the connected account")
	}
}

// returns refuses the returns that Canada Post has no labels for.
func (c *checker) returns(order ship.Order, hasContract bool) {
	if !hasContract {
		c.refuse("/isReturn", "unsupported", "Canada Post sells return labels only under a contract: set contract_id of the connection under Carriers")
	}
	if order.Origin.Country == home && order.Destination.Country != home {
		c.refuse("/isReturn", "unsupported", "return labels of Canada Post are for parcels within Canada")
	}
}

// Postal codes as Canada Post reads them.
//
// fact: postal-codes
var (
	canadianZip = regexp.MustCompile(`^[A-Z]\d[A-Z]\d[A-Z]\d$`)
	usZip       = regexp.MustCompile(`^\d{5}(-\d{4})?$`)
)

func (c *checker) address(given ship.Address, pointer string) (carrierkit.FittedAddress, []string) {
	if c.isQuote {
		// Only the place is sent; the rest is checked when it is needed.
		given = ship.Address{
			City:        given.City,
			State:       given.State,
			Zip:         given.Zip,
			Country:     given.Country,
			Residential: given.Residential,
		}
	}

	fitted, warnings, err := carrierkit.Fit(addressLimits, given, pointer)
	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		c.invalid = append(c.invalid, unfit.Fields...)

		// A field that was given is not also reported as missing.
		fitted.Zip = given.Zip
		fitted.City = given.City
		fitted.State = given.State
		fitted.Phone = given.Phone
		fitted.Lines = []string{given.Address1}
	}

	if given.Country == home {
		fitted.Zip = strings.ToUpper(strings.ReplaceAll(strings.ReplaceAll(fitted.Zip, " ", ""), "-", ""))
		if !canadianZip.MatchString(fitted.Zip) {
			c.refuse(pointer+"/zip", "invalid_zip", "must be a Canadian postal code, such as K1A 0B1")
		}
	}
	if given.Country == "US" && !usZip.MatchString(fitted.Zip) {
		c.refuse(pointer+"/zip", "invalid_zip", "must be a ZIP code of the United States, such as 10001 or 10001-1234")
	}
	if !c.isQuote {
		c.requireParty(fitted, pointer)
	}
	return fitted, warnings
}

// requireParty reports what a label needs of an address.
func (c *checker) requireParty(fitted carrierkit.FittedAddress, pointer string) {
	party := carrierkit.PartyName(pointer)
	if len(fitted.Lines) == 0 || fitted.Lines[0] == "" {
		c.refuse(pointer+"/address1", "required", "Canada Post needs the street of "+party)
	}
	if fitted.City == "" {
		c.refuse(pointer+"/city", "required", "Canada Post needs the city of "+party)
	}
	if fitted.Country == home && len(fitted.State) != 2 {
		c.refuse(pointer+"/state", "required", "Canada Post needs the province of "+party+" as two letters, such as ON")
	}
	if fitted.Country == "US" && len(fitted.State) != 2 {
		c.refuse(pointer+"/state", "required", "Canada Post needs the state of "+party+" as two letters, such as NY")
	}
	if c.isReturn {
		return
	}
	if fitted.Phone == "" && (pointer == "/origin" || c.isAbroad) {
		c.refuse(pointer+"/phone", "required", "Canada Post needs a phone number for "+party)
	}
}

// mailingDate returns the day of the order, or today's at the origin if that is
// later.
func (c *checker) mailingDate(order ship.Order, now time.Time) string {
	today := now.In(carrierkit.PlaceOf(order.Origin).ClosestZone()).Format(time.DateOnly)
	switch {
	case order.ShipDate == "":
		return today
	case order.ShipDate.Time().Before(now.AddDate(0, 0, -2)):
		c.refuse("/shipDate", "invalid", "must be today or later for Canada Post")
	}
	return max(today, string(order.ShipDate))
}

// addressOf returns an address as a label has it.
func addressOf(fitted carrierkit.FittedAddress) address {
	lines := append([]string(nil), fitted.Lines...)
	lines = append(lines, "", "")
	return address{
		Line1:   lines[0],
		Line2:   lines[1],
		City:    fitted.City,
		State:   fitted.State,
		Country: fitted.Country,
		Zip:     fitted.Zip,
	}
}

// companyOf returns the name that Canada Post requires of a sender.
func companyOf(fitted carrierkit.FittedAddress) string { return cmp.Or(fitted.Company, fitted.Name) }
