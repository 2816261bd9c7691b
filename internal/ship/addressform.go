package ship

import (
	"slices"
	"strings"

	"github.com/bojanz/address"
)

// An AddressField is a field of a country's addresses below the street.
type AddressField struct {
	Name     string // "city", "state" or "zip"
	Label    string // as people of the country call it
	Required bool
	Known    [][2]string // the states by code and name, where we know them
}

// AddressFields are the fields of a country's addresses below the street, in
// the order in which its people write them. Normalize asks for those that are
// required, and takes the others.
func AddressFields(code string) []AddressField {
	c := countries()[code]
	if c == nil {
		return []AddressField{
			{Name: "city", Label: "City", Required: true},
			{Name: "state", Label: "State or province"},
			{Name: "zip", Label: "Postal code"},
		}
	}

	list := []AddressField{
		{Name: "city", Label: cityLabel(c.format.LocalityType), Required: true},
		{Name: "state", Label: stateLabel(c.format.RegionType), Required: c.needsState, Known: c.statesByName()},
		{Name: "zip", Label: zipLabel(c.format.PostalCodeType), Required: c.needsZip},
	}
	list = slices.DeleteFunc(list, func(f AddressField) bool {
		return !f.Required && !strings.Contains(c.format.Layout, layoutSigns[f.Name])
	})
	slices.SortStableFunc(list, func(a, b AddressField) int { return c.positionOf(a) - c.positionOf(b) })
	return list
}

// layoutSigns are what stands for the fields in a country's layout.
var layoutSigns = map[string]string{"city": "%L", "state": "%R", "zip": "%P"}

// positionOf returns where the field stands in the country's addresses; a field
// that its layout does not have comes last.
func (c *country) positionOf(f AddressField) int {
	if i := strings.Index(c.format.Layout, layoutSigns[f.Name]); i >= 0 {
		return i
	}
	return len(c.format.Layout)
}

// statesByName returns the codes and names of the country's states, as far as we
// know them.
func (c *country) statesByName() [][2]string {
	var list [][2]string
	for _, code := range c.format.Regions.Keys() {
		list = append(list, [2]string{code, StateName(c.code, code)})
	}
	return list
}

func cityLabel(t address.LocalityType) string {
	switch t {
	case address.LocalityTypeDistrict:
		return "District"
	case address.LocalityTypePostTown:
		return "Post town"
	case address.LocalityTypeSuburb:
		return "Suburb"
	case address.LocalityTypeTownCity:
		return "Town or city"
	}
	return "City"
}

var stateLabels = map[address.RegionType]string{
	address.RegionTypeArea:       "Area",
	address.RegionTypeCanton:     "Canton",
	address.RegionTypeCounty:     "County",
	address.RegionTypeDepartment: "Department",
	address.RegionTypeDistrict:   "District",
	address.RegionTypeDoSi:       "Do or Si",
	address.RegionTypeEmirate:    "Emirate",
	address.RegionTypeIsland:     "Island",
	address.RegionTypeParish:     "Parish",
	address.RegionTypePrefecture: "Prefecture",
	address.RegionTypeRegion:     "Region",
	address.RegionTypeState:      "State",
}

func stateLabel(t address.RegionType) string {
	if label, ok := stateLabels[t]; ok {
		return label
	}
	return "Province"
}

func zipLabel(t address.PostalCodeType) string {
	switch t {
	case address.PostalCodeTypeEir:
		return "Eircode"
	case address.PostalCodeTypePin:
		return "PIN code"
	case address.PostalCodeTypeZip:
		return "ZIP code"
	}
	return "Postal code"
}
