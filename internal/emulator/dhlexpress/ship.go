package dhlexpress

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// shipment is the part of a purchase that the emulator reads.
type shipment struct {
	PlannedShippingDateAndTime string `json:"plannedShippingDateAndTime"`
	Pickup                     struct {
		IsRequested bool `json:"isRequested"`
	} `json:"pickup"`
	ProductCode           string    `json:"productCode"`
	LocalProductCode      string    `json:"localProductCode"`
	GetRateEstimates      bool      `json:"getRateEstimates"`
	Accounts              []account `json:"accounts"`
	ValueAddedServices    []extra   `json:"valueAddedServices"`
	OutputImageProperties struct {
		EncodingFormat        string `json:"encodingFormat"`
		SplitDocumentsByPages bool   `json:"splitDocumentsByPages"`
		ImageOptions          []struct {
			TypeCode      string `json:"typeCode"`
			IsRequested   bool   `json:"isRequested"`
			TemplateName  string `json:"templateName"`
			LabelFreeText string `json:"labelFreeText"`
		} `json:"imageOptions"`
	} `json:"outputImageProperties"`
	CustomerReferences []reference `json:"customerReferences"`
	CustomerDetails    struct {
		ShipperDetails  party  `json:"shipperDetails"`
		ReceiverDetails party  `json:"receiverDetails"`
		ImporterDetails *party `json:"importerDetails"`
		BuyerDetails    *party `json:"buyerDetails"`
	} `json:"customerDetails"`
	OnDemandDelivery *struct {
		DeliveryOption string `json:"deliveryOption"`
		ServicePointID string `json:"servicePointId"`
	} `json:"onDemandDelivery"`
	DocumentImages []struct {
		TypeCode string `json:"typeCode"`
	} `json:"documentImages"`
	Content struct {
		Packages            []parcel `json:"packages"`
		IsCustomsDeclarable bool     `json:"isCustomsDeclarable"`
		ExportDeclaration   struct {
			LineItems []struct {
				Description string      `json:"description"`
				Price       json.Number `json:"price"`
			} `json:"lineItems"`
		} `json:"exportDeclaration"`
		Description       string `json:"description"`
		UnitOfMeasurement string `json:"unitOfMeasurement"`
	} `json:"content"`
	EstimatedDeliveryDate struct {
		IsRequested bool `json:"isRequested"`
	} `json:"estimatedDeliveryDate"`
}

type reference struct {
	Value    string `json:"value"`
	TypeCode string `json:"typeCode"`
}

type party struct {
	PostalAddress struct {
		place
		AddressLine1 string `json:"addressLine1"`
	} `json:"postalAddress"`
	ContactInformation struct {
		CompanyName string `json:"companyName"`
		FullName    string `json:"fullName"`
	} `json:"contactInformation"`
	TypeCode            string `json:"typeCode"`
	RegistrationNumbers []struct {
		TypeCode          string `json:"typeCode"`
		Number            string `json:"number"`
		IssuerCountryCode string `json:"issuerCountryCode"`
	} `json:"registrationNumbers"`
}

// The types of a party, and of its registration numbers.
var (
	partyTypes = strings.Fields("business direct_consumer government other private reseller")
	taxTypes   = strings.Fields("VAT EIN GST SSN EOR DUN FED STA CNP IE INN KPP OGR OKP MRN SDT FTZ DAN TAN DTF RGP DLI NID PAS MID IMS EIC FTN CIC PEP")
)

// check returns the errors of DHL's schema about a party, at its path in the
// request.
func (p party) check(pointer string) (invalid []string) {
	if p.TypeCode != "" && !slices.Contains(partyTypes, p.TypeCode) {
		invalid = append(invalid, fmt.Sprintf("%s/typeCode: %s is not a valid enum value", pointer, p.TypeCode))
	}

	for i, registration := range p.RegistrationNumbers {
		path := fmt.Sprintf("%s/registrationNumbers/%d", pointer, i)
		if !slices.Contains(taxTypes, registration.TypeCode) {
			invalid = append(invalid, path+"/typeCode: "+registration.TypeCode+" is not a valid enum value")
		}
		if length := len([]rune(registration.Number)); length < 1 || length > 35 {
			invalid = append(invalid, fmt.Sprintf("%s/number: expected maxLength: 35, actual: %d", path, length))
		}
		if len(registration.IssuerCountryCode) != 2 {
			invalid = append(invalid, path+"/issuerCountryCode: expected minLength: 2")
		}
	}
	return invalid
}

// kept is the part of a sale that tracking needs.
type kept struct {
	Product    string      `json:"product"`
	From       place       `json:"from"`
	To         place       `json:"to"`
	Planned    string      `json:"planned"`
	Arrival    string      `json:"arrival"`
	Content    string      `json:"content"`
	References []reference `json:"references"`
	Weights    []float64   `json:"weights"`
	Dutiable   bool        `json:"dutiable,omitempty"`
	Paperless  bool        `json:"paperless,omitempty"`
	Pieces     []string    `json:"pieces"`
}

// ship answers POST /shipments.
func (s standIn) ship(w http.ResponseWriter, r *http.Request) {
	var in shipment
	doc, invalid := read(r, &in)
	if invalid == nil {
		details := in.CustomerDetails
		invalid = append(checkMembers("shipments", doc), schemaErrors(doc, in.Content.IsCustomsDeclarable)...)
		invalid = append(invalid, details.ShipperDetails.check("#/customerDetails/shipperDetails")...)
		invalid = append(invalid, details.ReceiverDetails.check("#/customerDetails/receiverDetails")...)
		invalid = append(invalid, in.checkPoint()...)
		invalid = append(invalid, in.checkGoods()...)
		if details.ImporterDetails != nil {
			invalid = append(invalid, details.ImporterDetails.check("#/customerDetails/importerDetails")...)
		}
	}
	if invalid != nil {
		refuse(w, r, http.StatusUnprocessableEntity, invalid...)
		return
	}

	// Errors that the schema does not cover have another status.
	l := in.load()
	i := slices.IndexFunc(offers, func(o offer) bool { return o.code == in.ProductCode && o.serves(l) })
	isOffered := i >= 0 && in.hasLocalCode(offers[i], l)
	if invalid = in.check(time.Now(), l, isOffered); invalid != nil {
		refuse(w, r, http.StatusBadRequest, invalid...)
		return
	}
	if s.Refuses() {
		s.Fail(w, http.StatusBadRequest)
		return
	}

	// i is the index of an offer here: a product that is not offered was
	// refused above.
	sale := s.sale(in, l, offers[i])
	s.Sell(w, r, sale, func(sold emulator.Entry) (int, string, []byte) {
		return http.StatusCreated, "application/json", encode(in.answer(sold, l, offers[i]))
	})
}

// goodsContents are the ids of dangerous goods by the services that declare them.
var goodsContents = map[string]string{"HC": "901", "HD": "966", "HV": "967", "HM": "969", "HW": "970"}

// checkGoods returns the errors about dangerous goods: each service for them names
// its contents.
func (in shipment) checkGoods() (invalid []string) {
	for _, service := range in.ValueAddedServices {
		content := goodsContents[service.ServiceCode]
		switch {
		case content == "":
		case len(service.Goods) != 1 || service.Goods[0].ContentID != content:
			invalid = append(invalid, "#/valueAddedServices: the content id of "+service.ServiceCode+" is "+content)
		case service.ServiceCode == "HC" && service.Goods[0].IceWeight <= 0:
			invalid = append(invalid, "#/valueAddedServices: required key [dryIceTotalNetWeight] not found")
		}
	}
	return invalid
}

// checkPoint returns the errors of DHL's schema about a delivery to a service
// point: its id, and the buyer who collects the parcel.
func (in shipment) checkPoint() (invalid []string) {
	demand := in.OnDemandDelivery
	if demand == nil {
		return nil
	}
	if demand.DeliveryOption != "servicepoint" {
		invalid = append(invalid, "#/onDemandDelivery/deliveryOption: the emulator knows servicepoint")
	}
	if len(demand.ServicePointID) < 1 || len(demand.ServicePointID) > 6 {
		invalid = append(invalid, "#/onDemandDelivery/servicePointId: expected maxLength: 6")
	}
	if in.CustomerDetails.BuyerDetails == nil {
		return append(invalid, "#/customerDetails: required key [buyerDetails] not found")
	}
	return append(invalid, in.CustomerDetails.BuyerDetails.check("#/customerDetails/buyerDetails")...)
}

// hasLocalCode reports whether the local code of the product is right. It can
// be left out except for the domestic products of some countries.
func (in shipment) hasLocalCode(o offer, l load) bool {
	local := o.localCode(l)
	return in.LocalProductCode == local || in.LocalProductCode == "" && local == o.code
}

// hasInvoice reports whether an invoice is rendered or comes with the request.
func (in shipment) hasInvoice() bool {
	for _, option := range in.OutputImageProperties.ImageOptions {
		if option.TypeCode == "invoice" && option.IsRequested {
			return true
		}
	}
	for _, image := range in.DocumentImages {
		if image.TypeCode == "INV" || image.TypeCode == "PNV" || image.TypeCode == "CIN" {
			return true
		}
	}
	return false
}

// schemaErrors returns what is missing or of the wrong size in a purchase, besides its
// members.
func schemaErrors(doc map[string]any, dutiable bool) (invalid []string) {
	if dutiable {
		invalid = missing(doc, "#", "content.exportDeclaration", "content.declaredValue", "content.declaredValueCurrency")
	}
	return append(invalid, invalidSizes(doc, "#")...)
}

func (in shipment) load() load {
	return load{
		from:     in.CustomerDetails.ShipperDetails.PostalAddress.place,
		to:       in.CustomerDetails.ReceiverDetails.PostalAddress.place,
		dutiable: in.Content.IsCustomsDeclarable,
		imperial: in.Content.UnitOfMeasurement == "imperial",
		planned:  in.PlannedShippingDateAndTime,
		extras:   in.ValueAddedServices,
		packages: in.Content.Packages,
	}
}

// check returns DHL's errors about a purchase that is complete but invalid.
func (in shipment) check(now time.Time, l load, isOffered bool) (invalid []string) {
	if text := invalidDate(in.PlannedShippingDateAndTime, now); text != "" {
		invalid = append(invalid, text)
	}
	if !slices.Contains(in.Accounts, account{"shipper", Account}) {
		invalid = append(invalid, "8007: The shipper account number is not found or invalid.")
	}
	if !isOffered {
		invalid = append(invalid, fmt.Sprintf("996: The requested product(s) (%s) not available based on your search criteria.", in.ProductCode))
	}

	// DHL refuses descriptions of goods that are too general.
	for i, item := range in.Content.ExportDeclaration.LineItems {
		if slices.Contains([]string{"goods", "stuff", "items", "parcel"}, strings.ToLower(item.Description)) {
			invalid = append(invalid, fmt.Sprintf("7147: The export line item description #/content/exportdeclaration/lineitems/%d/description "+
				"Match Keyword[Description:%s]. Please update the description and retry.", i+1, strings.ToUpper(item.Description)))
		}
	}

	// WY is paperless trade, which needs the invoice as data.
	if i := slices.IndexFunc(in.ValueAddedServices, func(e extra) bool { return e.ServiceCode == "WY" }); i >= 0 {
		switch {
		case !l.hasPaperless():
			invalid = append(invalid, fmt.Sprintf("7008: The requested Special Service Code  #/valueAddedServices/%d/serviceCode 'WY' is not available between this origin and destination.", i))
		case !in.hasInvoice():
			invalid = append(invalid, "7120: Required either #/outputImageProperties/imageOptions where typeCode=invoice or provide #/documentImages")
		}
	}

	if i := slices.IndexFunc(in.ValueAddedServices, func(e extra) bool { return e.ServiceCode == "PT" }); i >= 0 && !l.hasStaging() {
		invalid = append(invalid, fmt.Sprintf("7008: The requested Special Service Code  #/valueAddedServices/%d/serviceCode 'PT' is not available between this origin and destination.", i))
	}
	if format := in.OutputImageProperties.EncodingFormat; format != "" && format != "pdf" {
		invalid = append(invalid, "1506: This emulator makes PDF labels alone.")
	}
	return append(invalid, unknownExtras(in.ValueAddedServices)...)
}

// sale returns the ledger entry of the purchase.
func (s standIn) sale(in shipment, l load, o offer) emulator.Entry {
	serial := s.Ledger.Next()
	amount, currency := o.price(l)
	entry := emulator.Entry{
		Number:   waybill(serial),
		Service:  in.ProductCode,
		Account:  Account,
		Amount:   amount.String(),
		Currency: currency,
	}

	// The first reference of type CU, or of none, is the sale's own reference;
	// one of the others is kept beside it.
	for _, given := range in.CustomerReferences {
		switch {
		case entry.Reference == "" && (given.TypeCode == "CU" || given.TypeCode == ""):
			entry.Reference = given.Value
		case entry.Second == "":
			entry.Second = given.Value
		}
	}

	k := kept{
		Product:    in.ProductCode,
		From:       l.from,
		To:         l.to,
		Planned:    l.planned,
		Content:    in.Content.Description,
		References: in.CustomerReferences,
		Dutiable:   l.dutiable,
		Paperless:  slices.ContainsFunc(in.ValueAddedServices, func(e extra) bool { return e.ServiceCode == "WY" }),
	}
	k.Arrival, _ = o.arrival(l)
	for i, p := range l.packages {
		k.Weights = append(k.Weights, p.Weight)
		k.Pieces = append(k.Pieces, pieceID(serial, i))
	}

	if len(k.Pieces) > 1 {
		entry.Pieces = k.Pieces
	}
	entry.Kept = encode(k)
	return entry
}

// answer returns DHL's answer to a purchase. It does not repeat the reference.
func (in shipment) answer(sale emulator.Entry, l load, o offer) map[string]any {
	const site = "https://express.api.dhl.com/mydhlapi/shipments/"
	k := keptOf(sale)
	var packages []any
	for i, id := range k.Pieces {
		packages = append(packages, map[string]any{
			"referenceNumber": i + 1,
			"trackingNumber":  id,
			"trackingUrl":     site + sale.Number + "/tracking?pieceTrackingNumber=" + id,
		})
	}
	body := map[string]any{
		"shipmentTrackingNumber": sale.Number,
		"trackingUrl":            site + sale.Number + "/tracking",
		"packages":               packages,
		"documents":              in.documents(sale, k),
	}

	if in.GetRateEstimates {
		amount, currency := o.price(l)
		body["shipmentCharges"] = []any{map[string]any{"currencyType": "BILLC", "priceCurrency": currency, "price": amount}}
	}
	if in.EstimatedDeliveryDate.IsRequested {
		body["estimatedDeliveryDate"] = map[string]any{"estimatedDeliveryDate": k.Arrival + "Z", "estimatedDeliveryType": "QDDC"}
	}
	if in.Pickup.IsRequested {
		body["dispatchConfirmationNumber"] = "PRG" + sale.Number
	}
	return body
}

// documents returns the documents that were asked for; the label always is.
func (in shipment) documents(sale emulator.Entry, k kept) []any {
	from := in.CustomerDetails.ShipperDetails
	to := in.CustomerDetails.ReceiverDetails
	freeText := in.freeText()
	labels := make([]emulator.Page, len(k.Pieces))
	for i, id := range k.Pieces {
		labels[i] = labelPage(sale, k, id, i, from, to)
		if freeText != "" {
			labels[i].Text(16, 232, 8, "%s", freeText)
		}
	}

	var list []any
	add := func(kind string, piece int, pages ...emulator.Page) {
		document := map[string]any{"imageFormat": "PDF", "content": emulator.PDF(pages...), "typeCode": kind}
		if piece > 0 {
			document["packageReferenceNumber"] = piece
		}
		list = append(list, document)
	}

	// Each label is a document of its own, or a page of one.
	if in.OutputImageProperties.SplitDocumentsByPages {
		for i, label := range labels {
			add("label", i+1, label)
		}
	} else {
		add("label", 0, labels...)
	}
	for _, option := range in.OutputImageProperties.ImageOptions {
		switch {
		case option.TypeCode == "waybillDoc" && option.IsRequested:
			add("waybillDoc", 0, labelPage(sale, k, sale.Number, 0, from, to))
		case option.TypeCode == "invoice" && option.IsRequested:
			add("invoice", 0, in.invoicePage(sale, k))
		}
	}
	return list
}

// freeText returns what the client has printed on the label; not every template
// has space for it.
func (in shipment) freeText() string {
	for _, option := range in.OutputImageProperties.ImageOptions {
		if option.TypeCode == "label" && option.TemplateName == "ECOM26_A6_002" {
			return option.LabelFreeText
		}
	}
	return ""
}

func keptOf(e emulator.Entry) (k kept) {
	if err := json.Unmarshal(e.Kept, &k); err != nil {
		panic(err) // this package wrote the ledger entry
	}
	return k
}

// waybill returns a number of ten digits; the last is the remainder of the
// others modulo seven.
func waybill(serial int) string {
	number := 213_000_000 + serial
	return padded(number, 9) + padded(number%7, 1)
}

// pieceID returns the number of one piece.
func pieceID(serial, piece int) string { return "JD0146" + padded(serial*1000+piece, 14) }

// padded returns n as text with at least the given number of digits.
func padded(n, places int) string { return fmt.Sprintf("%0*d", places, n) }
