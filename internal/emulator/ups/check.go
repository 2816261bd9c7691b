package ups

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/emulator"
)

// A flaw is a refusal of one part of a request, with the code and message from
// UPS's own list.
func flaw(code, message string) (refusal, bool) { return refusal{code, message}, false }

// fine returns the result of a check that found nothing.
func fine() (refusal, bool) { return refusal{}, true }

// checkShipment checks what quotes and purchases both require.
func checkShipment(s *shipment, packaging func(box) *code) (refusal, bool) {
	switch {
	case s.Shipper.ShipperNumber != Account:
		return flaw("120100", "Missing or invalid shipper number")
	case len(s.Package) == 0:
		return flaw("110002", "No packages in shipment.")
	case len(s.Package) > 200:
		return flaw("120020", "Max packages per shipment exceeded.")
	}

	units := "LBS IN"
	if c := s.Shipper.Address.CountryCode; c != "US" && !slices.Contains(territories, c) {
		units = "KGS CM"
	}
	for _, b := range s.Package {
		if r, ok := checkBox(b, packaging(b), units); !ok {
			return r, false
		}
		if r, ok := checkBoxOptions(s, b); !ok {
			return r, false
		}
	}
	return checkIndication(s)
}

// checkIndication checks where a shipment to an Access Point goes.
func checkIndication(s *shipment) (refusal, bool) {
	point := s.AlternateDeliveryAddress
	if len(s.ShipmentIndicationType) == 0 {
		return fine()
	}

	indication := s.ShipmentIndicationType[0].Code
	switch {
	case indication != "01" && indication != "02":
		return flaw("120983", "Invalid ShipmentIndicationType")
	case point == nil || point.Address == nil || len(point.Address.CountryCode) != 2:
		return flaw("120984", "AlternateDeliveryAddress is required for the ShipmentIndicationType")
	case s.ReturnService != nil:
		return flaw("120985", "ShipmentIndicationType is not valid with a return service")
	}
	return fine()
}

// checkPoint checks the Access Point of a purchase, which must be complete.
func checkPoint(s *shipment) (refusal, bool) {
	if len(s.ShipmentIndicationType) == 0 {
		return fine()
	}
	point := s.AlternateDeliveryAddress
	if len(point.UPSAccessPointID) != 9 || point.Name == "" || point.AttentionName == "" || len(point.Address.AddressLine) == 0 || point.Address.City == "" {
		return flaw("120986", "Missing or invalid AlternateDeliveryAddress")
	}
	return fine()
}

// checkBoxOptions checks the dry ice in a parcel and the money that is collected
// for it.
func checkBoxOptions(s *shipment, b box) (refusal, bool) {
	options := b.PackageServiceOptions
	if options == nil {
		return fine()
	}
	// The code is the emulator's: UPS documents the rule and no code for it.
	if value := options.DeclaredValue; value != nil && !isPaidIn(s.Shipper.Address.CountryCode, value.CurrencyCode) {
		return flaw("120607", "The declared value's currency is not valid for the shipper's country or territory")
	}

	if ice := options.DryIce; ice != nil {
		if !slices.Contains([]string{"CFR", "IATA", "ADR"}, ice.RegulationSet) || ice.DryIceWeight == nil {
			return flaw("129081", "Missing or invalid dry ice regulation set")
		}
		weight, err := strconv.ParseFloat(ice.DryIceWeight.Weight, 64)
		total, _ := strconv.ParseFloat(b.PackageWeight.Weight, 64)
		if err != nil || weight <= 0 || weight > total || !slices.Contains([]string{"00", "01"}, ice.DryIceWeight.UnitOfMeasurement.Code) {
			return flaw("129082", "Missing or invalid dry ice weight")
		}
	}
	if collected := options.COD; collected != nil {
		if collected.CODFundsCode != "0" && collected.CODFundsCode != "8" || collected.CODAmount == nil {
			return flaw("120603", "Missing or invalid COD funds code or amount")
		}
	}
	if options.AccessPointCOD != nil && len(s.ShipmentIndicationType) == 0 {
		return flaw("120987", "AccessPointCOD needs an Access Point")
	}
	return fine()
}

// isPaidIn reports whether a declared value may be in the currency: in that of the
// shipper's country, or, outside of North America, in euros.
func isPaidIn(country, currency string) bool {
	own := emulator.CurrencyOf(country)
	return currency == own || currency == "EUR" && own != "USD" && own != "CAD"
}

// checkRatedPlaces checks the addresses of a quote, which requires less than a
// purchase.
func checkRatedPlaces(s *shipment) (refusal, bool) {
	for _, one := range []struct {
		place    place
		country  string
		zip      string
		whose    string
		needsSub bool // UPS needs the state for negotiated rates
	}{
		{s.Shipper.Address, "110108", "111285", "Shipper", false},
		{s.ShipTo.Address, "110208", "111285", "ShipTo", false},
		{s.from().Address, "110308", "111285", "ShipFrom", s.ShipmentRatingOptions != nil},
	} {
		p := one.place

		switch {
		case len(p.CountryCode) != 2:
			return flaw(one.country, "Missing or invalid "+one.whose+" CountryCode")
		case p.PostalCode == "" && p.City == "", !goodZip(p):
			return flaw(one.zip, "The postal code "+p.PostalCode+" is invalid for "+p.StateProvinceCode+" "+p.CountryCode+".")
		case p.StateProvinceCode != "" && (len(p.StateProvinceCode) != 2 || !emulator.IsState(p.CountryCode, p.StateProvinceCode)),
			one.needsSub && (p.CountryCode == "US" || p.CountryCode == "CA") && p.StateProvinceCode == "":
			return flaw("111286", p.StateProvinceCode+" is not a valid state for the specified shipment.")
		}
	}
	return fine()
}

// territories are places that addresses in the United States name as states and
// UPS as countries.
var territories = []string{"PR", "VI", "GU", "AS", "MP"}

// goodZip reports whether the postal code is valid for its country.
func goodZip(p place) bool {
	n := len(p.PostalCode)
	switch {
	case n > 9:
		return false
	case p.CountryCode == "US" || slices.Contains(territories, p.CountryCode):
		return n == 5 || n == 9
	case p.CountryCode == "CA":
		return n == 6
	case p.CountryCode == "ES":
		// UPS treats the Canary Islands as a country of their own, IC.
		return !strings.HasPrefix(p.PostalCode, "35") && !strings.HasPrefix(p.PostalCode, "38")
	}
	return true
}

// province is how UPS writes the provinces of Vietnam.
var province = regexp.MustCompile(`^VN-[0-9A-Z]{2}$`)

// goodState reports whether the state is valid for its country.
func goodState(p place) bool {
	switch p.CountryCode {
	case "US":
		return emulator.IsState("US", p.StateProvinceCode) && !slices.Contains(territories, p.StateProvinceCode)
	case "CA":
		return emulator.IsState("CA", p.StateProvinceCode)
	case "PR":
		return len(p.StateProvinceCode) == 2
	case "VN":
		return province.MatchString(p.StateProvinceCode)
	}
	return len(p.StateProvinceCode) <= 5
}

// checkParty checks one party of a purchase. UPS numbers the fields of the
// recipient from 120200 and those of the place of origin from 120300; the
// sender's begin one later.
func checkParty(who who, series, label string, abroad bool) (refusal, bool) {
	name := "00"
	attention := "01"
	if series == "1201" {
		name = "01"
		attention = "10"
	}
	missing := func(number, field string) (refusal, bool) {
		return flaw(series+number, "Missing/Invalid "+label+" "+field)
	}
	fits := func(text string, most int) bool { return text != "" && utf8.RuneCountInString(text) <= most }

	p := who.Address
	switch {
	case !fits(who.Name, 35):
		return missing(name, "CompanyName")
	case len(p.AddressLine) < 1 || len(p.AddressLine) > 3 || !fits(p.AddressLine[0], 35):
		return missing("02", "AddressLine1")
	case !fits(p.City, 30):
		return missing("05", "City")
	case len(p.CountryCode) != 2:
		return missing("08", "CountryCode")
	case !goodState(p):
		return missing("06", "StateProvinceCode")
	case !goodZip(p):
		return missing("07", "PostalCode")
	case abroad && !fits(who.AttentionName, 35):
		return missing(attention, "AttentionName")
	case abroad && (who.Phone == nil || !fits(who.Phone.Number, 15)):
		return missing("09", "PhoneNumber")
	}
	for i, line := range p.AddressLine[1:] {
		if !fits(line, 35) {
			return flaw(series+"0"+strconv.Itoa(3+i), "Invalid "+label+" AddressLine"+strconv.Itoa(2+i))
		}
	}
	return fine()
}

func checkBox(b box, packaging *code, units string) (refusal, bool) {
	if packaging == nil || len(packaging.Code) != 2 {
		return flaw("120600", "Missing Package/PackagingType/Code")
	}
	if b.PackageWeight == nil || !strings.HasPrefix(units, b.PackageWeight.UnitOfMeasurement.Code) || b.PackageWeight.UnitOfMeasurement.Code == "" {
		return flaw("120546", "That is not a valid unit of measurement for weight for this shipment")
	}

	weight, err := strconv.ParseFloat(b.PackageWeight.Weight, 64)
	switch {
	case err != nil || weight <= 0 || len(b.PackageWeight.Weight) > 5:
		return flaw("120601", "Missing/Invalid Package weight")
	case weight > 150:
		return flaw("111035", "The maximum per package weight for the selected service is 150 pounds")
	}

	if d := b.Dimensions; d != nil {
		for _, side := range []string{d.Length, d.Width, d.Height} {
			if n, err := strconv.Atoi(side); err != nil || n <= 0 || len(side) > 3 || !strings.HasSuffix(units, d.UnitOfMeasurement.Code) {
				return flaw("120602", "Missing/Invalid Combination of package length, width, and height values.")
			}
		}
	}
	return fine()
}

// checkPurchase checks what only a purchase requires.
func checkPurchase(s *shipment) (refusal, bool) {
	from := s.from().Address.CountryCode
	to := s.ShipTo.Address.CountryCode
	abroad := from != to
	if r, ok := checkParty(s.Shipper, "1201", "Shipper", abroad); !ok {
		return r, false
	}
	if r, ok := checkParty(s.ShipTo, "1202", "ShipTo", abroad); !ok {
		return r, false
	}
	if s.ShipFrom != nil {
		if r, ok := checkParty(*s.ShipFrom, "1203", "ShipFrom", false); !ok {
			return r, false
		}
	}

	switch {
	case s.Service == nil || !sold(s):
		return flaw("121100", "The requested service is invalid for the shipment origin")
	case s.PaymentInformation == nil || !paid(s.PaymentInformation.ShipmentCharge):
		return flaw("120400", "Missing/Invalid shipment payment method")
	case s.ReturnService != nil && (s.ShipFrom == nil || s.Package[0].Description == ""):
		return flaw("120622", "Package description is required")
	case s.ReturnService != nil && !goodReturn(s):
		return flaw("121210", "The requested service, packaging or country is unavailable for returns.")
	}
	if r, ok := checkReferences(s, from, to); !ok {
		return r, false
	}
	if r, ok := checkPoint(s); !ok {
		return r, false
	}
	if s.ShipmentDate != "" {
		day, err := time.Parse("20060102", s.ShipmentDate)
		if ahead := time.Until(day); err != nil || ahead > 8*24*time.Hour || ahead < -48*time.Hour {
			return flaw("120508", "Missing/Invalid pickup date")
		}
	}
	if r, ok := checkTax(s); !ok {
		return r, false
	}
	if !abroad {
		return fine()
	}
	return checkAbroad(s, from, to)
}

// goodReturn reports whether UPS takes the return: two of the three countries
// are the same, and neither the service nor the box is one of those that are not
// for returns.
func goodReturn(s *shipment) bool {
	shipper := s.Shipper.Address.CountryCode
	from := s.from().Address.CountryCode
	to := s.ShipTo.Address.CountryCode
	if shipper != from && shipper != to && from != to || s.Service.Code == "13" || s.Service.Code == "59" {
		return false
	}
	return !slices.ContainsFunc(s.Package, func(b box) bool {
		return b.Packaging != nil && (b.Packaging.Code == "24" || b.Packaging.Code == "25")
	})
}

// mostReferences is how many references UPS takes with a shipment, or with a
// parcel; it prints them all.
const mostReferences = 2

// checkReferences allows references only on the parcels inside the United States
// and inside Puerto Rico, and only on the shipment elsewhere.
func checkReferences(s *shipment, from, to string) (refusal, bool) {
	good := func(list list[reference]) bool {
		return !slices.ContainsFunc(list, func(r reference) bool { return r.Value == "" || utf8.RuneCountInString(r.Value) > 35 })
	}
	onParcels := from == to && (from == "US" || from == "PR")
	switch {
	case onParcels && len(s.ReferenceNumber) > 0:
		return flaw("120541", "Shipment/ReferenceNumber is not allowed for this shipment")
	case len(s.ReferenceNumber) > mostReferences:
		return flaw("120543", "No more than 2 Shipment/ReferenceNumber can be given per shipment")
	case !good(s.ReferenceNumber):
		return flaw("120501", "Invalid Shipment/ReferenceNumber/Value")
	}

	for _, b := range s.Package {
		switch {
		case !onParcels && len(b.ReferenceNumber) > 0:
			return flaw("120542", "Package/ReferenceNumber is not allowed for this shipment")
		case len(b.ReferenceNumber) > mostReferences:
			return flaw("120544", "No more than 2 Package/ReferenceNumber can be given per package")
		case !good(b.ReferenceNumber):
			return flaw("120603", "Invalid Package/Reference/Value")
		}
	}
	return fine()
}

func sold(s *shipment) bool {
	for _, o := range offers {
		if o.code == s.Service.Code {
			return o.goes(s.from().Address, s.ShipTo.Address)
		}
	}
	return false
}

// paid reports whether somebody pays for transportation.
func paid(charges []charge) bool {
	for _, c := range charges {
		payers := 0
		for _, p := range []*struct{ AccountNumber string }{c.BillShipper, c.BillReceiver, c.BillThirdParty} {
			if p != nil && len(p.AccountNumber) == 6 {
				payers++
			}
		}
		if payers != 1 || c.BillShipper != nil && c.BillShipper.AccountNumber != Account {
			return false
		}
	}
	return len(charges) > 0 && charges[0].Type == "01"
}

// checkAbroad checks what a shipment across a border requires.
func checkAbroad(s *shipment, from, to string) (refusal, bool) {
	switch {
	case s.Description == "" && s.ReturnService == nil:
		return flaw("120512", "Shipment Description is required for this shipment.")
	case from == "US" && (to == "CA" || to == "PR") && s.InvoiceLineTotal == nil:
		return flaw("120539", "InvoiceLineTotal/ MonetaryValue is required and must be a whole number")
	}
	if s.ReturnService == nil && !inEU(s.from().Address) && inEU(s.ShipTo.Address) {
		if r, ok := checkEntersEU(s); !ok {
			return r, false
		}
	}
	if s.ShipmentServiceOptions == nil || s.ShipmentServiceOptions.InternationalForms == nil {
		return fine()
	}

	f := s.ShipmentServiceOptions.InternationalForms
	if len(f.FormType) == 0 || f.InvoiceNumber == "" || f.InvoiceDate == "" || f.ReasonForExport == "" || f.CurrencyCode == "" ||
		len(f.Product) == 0 || len(f.Product) > 50 || f.Contacts == nil || f.Contacts.SoldTo == nil {
		return flaw("128000", "Missing or invalid international form data")
	}
	for _, p := range f.Product {
		if len(p.Description) == 0 || len(p.Description) > 3 || p.Unit == nil || p.Unit.Number == "" || p.Unit.Value == "" || len(p.OriginCountryCode) != 2 {
			return flaw("128001", "Missing or invalid product of an international form")
		}
	}
	return fine()
}
