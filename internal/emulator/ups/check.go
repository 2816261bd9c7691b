package ups

import (
	"strconv"
	"strings"
	"time"
)

// checkShipment is what quotes and purchases both demand.
func checkShipment(s *shipment, packaging func(box) *code) (refusal, bool) {
	no := func(code, message string) (refusal, bool) { return refusal{code, message}, false }
	switch {
	case s.Shipper.ShipperNumber != Account:
		return no("120100", "Missing or invalid shipper number")
	case !reachable(s.Shipper.Address):
		return no("120102", "Missing or invalid shipper address")
	case !reachable(s.ShipTo.Address):
		return no("120202", "Missing or invalid ship to address")
	case s.ShipFrom != nil && !reachable(s.ShipFrom.Address):
		return no("120302", "Missing or invalid ship from address")
	case len(s.Package) == 0 || len(s.Package) > 200:
		return no("120500", "Missing or invalid number of packages")
	}
	units := "LBS IN"
	if c := s.Shipper.Address.CountryCode; c != "US" && c != "PR" {
		units = "KGS CM"
	}
	for _, b := range s.Package {
		if r, ok := checkBox(b, packaging(b), units); !ok {
			return r, false
		}
	}
	return refusal{}, true
}

// reachable reports whether a place has what its country needs.
func reachable(p place) bool {
	if len(p.AddressLine) < 1 || len(p.AddressLine) > 3 || p.City == "" || len(p.CountryCode) != 2 || len(p.PostalCode) > 9 {
		return false
	}
	for _, l := range p.AddressLine {
		if l == "" || len([]rune(l)) > 35 {
			return false
		}
	}
	switch p.CountryCode {
	case "US", "PR":
		return len(p.StateProvinceCode) == 2 && (len(p.PostalCode) == 5 || len(p.PostalCode) == 9)
	case "CA":
		return len(p.StateProvinceCode) == 2 && len(p.PostalCode) == 6
	}
	return true
}

func checkBox(b box, packaging *code, units string) (refusal, bool) {
	if packaging == nil || len(packaging.Code) != 2 {
		return refusal{"120501", "Missing or invalid packaging type"}, false
	}
	if b.PackageWeight == nil || !strings.HasPrefix(units, b.PackageWeight.UnitOfMeasurement.Code) || b.PackageWeight.UnitOfMeasurement.Code == "" {
		return refusal{"120502", "Missing or invalid package weight unit"}, false
	}
	w, err := strconv.ParseFloat(b.PackageWeight.Weight, 64)
	switch {
	case err != nil || w <= 0 || len(b.PackageWeight.Weight) > 5:
		return refusal{"120503", "Missing or invalid package weight"}, false
	case w > 150:
		return refusal{"111035", "The maximum per package weight for the selected service is 150 pounds"}, false
	}
	if d := b.Dimensions; d != nil {
		for _, side := range []string{d.Length, d.Width, d.Height} {
			if n, err := strconv.Atoi(side); err != nil || n <= 0 || len(side) > 3 || !strings.HasSuffix(units, d.UnitOfMeasurement.Code) {
				return refusal{"120504", "Missing or invalid package dimensions"}, false
			}
		}
	}
	return refusal{}, true
}

// checkPurchase is what only a purchase demands.
func checkPurchase(s *shipment) (refusal, bool) {
	no := func(code, message string) (refusal, bool) { return refusal{code, message}, false }
	from, to := s.from().Address.CountryCode, s.ShipTo.Address.CountryCode
	samePackage := from == to && (from == "US" || from == "PR")
	switch {
	case s.Shipper.Name == "" || len([]rune(s.Shipper.Name)) > 35:
		return no("120101", "Missing or invalid shipper name")
	case s.ShipTo.Name == "" || len([]rune(s.ShipTo.Name)) > 35:
		return no("120201", "Missing or invalid ship to name")
	case s.Service == nil || !sold(s):
		return no("121100", "The requested service is invalid for the shipment origin")
	case s.PaymentInformation == nil || !paid(s.PaymentInformation.ShipmentCharge):
		return no("120400", "Missing or invalid payment information")
	case samePackage && len(s.ReferenceNumber) > 0:
		return no("120541", "Shipment/ReferenceNumber is not allowed for this shipment")
	case s.ReturnService != nil && (s.ShipFrom == nil || s.Package[0].Description == ""):
		return no("120603", "A return shipment needs a ship from address and a package description")
	}
	for _, b := range s.Package {
		if !samePackage && len(b.ReferenceNumber) > 0 {
			return no("120542", "Package/ReferenceNumber is not allowed for this shipment")
		}
	}
	if s.ShipmentDate != "" {
		day, err := time.Parse("20060102", s.ShipmentDate)
		if ahead := time.Until(day); err != nil || ahead > 8*24*time.Hour || ahead < -48*time.Hour {
			return no("120604", "Invalid shipment date")
		}
	}
	if from == to {
		return refusal{}, true
	}
	return checkAbroad(s, from, to)
}

func sold(s *shipment) bool {
	for _, o := range offers {
		if o.code == s.Service.Code {
			return o.goes(s.from().Address, s.ShipTo.Address)
		}
	}
	return false
}

// paid reports whether somebody pays for the way.
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

// checkAbroad is what a border demands.
func checkAbroad(s *shipment, from, to string) (refusal, bool) {
	no := func(code, message string) (refusal, bool) { return refusal{code, message}, false }
	switch {
	case s.ShipTo.AttentionName == "" || s.ShipTo.Phone == nil || s.ShipTo.Phone.Number == "":
		return no("120213", "Missing or invalid ship to attention name or phone number")
	case s.Shipper.AttentionName == "" || s.Shipper.Phone == nil || s.Shipper.Phone.Number == "":
		return no("120113", "Missing or invalid shipper attention name or phone number")
	case s.Description == "" && s.ReturnService == nil:
		return no("120602", "Missing or invalid description of goods")
	case from == "US" && (to == "CA" || to == "PR") && s.InvoiceLineTotal == nil:
		return no("120605", "InvoiceLineTotal is required for this shipment")
	}
	if s.ShipmentServiceOptions == nil || s.ShipmentServiceOptions.InternationalForms == nil {
		return refusal{}, true
	}
	f := s.ShipmentServiceOptions.InternationalForms
	if len(f.FormType) == 0 || f.InvoiceNumber == "" || f.InvoiceDate == "" || f.ReasonForExport == "" || f.CurrencyCode == "" ||
		len(f.Product) == 0 || len(f.Product) > 50 || f.Contacts == nil || f.Contacts.SoldTo == nil {
		return no("128000", "Missing or invalid international form data")
	}
	for _, p := range f.Product {
		if len(p.Description) == 0 || len(p.Description) > 3 || p.Unit == nil || p.Unit.Number == "" || p.Unit.Value == "" || p.OriginCountryCode == "" {
			return no("128001", "Missing or invalid product of an international form")
		}
	}
	return refusal{}, true
}
