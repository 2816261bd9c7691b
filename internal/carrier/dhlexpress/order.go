package dhlexpress

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const (
	maxAccount   = 12
	maxPieces    = 999
	maxReference = 35 // fact: max-reference
)

// draft is an order in DHL's terms: what a quote and a purchase share.
type draft struct {
	from, to   carrierkit.FittedAddress
	fromPlace  carrierkit.Place
	toPlace    carrierkit.Place
	lane       lane
	documents  bool
	declarable bool      // the parcel crosses a customs border with goods in it
	isReturn   bool      // from the customer back to the account's owner
	at         time.Time // of handing over, in the zone of the origin
	packages   []pack
	extras     []extra
	accounts   []account
	declared   ship.Money // what the goods are worth; zero if a quote does not say
	warnings   []string
}

// newDraft checks an order that is to be bought. Everything that DHL would
// refuse for sure is refused here, all at once.
func (d driver) newDraft(order ship.Order, now time.Time) (draft, error) {
	return d.checkDraft(checker{}, order, now)
}

// newQuoteDraft checks an order that is to be quoted. A quote needs neither
// names nor streets nor phone numbers nor a declaration.
func (d driver) newQuoteDraft(order ship.Order, now time.Time) (draft, error) {
	return d.checkDraft(checker{quote: true}, order, now)
}

func (d driver) checkDraft(c checker, order ship.Order, now time.Time) (draft, error) {
	p := draft{
		fromPlace: carrierkit.PlaceOf(order.Origin),
		toPlace:   carrierkit.PlaceOf(order.Destination),
		documents: order.Customs != nil && order.Customs.ContentsType == "documents",
		isReturn:  order.IsReturn,
	}
	p.declarable = !p.documents && carrierkit.CrossesCustoms(p.fromPlace, p.toPlace)
	p.lane = laneOf(p.fromPlace, p.toPlace, p.declarable)

	var warnings []string
	p.from, p.warnings = c.address(order.Origin, "/origin")
	p.to, warnings = c.address(order.Destination, "/destination")
	p.warnings = append(p.warnings, warnings...)
	p.from.Country = countryOf(p.fromPlace)
	p.to.Country = countryOf(p.toPlace)

	p.at = c.handover(order, now)
	p.packages = c.packages(order)
	p.accounts = c.accounts(d.account, order.Billing)
	c.options(order)
	if order.IsReturn && len(p.accounts) == 1 {
		// The shipper is the customer, so the account is said to pay too.
		p.accounts = append(p.accounts, account{"payer", d.account})
	}
	hasItems := order.Customs != nil && len(order.Customs.Items) > 0
	if p.declarable && (!c.quote || hasItems) {
		p.declared = c.customs(order.Customs)
	}

	if err := carrierkit.InvalidOrder("DHL Express", c.invalid); err != nil {
		return draft{}, err
	}
	p.extras = append(extrasOf(order, &p), moreExtras(order, c.quote)...)
	return p, nil
}

// checker collects the invalid fields of an order.
type checker struct {
	quote   bool // only what a quote needs is required
	invalid []ship.FieldError
}

func (c *checker) refuse(pointer, code, detail string) {
	c.invalid = append(c.invalid, ship.FieldError{Pointer: pointer, Code: code, Detail: detail})
}

func (c *checker) address(given ship.Address, pointer string) (carrierkit.FittedAddress, []string) {
	party := carrierkit.PartyName(pointer)
	if pointer == "/address" {
		party = "the pickup"
	}
	if c.quote {
		// Only the place is sent; the rest is checked when it is needed.
		given = ship.Address{
			City:        given.City,
			State:       given.State,
			Zip:         given.Zip,
			Country:     given.Country,
			Residential: given.Residential,
		}
	}

	fitted, warnings, err := carrierkit.Fit(Spec.Address, given, pointer)
	if unfit, ok := errors.AsType[*ship.Error](err); ok {
		c.invalid = append(c.invalid, unfit.Fields...)

		// A field that was given is not also reported as missing.
		fitted.Phone = given.Phone
		fitted.City = given.City
		fitted.Lines = []string{given.Address1}
	}

	if fitted.City == "" {
		c.refuse(pointer+"/city", "required", "DHL Express needs the city of "+party)
	}
	if c.quote {
		return fitted, warnings
	}
	if fitted.Phone == "" {
		c.refuse(pointer+"/phone", "required", "DHL Express needs a phone number for "+party)
	}
	if len(fitted.Lines) == 0 || fitted.Lines[0] == "" {
		c.refuse(pointer+"/address1", "required", "DHL Express needs the street of "+party)
	}
	return fitted, warnings
}

// lead is how far ahead "now" is: DHL refuses a moment that is past when the
// request arrives.
const lead = 15 * time.Minute

// handover returns when DHL gets the parcel, in the zone of the origin. A day
// that the client names stands for its noon. If it names none, that is now, or
// the next working morning after the couriers' day.
func (c *checker) handover(order ship.Order, now time.Time) time.Time {
	earliest := now.Add(lead).In(carrierkit.PlaceOf(order.Origin).ClosestZone())
	if order.ShipDate == "" {
		return workingTime(earliest)
	}

	day := order.ShipDate.Time()
	noon := time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, earliest.Location())
	switch {
	case noon.Before(earliest.AddDate(0, 0, -2)):
		c.refuse("/shipDate", "invalid", "must be today or later for DHL Express")
	case noon.After(earliest.AddDate(0, 0, 10)):
		c.refuse("/shipDate", "invalid", "must be within ten days from today for DHL Express")
	case noon.Before(earliest):
		return earliest // also if the day ended while the purchase was under way
	}
	return noon
}

func workingTime(t time.Time) time.Time {
	const opens, closes = 10, 18

	if t.Hour() >= closes {
		t = time.Date(t.Year(), t.Month(), t.Day()+1, opens, 0, 0, 0, t.Location())
	}
	for t.Weekday() == time.Saturday || t.Weekday() == time.Sunday {
		t = time.Date(t.Year(), t.Month(), t.Day()+1, opens, 0, 0, 0, t.Location())
	}
	return t
}

// formatTime writes a time as DHL reads it, with a blank before the zone.
func formatTime(t time.Time) string { return t.Format("2006-01-02T15:04:05 GMT-07:00") }

// accounts returns the accounts of the sender and, if another account pays, of
// the payer.
func (c *checker) accounts(own string, billing *ship.Billing) []account {
	list := []account{{"shipper", own}}
	if billing == nil || billing.Type == "sender" || billing.Type == "" {
		return list
	}

	if billing.Account == "" || len(billing.Account) > maxAccount {
		c.refuse("/billing/account", "invalid", "must be a DHL Express account number of 1 to 12 characters")
	}
	return append(list, account{"payer", billing.Account})
}

// extrasOf returns the extra services of the order.
func extrasOf(order ship.Order, p *draft) []extra {
	var list []extra
	switch order.Options.Signature {
	case "":
	case "adult":
		list = append(list, extra{ServiceCode: extraAdultSignature})
	default:
		list = append(list, extra{ServiceCode: extraSignature})
	}

	if order.Options.SaturdayDelivery {
		code := extraSaturday
		if p.lane == domestic {
			code = extraSaturdayDomestic
		}
		list = append(list, extra{ServiceCode: code})
	}

	// DHL insures goods only. Documents have a liability of a fixed amount
	// instead.
	switch value := order.Options.InsuredValue; {
	case value.Minor <= 0:
	case p.documents:
		list = append(list, extra{ServiceCode: extraLiability})
		p.warnings = append(p.warnings, "documents are covered by DHL's extended liability instead of the insured value")
	default:
		list = append(list, extra{ServiceCode: extraInsurance, Value: json.Number(value.Amount()), Currency: value.Currency})
	}

	if hasPrepaidDuties(order, *p) {
		list = append(list, extra{ServiceCode: extraDutiesPaid})
	}
	return list
}

// hasPrepaidDuties reports whether the sender pays duties and taxes.
func hasPrepaidDuties(order ship.Order, p draft) bool {
	return p.declarable && order.Customs != nil && order.Customs.Incoterm == "DDP"
}

func postalAddressOf(fitted carrierkit.FittedAddress) postalAddress {
	lines := append(slices.Clone(fitted.Lines), "", "", "")
	address := postalAddress{
		PostalCode:   fitted.Zip,
		CityName:     fitted.City,
		CountryCode:  fitted.Country,
		AddressLine1: lines[0],
		AddressLine2: lines[1],
		AddressLine3: lines[2],
	}
	if len(fitted.State) >= 2 {
		address.ProvinceCode = fitted.State
	}
	return address
}

// partyOf returns a party of the shipment. DHL's word for a consumer depends on
// the side.
func partyOf(fitted carrierkit.FittedAddress, kind, consumer string) party {
	p := party{
		PostalAddress: postalAddressOf(fitted),
		ContactInformation: contact{
			Email:       fitted.Email,
			Phone:       fitted.Phone,
			CompanyName: cmp.Or(fitted.Company, fitted.Name),
			FullName:    cmp.Or(fitted.Name, fitted.Company),
		},
	}

	switch {
	case kind == "business":
		p.TypeCode = "business"
	case kind == "consumer":
		p.TypeCode = consumer
	case fitted.Residential:
		p.TypeCode = "private"
	}
	return p
}
