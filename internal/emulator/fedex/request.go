package fedex

import (
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// The parts of a request that the emulator reads.
type (
	shipment struct {
		Shipper         party
		Recipient       party   // of rates
		Recipients      []party // of a purchase
		PickupType      string
		ServiceType     string
		PackagingType   string
		ShipDatestamp   string // of a purchase
		RateDate        string `json:"shipDateStamp"`
		RateRequestType []string
		Payment         struct {
			PaymentType string
			Payor       struct {
				ResponsibleParty struct{ AccountNumber value }
			}
		} `json:"shippingChargesPayment"`
		Special struct {
			Types  []string                    `json:"specialServiceTypes"`
			Return struct{ ReturnType string } `json:"returnShipmentDetail"`
			ETD    struct {
				Requested  []string `json:"requestedDocumentTypes"`
				Attributes []string `json:"attributes"`
			} `json:"etdDetail"`
			Hold struct{ LocationID string }        `json:"holdAtLocationDetail"`
			COD  struct{ CodCollectionType string } `json:"shipmentCODDetail"`
		} `json:"shipmentSpecialServices"`
		Label  struct{ ImageType, LabelStockType string } `json:"labelSpecification"`
		Papers struct {
			Types []string `json:"shippingDocumentTypes"`
		} `json:"shippingDocumentSpecification"`
		Customs *struct {
			Commodities   []commodity
			DutiesPayment struct {
				PaymentType string
				Payor       *struct {
					ResponsibleParty struct{ AccountNumber value }
				}
			}
			RecipientID *struct{ Type, Value string } `json:"recipientCustomsId"`
			Importer    *party                        `json:"importerOfRecord"`
		} `json:"customsClearanceDetail"`
		Economy struct{ HubID, Indicia string } `json:"smartPostInfoDetail"`
		Pieces  []piece                         `json:"requestedPackageLineItems"`
	}
	value struct{ Value string }
	party struct {
		Contact struct{ PersonName, CompanyName, PhoneNumber string }
		Address place
		Tins    []struct{ Number, TinType, Usage string }
	}
	place struct {
		StreetLines                   []string
		City, PostalCode, CountryCode string
		State                         string `json:"stateOrProvinceCode"`
		Residential                   bool
	}
	weight struct {
		Units string
		Value float64
	}
	money struct {
		Amount   float64
		Currency string
	}
	commodity struct {
		Description, CountryOfManufacture, QuantityUnits string
		Quantity                                         int
		CustomsValue                                     money
		Weight                                           weight
		Purpose                                          string
		Regulatory                                       []struct{ RegulationCode, ProductID, ProductIDType string } `json:"regulatoryDetails"`
	}
	piece struct {
		Weight           weight
		Dimensions       *struct{ Length, Width, Height int }
		SubPackagingType string
		DeclaredValue    *money
		References       []reference `json:"customerReferences"`
		Special          struct {
			Types               []string `json:"specialServiceTypes"`
			SignatureOptionType string
			DryIceWeight        *weight
			AlcoholDetail       struct{ AlcoholRecipientType string }
			Batteries           []any `json:"batteryDetails"`
			Standalone          []any `json:"standaloneBatteryDetails"`
		} `json:"packageSpecialServices"`
	}
	reference struct {
		Type  string `json:"customerReferenceType"`
		Value string `json:"value"`
	}
)

// to returns the destination of the shipment, for either kind of request.
func (s *shipment) to() *party {
	if len(s.Recipients) > 0 {
		return &s.Recipients[0]
	}
	return &s.Recipient
}

// abroad reports whether the shipment crosses a border.
func (s *shipment) abroad() bool { return s.Shipper.Address.CountryCode != s.to().Address.CountryCode }

var union = strings.Fields("AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MC MT NL PL PT RO SE SI SK")

// european reports whether both sides are in the European Union, where no
// customs documents are needed.
func (s *shipment) european() bool {
	return slices.Contains(union, s.Shipper.Address.CountryCode) && slices.Contains(union, s.to().Address.CountryCode)
}

// entersEurope reports whether goods come into the European Union.
func (s *shipment) entersEurope() bool {
	return !slices.Contains(union, s.Shipper.Address.CountryCode) && slices.Contains(union, s.to().Address.CountryCode)
}

// isPaperless reports whether customs gets the documents electronically.
func (s *shipment) isPaperless() bool {
	return slices.Contains(s.Special.Types, "ELECTRONIC_TRADE_DOCUMENTS")
}

// reference returns the value of the first piece's reference of the type.
func (s *shipment) reference(kind string) string {
	for _, given := range s.Pieces[0].References {
		if given.Type == kind {
			return given.Value
		}
	}
	return ""
}

var (
	pickups    = strings.Fields("CONTACT_FEDEX_TO_SCHEDULE DROPOFF_AT_FEDEX_LOCATION USE_SCHEDULED_PICKUP")
	packagings = strings.Fields("YOUR_PACKAGING FEDEX_ENVELOPE FEDEX_BOX FEDEX_SMALL_BOX FEDEX_MEDIUM_BOX FEDEX_LARGE_BOX FEDEX_EXTRA_LARGE_BOX FEDEX_10KG_BOX FEDEX_25KG_BOX FEDEX_PAK FEDEX_TUBE")
	papers     = strings.Fields("PAPER_4X6 PAPER_4X675 PAPER_4X8 PAPER_4X9 PAPER_7X475 PAPER_85X11_TOP_HALF_LABEL PAPER_85X11_BOTTOM_HALF_LABEL PAPER_LETTER")
	payers     = strings.Fields("SENDER RECIPIENT THIRD_PARTY COLLECT")
)

// check returns why FedEx refuses a request for rates, or the part of a
// purchase that has the same form; nil if it accepts it.
func (s *shipment) check() *problem {
	from := s.Shipper.Address
	to := s.to().Address
	switch {
	case !emulator.IsCountry(from.CountryCode) || !emulator.IsCountry(to.CountryCode):
		return &problem{"COUNTRYCODE.INVALID", "Country code is invalid or missing."}
	case !from.hasPostalCode():
		return &problem{"ORIGIN.POSTAL.REQUIRED", "Origin postal code is required."}
	case !to.hasPostalCode():
		return &problem{"DESTINATION.POSTAL.REQUIRED", "Destination postal code is required."}
	case !slices.Contains(pickups, s.PickupType):
		return &problem{"PICKUPTYPE.INVALID", "Pickup type is invalid or missing."}
	case len(s.Pieces) == 0:
		return &problem{"REQUESTEDPACKAGELINEITEMS.REQUIRED", "At least one package is required."}
	case s.abroad() && s.Customs == nil:
		return &problem{"CUSTOMSCLEARANCEDETAIL.REQUIRED", "Customs clearance detail is required for international shipments."}
	case s.abroad() && s.Customs.DutiesPayment.PaymentType == "":
		return &problem{"DUTIESPAYMENT.REQUIRED", "Duties payment is required for international shipments."}
	case from.State != "" && !emulator.IsState(from.CountryCode, from.State), to.State != "" && !emulator.IsState(to.CountryCode, to.State):
		return &problem{"STATEORPROVINCECODE.INVALID", "State or province code is invalid or missing."}
	}

	for _, sent := range s.Pieces {
		if bad := sent.check(s, s.Pieces[0].Weight.Units); bad != nil {
			return bad
		}
	}
	if bad := s.checkSpecials(); bad != nil {
		return bad
	}
	if s.Customs != nil {
		return s.checkCommodities()
	}
	return nil
}

// postalCountries are those that FedEx calls postal aware: their addresses need a
// postal code.
var postalCountries = strings.Fields("AT AU BE BR CA CH CL CN CO CZ DE DK EC EE ES FI FR GB GR HU ID IN IT JP KR LT LU LV MX MY NL NO PH PL PT RO RU SA SE SG SI SK TH TR US ZA")

// hasPostalCode reports whether the place has the postal code that its country
// requires.
func (p place) hasPostalCode() bool {
	if p.CountryCode == "US" {
		return len(p.PostalCode) >= 5
	}
	return p.PostalCode != "" || !slices.Contains(postalCountries, p.CountryCode)
}

// flatPackagings and flatServices are those that have flat rates, with the heaviest
// parcel in pounds.
var (
	flatPackagings = strings.Fields("FEDEX_ENVELOPE FEDEX_PAK FEDEX_SMALL_BOX FEDEX_MEDIUM_BOX FEDEX_LARGE_BOX FEDEX_EXTRA_LARGE_BOX FEDEX_TUBE")
	flatServices   = strings.Fields("FEDEX_EXPRESS_SAVER FEDEX_2_DAY FEDEX_2_DAY_AM STANDARD_OVERNIGHT PRIORITY_OVERNIGHT FIRST_OVERNIGHT")
)

// isOneRate reports whether the shipment is sent at a flat rate.
func (s *shipment) isOneRate() bool { return slices.Contains(s.Special.Types, "FEDEX_ONE_RATE") }

// checkSpecials returns why FedEx refuses the special services: each needs its
// detail, and the location of a hold must exist.
func (s *shipment) checkSpecials() *problem {
	wants := func(types []string, kind string) bool { return slices.Contains(types, kind) }
	isKnown := func(id string) bool {
		return slices.ContainsFunc(spots, func(known spot) bool { return known.id == id })
	}
	switch {
	case s.isOneRate() && (s.Shipper.Address.CountryCode != "US" || s.abroad() || !slices.Contains(flatPackagings, s.PackagingType)):
		return &problem{"SERVICE.PACKAGECOMBINATION.INVALID", "FedEx One Rate is not available with the packaging between these addresses."}
	case wants(s.Special.Types, "HOLD_AT_LOCATION") && !isKnown(s.Special.Hold.LocationID):
		return &problem{"HOLDATLOCATION.LOCATIONID.INVALID", "The hold at location id is invalid or missing."}
	case wants(s.Special.Types, "COD") && s.Special.COD.CodCollectionType == "":
		return &problem{"CODCOLLECTIONTYPE.REQUIRED", "The COD collection type is required."}
	}

	for _, sent := range s.Pieces {
		special := sent.Special
		switch {
		case wants(special.Types, "SIGNATURE_OPTION") && special.SignatureOptionType == "":
			return &problem{"SIGNATUREOPTION.REQUIRED", "The signature option type is required."}
		case wants(special.Types, "DRY_ICE") && (special.DryIceWeight == nil || special.DryIceWeight.Value <= 0):
			return &problem{"DRYICEWEIGHT.REQUIRED", "The weight of the dry ice is required."}
		case wants(special.Types, "ALCOHOL") && special.AlcoholDetail.AlcoholRecipientType == "":
			return &problem{"ALCOHOLRECIPIENTTYPE.REQUIRED", "The alcohol recipient type is required."}
		case wants(special.Types, "BATTERY") && len(special.Batteries) == 0, wants(special.Types, "STANDALONE_BATTERY") && len(special.Standalone) == 0:
			return &problem{"BATTERYDETAILS.REQUIRED", "The details of the batteries are required."}
		}
	}
	return nil
}

func (p *piece) check(s *shipment, units string) *problem {
	limit := 150.0
	switch {
	case s.isOneRate() && s.PackagingType == "FEDEX_ENVELOPE":
		limit = 10
	case s.isOneRate():
		limit = 50
	case units == "KG":
		limit = 68
	}

	switch own := s.PackagingType == "" || s.PackagingType == "YOUR_PACKAGING"; {
	case units != "LB" && units != "KG" || p.Weight.Units != units:
		return &problem{"WEIGHT.UNITS.MISMATCH", "Weight units are invalid or differ between packages."}
	case p.Weight.Value <= 0:
		return &problem{"PACKAGE.WEIGHT.INVALID", "Package weight is invalid or missing."}
	case p.Weight.Value > limit:
		return &problem{"PACKAGE.WEIGHT.EXCEEDED", "Package weight exceeds the maximum of the service."}
	case p.Dimensions != nil && min(p.Dimensions.Length, p.Dimensions.Width, p.Dimensions.Height) < 1:
		return &problem{"PACKAGE.DIMENSIONS.INVALID", "Package dimensions must be whole numbers of 1 or more."}
	case own && s.abroad() && s.to().Address.CountryCode == "CA" && p.SubPackagingType == "":
		return &problem{"SUBPACKAGINGTYPE.REQUIRED", "Sub packaging type is required for shipments to Canada."}
	}
	return nil
}

// checkCommodities returns why FedEx refuses the customs declaration.
func (s *shipment) checkCommodities() *problem {
	if len(s.Customs.Commodities) == 0 {
		return &problem{"COMMODITIES.REQUIRED", "At least one commodity is required."}
	}

	for _, line := range s.Customs.Commodities {
		switch {
		case line.Description == "" || len(line.Description) > 450:
			return &problem{"COMMODITY.DESCRIPTION.INVALID", "Commodity description is invalid or missing."}
		case line.Quantity < 1 || line.QuantityUnits == "":
			return &problem{"COMMODITY.QUANTITY.INVALID", "Commodity quantity is invalid or missing."}
		case len(line.CountryOfManufacture) != 2:
			return &problem{"COUNTRYOFMANUFACTURE.INVALID", "Country of manufacture is invalid or missing."}
		case line.CustomsValue.Amount <= 0 || !knownCurrency(line.CustomsValue.Currency):
			return &problem{"COMMODITY.CUSTOMSVALUE.INVALID", "Commodity customs value is invalid or missing."}
		case line.Weight.Value <= 0 || line.Weight.Units != s.Pieces[0].Weight.Units:
			return &problem{"COMMODITY.WEIGHT.INVALID", "Commodity weight is invalid or in another unit than the packages."}
		}
	}
	return nil
}

// checkSale returns why FedEx refuses a purchase that could be rated; nil if it
// accepts it.
func (s *shipment) checkSale() *problem {
	ordered, known := services[s.ServiceType]
	to := &s.to().Address
	switch own := s.PackagingType == "YOUR_PACKAGING"; {
	case len(s.Recipients) != 1:
		return &problem{"RECIPIENTS.REQUIRED", "Exactly one recipient is required."}
	case !known || !ordered.takes(s), s.isOneRate() && !slices.Contains(flatServices, s.ServiceType):
		return &problem{"SERVICE.TYPE.INVALID", "The service is not available between these addresses."}
	case s.ServiceType == "FEDEX_GROUND" && to.CountryCode == "US" && to.Residential, s.ServiceType == "GROUND_HOME_DELIVERY" && !to.Residential:
		return &problem{"SERVICE.TYPE.RESIDENTIAL.MISMATCH", "The service does not match the residential indicator of the recipient."}
	case !slices.Contains(packagings, s.PackagingType), ordered.ground && !own:
		return &problem{"PACKAGINGTYPE.MISSING.OR.INVALID", "Packaging type is invalid for the service."}
	case s.ServiceType == "SMART_POST" && (s.Economy.HubID != Hub || s.Economy.Indicia == "" || len(s.Pieces) != 1):
		return &problem{"SMARTPOST.HUBID.INVALID", "The hub or indicia is not valid for the account."}
	case slices.Contains(s.Special.Types, "RETURN_SHIPMENT") && s.Special.Return.ReturnType != "PRINT_RETURN_LABEL":
		return &problem{"RETURNSHIPMENTDETAIL.RETURNTYPE.INVALID", "Return type is invalid or missing."}
	case !slices.Contains(payers, s.Payment.PaymentType):
		return &problem{"PAYMENTTYPE.REQUIRED", "Payment type is invalid or missing."}
	case s.Payment.PaymentType != "SENDER" && len(s.Payment.Payor.ResponsibleParty.AccountNumber.Value) != 9:
		return &problem{"PAYOR.ACCOUNTNUMBER.REQUIRED", "The payor's account number is required."}
	case s.Label.ImageType != "PNG":
		return &problem{"LABEL.IMAGETYPE.INVALID", "This emulator draws PNG alone."}
	case !slices.Contains(papers, s.Label.LabelStockType):
		return &problem{"LABELSTOCKTYPE.INVALID", "The label stock type does not go with the image type."}
	case len(s.Pieces) > 40:
		return &problem{"SHIPMENT.PACKAGECOUNT.EXCEEDED", "Synchronous processing allows 40 packages."}
	}

	for _, side := range []*party{&s.Shipper, s.to()} {
		if bad := side.check(); bad != nil {
			return bad
		}
	}
	return nil
}

// check returns why FedEx refuses one party of a purchase.
func (p *party) check() *problem {
	address := &p.Address
	contact := &p.Contact
	isAmerican := address.CountryCode == "US" || address.CountryCode == "CA" || address.CountryCode == "PR"
	phone := strings.TrimPrefix(strings.TrimPrefix(contact.PhoneNumber, "+"), "1")

	switch _, err := strconv.ParseUint(phone, 10, 64); {
	case len(address.StreetLines) == 0 || len(address.StreetLines) > 3:
		return &problem{"STREETLINES.INVALID", "One to three street lines are required."}
	case slices.ContainsFunc(address.StreetLines, func(l string) bool { return len([]rune(l)) > 35 }):
		return &problem{"STREETLINE.TOOLONG", "A street line has 35 characters at most."}
	case address.City == "" || len([]rune(address.City)) > 35:
		return &problem{"CITY.INVALID", "City is invalid or missing."}
	case isAmerican && len(address.State) != 2 || !emulator.IsState(address.CountryCode, address.State):
		return &problem{"STATEORPROVINCECODE.INVALID", "State or province code is invalid or missing."}
	case contact.PersonName == "" && contact.CompanyName == "":
		return &problem{"CONTACT.NAME.REQUIRED", "A person or company name is required."}
	case len([]rune(contact.CompanyName)) > 35 || len([]rune(contact.PersonName)) > 70:
		return &problem{"CONTACT.NAME.TOOLONG", "A name is too long."}
	case err != nil || isAmerican && len(phone) != 10 || len(phone) > 15:
		return &problem{"PHONENUMBER.INVALID", "Phone number is invalid or missing."}
	}
	return nil
}
