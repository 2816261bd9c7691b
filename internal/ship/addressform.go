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
		return []AddressField{{Name: "city", Label: "City", Required: true}, {Name: "state", Label: "State or province"}, {Name: "zip", Label: "Postal code"}}
	}
	var list []AddressField
	for _, part := range []struct {
		sign  string
		field AddressField
	}{
		{"%L", AddressField{Name: "city", Label: cityLabel(c.format.LocalityType), Required: true}},
		{"%R", AddressField{Name: "state", Label: stateLabel(c.format.RegionType), Required: c.needsState, Known: c.known()}},
		{"%P", AddressField{Name: "zip", Label: zipLabel(c.format.PostalCodeType), Required: c.needsZip}},
	} {
		if part.field.Required || strings.Contains(c.format.Layout, part.sign) {
			list = append(list, part.field)
		}
	}
	slices.SortStableFunc(list, func(a, b AddressField) int { return c.place(a) - c.place(b) })
	return list
}

// place is where the field stands in the country's addresses.
func (c *country) place(f AddressField) int {
	sign := map[string]string{"city": "%L", "state": "%R", "zip": "%P"}[f.Name]
	if i := strings.Index(c.format.Layout, sign); i >= 0 {
		return i
	}
	return len(c.format.Layout)
}

func (c *country) known() [][2]string {
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

func stateLabel(t address.RegionType) string {
	switch t {
	case address.RegionTypeArea:
		return "Area"
	case address.RegionTypeCanton:
		return "Canton"
	case address.RegionTypeCounty:
		return "County"
	case address.RegionTypeDepartment:
		return "Department"
	case address.RegionTypeDistrict:
		return "District"
	case address.RegionTypeDoSi:
		return "Do or Si"
	case address.RegionTypeEmirate:
		return "Emirate"
	case address.RegionTypeIsland:
		return "Island"
	case address.RegionTypeParish:
		return "Parish"
	case address.RegionTypePrefecture:
		return "Prefecture"
	case address.RegionTypeRegion:
		return "Region"
	case address.RegionTypeState:
		return "State"
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
