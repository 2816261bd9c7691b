package ups

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// UPS has published the fields in this file, but not the codes with which it
// refuses them. The codes are the emulator's own, and the messages name the
// field.

// members are the countries of the European Union, and Monaco.
var members = strings.Fields("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MC MT NL PL PT RO SE SI SK")

// inEU reports whether UPS treats a place as part of the European Union. Ceuta,
// Melilla and Åland have no country code of their own at UPS, so they are
// recognized by postal code.
func inEU(p place) bool {
	outside := p.CountryCode == "ES" && (strings.HasPrefix(p.PostalCode, "51") || strings.HasPrefix(p.PostalCode, "52")) ||
		p.CountryCode == "FI" && strings.HasPrefix(p.PostalCode, "22") ||
		p.CountryCode == "DE" && (p.PostalCode == "78266" || p.PostalCode == "27498")
	return slices.Contains(members, p.CountryCode) && !outside
}

var partyTypes = []string{"01", "02", "NA"}

// checkEntersEU checks what a shipment into the European Union requires.
func checkEntersEU(s *shipment) (refusal, bool) {
	o := s.ShipmentServiceOptions
	switch {
	case !slices.Contains(partyTypes, s.ShipperType):
		return flaw("128901", "Missing or invalid ShipperType: it is required for EU inbound shipments")
	case !slices.Contains(partyTypes, s.ConsigneeType):
		return flaw("128902", "Missing or invalid ConsigneeType: it is required for EU inbound shipments")
	case o == nil || o.EUDeMinimisIndicator != "Y" && o.EUDeMinimisIndicator != "N":
		return flaw("128903", "Missing or invalid EUDeMinimisIndicator: it is required for EU inbound shipments")
	case !slices.Contains([]string{"", "01", "02", "NA"}, s.ShipmentValueThresholdCode):
		return flaw("128904", "Invalid ShipmentValueThresholdCode")
	}
	if t := s.GlobalTaxInformation; t != nil && (t.ShipperTypeValue != "" && t.ShipperTypeValue != s.ShipperType ||
		t.ConsigneeTypeValue != "" && t.ConsigneeTypeValue != s.ConsigneeType) {
		return flaw("128905", "The types of GlobalTaxInformation differ from ShipperType and ConsigneeType")
	}

	f := o.InternationalForms
	if f == nil {
		return fine()
	}
	total := 0.0
	for _, p := range f.Product {
		if p.Unit != nil {
			value, _ := strconv.ParseFloat(p.Unit.Value, 64)
			count, _ := strconv.ParseFloat(p.Unit.Number, 64)
			total += value * count
		}
		toConsumer := s.ConsigneeType == "02" && f.ReasonForExport == "SALE"
		if r, ok := checkProduct(p, toConsumer); !ok {
			return r, false
		}
	}
	isLow := math.Round(total*100) <= 15000
	if f.CurrencyCode == "EUR" && isLow != (o.EUDeMinimisIndicator == "Y") {
		return flaw("128903", "Invalid EUDeMinimisIndicator: it does not fit the value of the goods")
	}
	return fine()
}

// checkProduct checks what the European Union requires about one product.
func checkProduct(p article, toConsumer bool) (refusal, bool) {
	if len(p.ProductIdentifier) > 6 {
		return flaw("128906", "No more than 6 ProductIdentifier can be given per product")
	}

	standard := false
	for _, id := range p.ProductIdentifier {
		if id.ProductID == "" || len([]rune(id.ProductID)) > 100 || !slices.Contains([]string{"0100", "0200", "0300"}, id.ProductIDTypeCode) {
			return flaw("128907", "Invalid ProductIdentifier")
		}
		standard = standard || id.ProductIDTypeCode == "0300"
	}

	switch p.CommodityFieldSpecialConditionCode {
	case "":
		if toConsumer && !standard {
			return flaw("128908", "CommodityFieldSpecialConditionCode must be 01 when a standardized ProductIdentifier is not provided")
		}
	case "01":
		if standard {
			return flaw("128908", "CommodityFieldSpecialConditionCode is not valid with a standardized ProductIdentifier")
		}
	default:
		return flaw("128908", "Invalid CommodityFieldSpecialConditionCode")
	}
	return fine()
}

// What UPS lists as valid in tax identifiers.
var (
	agentRoles     = []string{"20", "30"}
	taxTypes       = []string{"0000", "0001", "0002", "0005", "1001", "1002", "1003", "1004", "1005", "1006"}
	consigneeTypes = []string{"1002", "1005", "0005"}
	taxPurposes    = []string{"00", "01", "02", "99"}
	taxRoles       = []string{"05", "06", "18", "37"}
	vendorTypes    = []string{"0000", "0356", "0357", "0359", "1051", "1052", "1053", "1054"}
)

// checkTax checks the tax identifiers, wherever the shipment goes.
func checkTax(s *shipment) (refusal, bool) {
	if s.ShipFrom != nil && s.ShipFrom.VendorInfo != nil {
		v := s.ShipFrom.VendorInfo
		switch {
		case !slices.Contains(vendorTypes, v.VendorCollectIDTypeCode):
			return flaw("128910", "Missing or invalid VendorCollectIDTypeCode")
		case v.VendorCollectIDNumber == "" || len(v.VendorCollectIDNumber) > 35:
			return flaw("128911", "Missing or invalid VendorCollectIDNumber")
		case v.ConsigneeType != "" && !slices.Contains(partyTypes, v.ConsigneeType):
			return flaw("128912", "Invalid VendorInfo/ConsigneeType")
		}
	}

	t := s.GlobalTaxInformation
	if t == nil {
		return fine()
	}
	if len(t.AgentTaxIdentificationNumber) > 4 {
		return flaw("128913", "No more than 4 AgentTaxIdentificationNumber can be given")
	}
	for _, agent := range t.AgentTaxIdentificationNumber {
		if !slices.Contains(agentRoles, agent.AgentRole) {
			return flaw("128914", "Missing or invalid AgentTaxIdentificationNumber/AgentRole")
		}
		if n := len(agent.TaxIdentificationNumber); n == 0 || n > 8 {
			return flaw("128915", "1 to 8 TaxIdentificationNumber can be given for an agent")
		}
		for _, id := range agent.TaxIdentificationNumber {
			good := id.IdentificationNumber != "" && slices.Contains(taxTypes, id.IDNumberTypeCode) &&
				id.IDNumberEncryptionIndicator == "0" && slices.Contains(taxPurposes, id.IDNumberPurposeCode) &&
				slices.Contains(taxRoles, id.IDNumberCustomerRole)
			switch {
			case !good:
				return flaw("128916", "Missing or invalid TaxIdentificationNumber")
			case agent.AgentRole == "30" && !slices.Contains(consigneeTypes, id.IDNumberTypeCode):
				return flaw("128917", "IDNumberTypeCode of a TaxIdentificationNumber must be 1002, 1005 or 0005 for AgentRole 30")
			}
		}
	}
	return fine()
}
