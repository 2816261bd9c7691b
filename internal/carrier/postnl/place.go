package postnl

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// benelux are the countries where PostNL wants the house number apart.
var benelux = []string{"NL", "BE", "LU"}

// houseNumber finds the number behind the street, and what belongs to it:
// "Molengraaffplantsoen 74 A". Some streets are named after a year: "Plein 1944 12".
var houseNumber = regexp.MustCompile(`^(.*\D(?:[\s,]+(?:18|19|20)\d\d)?)[\s,]\s*(\d{1,5})(?:\s*[-/ ]?\s*([0-9A-Za-z][0-9A-Za-z /.-]*))?$`)

// leadingNumber finds a number before the street, as in Luxembourg.
var leadingNumber = regexp.MustCompile(`^(\d{1,5})\s*([A-Za-z]?)[\s,]+(\D.*)$`)

// splitStreet returns the parts of a street; not ok if it has no house number.
func splitStreet(line, country string) (street, number, extension string, ok bool) {
	line = strings.TrimSpace(line)
	if found := houseNumber.FindStringSubmatch(line); found != nil {
		return strings.TrimRight(found[1], " ,"), found[2], strings.TrimSpace(found[3]), true
	}
	if found := leadingNumber.FindStringSubmatch(line); found != nil && country != "NL" {
		return found[3], found[1], found[2], true
	}
	return "", "", "", false
}

// addressOf returns an address in PostNL's parts.
func (c *checker) addressOf(given ship.Address, pointer, kind string) address {
	fitted := c.fit(given, pointer)
	parts := address{
		AddressType: kind,
		Name:        fitted.Name,
		CompanyName: fitted.Company,
		City:        fitted.City,
		Zipcode:     strings.ReplaceAll(fitted.Zip, " ", ""),
		Countrycode: fitted.Country,
		Region:      fitted.State,
	}
	if len(fitted.Lines) > 1 {
		parts.Buildingname = fitted.Lines[1]
		c.limitLength(pointer+"/address2", parts.Buildingname, maxShort)
	}
	if len(fitted.Lines) == 0 {
		return parts
	}

	if !slices.Contains(benelux, fitted.Country) {
		parts.StreetHouseNrExt = fitted.Lines[0]
		return parts
	}
	var ok bool
	parts.Street, parts.HouseNr, parts.HouseNrExt, ok = splitStreet(fitted.Lines[0], fitted.Country)
	if !ok {
		c.refuse(pointer+"/address1", "invalid", "PostNL needs the house number after the street, as in \"Molengraaffplantsoen 74 A\"")
	}
	c.limitLength(pointer+"/address1", parts.HouseNrExt, maxShort)
	return parts
}

// maxShort is how long most texts may be.
const maxShort = 35

// dutch is the time of the Netherlands, in which PostNL writes all times.
var dutch = loadDutch()

func loadDutch() *time.Location {
	zone, err := time.LoadLocation("Europe/Amsterdam")
	if err != nil {
		return time.FixedZone("CET", 3600)
	}
	return zone
}

// timeLayout is how PostNL writes times.
const timeLayout = "02-01-2006 15:04:05"
