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

// undeclarable is what FedEx says to the papers and references of a purchase
// that could be sold otherwise; nil if they are fine.
func (s *shipment) undeclarable(account string) *problem {
	if bad := s.badReferences(); bad != nil {
		return bad
	}
	for _, p := range []*party{&s.Shipper, s.to()} {
		if bad := p.badTaxNumbers(); bad != nil {
			return bad
		}
	}
	if bad := s.badPaperless(account); bad != nil || s.Customs == nil {
		return bad
	}

	c := s.Customs
	payor := ""
	if c.DutiesPayment.Payor != nil {
		payor = c.DutiesPayment.Payor.ResponsibleParty.AccountNumber.Value
	}
	switch kind := c.DutiesPayment.PaymentType; {
	case kind == "RECIPIENT" && c.DutiesPayment.Payor != nil && len(payor) != 9, kind == "SENDER" && payor != account, kind == "THIRD_PARTY" && len(payor) != 9:
		return &problem{"ACCOUNT.NUMBER.INVALID", "The account number of the payor of duties is invalid."}
	case !slices.Contains(payers, kind):
		return &problem{"DUTIESPAYMENT.PAYMENTTYPE.INVALID", "The payment type of duties is invalid."}
	case c.RecipientID != nil && (!slices.Contains(idTypes, c.RecipientID.Type) || c.RecipientID.Value == ""):
		return &problem{"RECIPIENTCUSTOMSID.INVALID", "The recipient's customs id is invalid."}
	}
	if c.Importer != nil {
		if bad := c.Importer.wrong(); bad != nil {
			return bad
		}
		if bad := c.Importer.badTaxNumbers(); bad != nil {
			return bad
		}
	}
	for i := range c.Commodities {
		if bad := c.Commodities[i].badImport(s); bad != nil {
			return bad
		}
	}
	return nil
}

// badReferences is what is wrong with the references of packages.
func (s *shipment) badReferences() *problem {
	for _, p := range s.Pieces {
		for _, r := range p.References {
			limit := 30
			if r.Type == "CUSTOMER_REFERENCE" && !services[s.ServiceType].ground {
				limit = 40
			}
			if !slices.ContainsFunc(printed, func(known struct{ kind, name string }) bool { return known.kind == r.Type }) {
				return &problem{"CUSTOMERREFERENCETYPE.INVALID", "The type of a customer reference is invalid."}
			}
			if len([]rune(r.Value)) > limit {
				return &problem{"CUSTOMERREFERENCE.VALUE.TOOLONG", "A customer reference is too long."}
			}
		}
	}
	return nil
}

// badTaxNumbers is what is wrong with the tax numbers of a party.
func (p *party) badTaxNumbers() *problem {
	for _, t := range p.Tins {
		if t.Number == "" || len(t.Number) > 18 || !slices.Contains(tinTypes, t.TinType) {
			return &problem{"TINS.NUMBER.INVALID", "A tax identification number is invalid."}
		}
	}
	return nil
}

// badPaperless is what is wrong with electronic papers.
func (s *shipment) badPaperless(account string) *problem {
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

// badImport is what is wrong with what the destination asks of a line. The
// numbers of products are known on the way into the European Union alone.
func (c *commodity) badImport(s *shipment) *problem {
	if c.Purpose != "" && c.Purpose != "BUSINESS" && c.Purpose != "CONSUMER" {
		return &problem{"COMMODITY.PURPOSE.INVALID", "Commodity purpose is invalid."}
	}
	if len(c.Regulatory) > 0 && !s.entersEurope() {
		return &problem{"INVALID.INPUT.EXCEPTION", "Invalid field value in the input: regulatoryDetails."}
	}
	for _, r := range c.Regulatory {
		if r.RegulationCode != "EU_DE_MINIMIS" || r.ProductID == "" || !slices.Contains(productTypes, r.ProductIDType) {
			return &problem{"COMMODITY.REGULATORYDETAILS.INVALID", "The regulatory details of a commodity are invalid."}
		}
	}
	return nil
}
