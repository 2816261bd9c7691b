package fedex

import (
	"slices"
	"strings"
)

var (
	tinTypes     = strings.Fields("PERSONAL_NATIONAL PERSONAL_STATE FEDERAL BUSINESS_NATIONAL BUSINESS_STATE BUSINESS_UNION")
	productTypes = strings.Fields("SKU PART_NUMBER GTIN UPC EAN MPN OTHER")
	idTypes      = strings.Fields("COMPANY INDIVIDUAL PASSPORT")
)

// checkDeclaration returns why FedEx refuses the documents and references of an
// otherwise valid purchase; nil if it accepts them.
func (s *shipment) checkDeclaration(account string) *problem {
	if bad := s.checkReferences(); bad != nil {
		return bad
	}
	for _, side := range []*party{&s.Shipper, s.to()} {
		if bad := side.checkTaxNumbers(); bad != nil {
			return bad
		}
	}
	if bad := s.checkPaperless(account); bad != nil || s.Customs == nil {
		return bad
	}

	customs := s.Customs
	payor := ""
	if customs.DutiesPayment.Payor != nil {
		payor = customs.DutiesPayment.Payor.ResponsibleParty.AccountNumber.Value
	}
	switch kind := customs.DutiesPayment.PaymentType; {
	case kind == "RECIPIENT" && customs.DutiesPayment.Payor != nil && len(payor) != 9, kind == "SENDER" && payor != account, kind == "THIRD_PARTY" && len(payor) != 9:
		return &problem{"ACCOUNT.NUMBER.INVALID", "The account number of the payor of duties is invalid."}
	case !slices.Contains(payers, kind):
		return &problem{"DUTIESPAYMENT.PAYMENTTYPE.INVALID", "The payment type of duties is invalid."}
	case customs.RecipientID != nil && (!slices.Contains(idTypes, customs.RecipientID.Type) || customs.RecipientID.Value == ""):
		return &problem{"RECIPIENTCUSTOMSID.INVALID", "The recipient's customs id is invalid."}
	}

	if customs.Importer != nil {
		if bad := customs.Importer.check(); bad != nil {
			return bad
		}
		if bad := customs.Importer.checkTaxNumbers(); bad != nil {
			return bad
		}
	}
	for i := range customs.Commodities {
		if bad := customs.Commodities[i].checkImport(s); bad != nil {
			return bad
		}
	}
	return nil
}

// checkReferences returns why FedEx refuses the references of packages.
func (s *shipment) checkReferences() *problem {
	for _, sent := range s.Pieces {
		for _, given := range sent.References {
			limit := 30
			if given.Type == "CUSTOMER_REFERENCE" && !services[s.ServiceType].ground {
				limit = 40
			}
			if !slices.ContainsFunc(printed, func(known struct{ kind, name string }) bool { return known.kind == given.Type }) {
				return &problem{"CUSTOMERREFERENCETYPE.INVALID", "The type of a customer reference is invalid."}
			}
			if len([]rune(given.Value)) > limit {
				return &problem{"CUSTOMERREFERENCE.VALUE.TOOLONG", "A customer reference is too long."}
			}
		}
	}
	return nil
}

// checkTaxNumbers returns why FedEx refuses the tax numbers of a party.
func (p *party) checkTaxNumbers() *problem {
	for _, tin := range p.Tins {
		if tin.Number == "" || len(tin.Number) > 18 || !slices.Contains(tinTypes, tin.TinType) {
			return &problem{"TINS.NUMBER.INVALID", "A tax identification number is invalid."}
		}
	}
	return nil
}

// checkPaperless returns why FedEx refuses electronic documents.
func (s *shipment) checkPaperless(account string) *problem {
	switch {
	case !s.isPaperless():
		return nil
	case account == UnenrolledAccount:
		return &problem{"ETD.NOT.ALLOWED", "Electronic trade documents are not allowed for the account. Please enroll."}
	case !s.abroad():
		return &problem{"ETD.NOT.ALLOWED", "Electronic trade documents are for international shipments."}
	case !slices.Contains(s.Special.ETD.Requested, "COMMERCIAL_INVOICE") || !slices.Contains(s.Papers.Types, "COMMERCIAL_INVOICE"):
		return &problem{"ETDDETAIL.REQUIRED", "Electronic trade documents need a document."}
	}
	return nil
}

// checkImport returns why FedEx refuses a line because of the destination's
// import rules. Product identifiers are known only for goods that enter the
// European Union.
func (c *commodity) checkImport(s *shipment) *problem {
	if c.Purpose != "" && c.Purpose != "BUSINESS" && c.Purpose != "CONSUMER" {
		return &problem{"COMMODITY.PURPOSE.INVALID", "Commodity purpose is invalid."}
	}
	if len(c.Regulatory) > 0 && !s.entersEurope() {
		return &problem{"INVALID.INPUT.EXCEPTION", "Invalid field value in the input: regulatoryDetails."}
	}
	for _, detail := range c.Regulatory {
		if detail.RegulationCode != "EU_DE_MINIMIS" || detail.ProductID == "" || !slices.Contains(productTypes, detail.ProductIDType) {
			return &problem{"COMMODITY.REGULATORYDETAILS.INVALID", "The regulatory details of a commodity are invalid."}
		}
	}
	return nil
}
