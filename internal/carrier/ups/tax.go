package ups

import (
	"cmp"

	"github.com/waybillhq/waybill/internal/ship"
)

// UPS's codes of tax identifiers.
const (
	taxUnknown     = "0000"
	taxEORI        = "0002" // with the purpose of an EORI
	taxPersonal    = "0005"
	taxBusiness    = "1002"
	taxNational    = "1003"
	taxPassport    = "1004"
	taxPersonalID  = "1005"
	purposeTax     = "01"
	purposeEORI    = "02"
	agentShipFrom  = "20"
	agentConsignee = "30"
	roleImporter   = "05"
	roleExporter   = "06"
	roleReceiver   = "18"
	roleShipper    = "37"

	maxTaxNumbers   = 8 // of one agent
	maxVendorNumber = 35
)

// senderTaxCodes are UPS's codes for the numbers of a sender. UPS has no codes
// for the others.
var senderTaxCodes = map[string]string{
	"eori":        taxEORI,
	"vat":         taxBusiness,
	"ein":         taxBusiness,
	"gst":         taxBusiness,
	"abn":         taxBusiness,
	"arn":         taxBusiness,
	"ird":         taxBusiness,
	"pan":         taxBusiness,
	"cnpj":        taxBusiness,
	"cpf":         taxPersonal,
	"national_id": taxNational,
	"passport":    taxPassport,
}

// consigneeTaxCodes are the same for recipients and importers, of whom UPS
// takes only business, personal tax and personal numbers: their EORI is a
// business number.
var consigneeTaxCodes = map[string]string{
	"eori":        taxBusiness,
	"cpf":         taxPersonal,
	"national_id": taxPersonalID,
	"passport":    taxPersonalID,
}

// globalTax returns what identifies the parties to customs, and creates it if
// there is none yet.
func (w *draft) globalTax() *globalTax {
	if w.shipment.GlobalTaxInformation == nil {
		w.shipment.GlobalTaxInformation = &globalTax{}
	}
	return w.shipment.GlobalTaxInformation
}

// addTaxNumbers puts the tax identifiers of the declaration where UPS takes
// them: registrations under which the seller has collected the tax with the
// vendor, all others with the party.
func (w *draft) addTaxNumbers() {
	byAgent := map[string][]taxNumber{}
	for _, id := range w.order.Customs.TaxNumbers() {
		if code := w.vendorCode(id); code != "" {
			w.addVendor(code, id.Number)
			continue
		}
		if isVendorOnly(id.Type) {
			continue // a registration in a market that this shipment does not go to
		}

		agent, number := w.taxNumber(id)
		if len(byAgent[agent]) == maxTaxNumbers {
			w.refuse("/customs/taxIdentifiers", "too_long", "UPS accepts at most %d tax identifiers per party", maxTaxNumbers)
			return
		}
		byAgent[agent] = append(byAgent[agent], number)
	}

	for _, agent := range []string{agentShipFrom, agentConsignee} {
		if numbers := byAgent[agent]; len(numbers) > 0 {
			tax := w.globalTax()
			tax.AgentTaxIdentificationNumber = append(tax.AgentTaxIdentificationNumber, agentTax{
				AgentRole:               agent,
				TaxIdentificationNumber: numbers,
			})
		}
	}
}

// taxNumber returns an identifier in UPS's words, and the party that it belongs
// to.
func (w *draft) taxNumber(id ship.TaxIdentifier) (agent string, _ taxNumber) {
	number := taxNumber{
		IdentificationNumber:                   id.Number,
		IDNumberEncryptionIndicator:            "0",
		IDNumberPurposeCode:                    purposeTax,
		IDNumberIssuingCntryCd:                 id.Country,
		IncludeIDNumberOnShippingBrokerageDocs: "01",
	}
	if id.Type == "eori" {
		number.IDNumberPurposeCode = purposeEORI
	}

	if id.Party == "sender" {
		number.IDNumberTypeCode = cmp.Or(senderTaxCodes[id.Type], taxUnknown)
		number.IDNumberCustomerRole = roleShipper
		if id.Type == "eori" {
			number.IDNumberCustomerRole = roleExporter
		}
		number.IDNumberRequestingCntryCd = w.from
		return agentShipFrom, number
	}

	number.IDNumberTypeCode = consigneeTaxCodes[id.Type]
	if number.IDNumberTypeCode == "" {
		number.IDNumberTypeCode = taxBusiness
		if id.Type == "other" && w.consigneeType() == partyConsumer {
			number.IDNumberTypeCode = taxPersonal
		}
	}
	number.IDNumberCustomerRole = roleReceiver
	if id.Party == "importer" {
		number.IDNumberCustomerRole = roleImporter
	}
	number.IDNumberRequestingCntryCd = w.to
	return agentConsignee, number
}

// isVendorOnly reports whether identifiers of the type are registrations that
// say that the tax of one market is collected already.
func isVendorOnly(kind string) bool { return kind == "ioss" || kind == "voec" }

// vendorCode returns UPS's code of a registration under which the sender has
// collected the tax of the destination; empty for all other numbers.
func (w *draft) vendorCode(id ship.TaxIdentifier) string {
	if id.Party != "sender" {
		return ""
	}

	switch {
	case id.Type == "ioss" && w.entersEU:
		return "0356"
	case id.Type == "voec" && w.to == "NO":
		return "0357"
	case id.Type == "gst" && w.to == "SG" && id.Country == "SG":
		return "1051"
	case id.Type == "arn" && w.to == "AU":
		return "1052"
	case id.Type == "ird" && w.to == "NZ":
		return "1053"
	}
	return ""
}

// addVendor adds the registration to the place that the parcel comes from,
// where UPS looks for it. The contact that UPS can print with an IOSS number is
// the one registered with the tax office, which the order does not have.
func (w *draft) addVendor(code, number string) {
	shipment := &w.shipment
	if shipment.ShipFrom != nil && shipment.ShipFrom.VendorInfo != nil {
		w.refuse("/customs/taxIdentifiers", "too_long", "UPS accepts only one tax registration of the seller")
		return
	}
	if len(number) > maxVendorNumber {
		w.refuse("/customs/taxIdentifiers", "too_long", "UPS accepts registration numbers of at most %d characters", maxVendorNumber)
		return
	}

	if shipment.ShipFrom == nil {
		from := shipment.Shipper
		from.ShipperNumber = ""
		shipment.ShipFrom = &from
	}
	shipment.ShipFrom.VendorInfo = &vendor{
		VendorCollectIDTypeCode: code,
		VendorCollectIDNumber:   number,
		ConsigneeType:           w.consigneeType(),
	}
}
