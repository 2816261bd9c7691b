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

// shipment is what the stand-in reads of a purchase.
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
	} `json:"customerDetails"`
	DocumentImages []struct {
		TypeCode string `json:"typeCode"`
	} `json:"documentImages"`
	Content struct {
		Packages            []pack `json:"packages"`
		IsCustomsDeclarable bool   `json:"isCustomsDeclarable"`
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

// What a party can be, and the types of its registration numbers.
var (
	partyTypes = strings.Fields("business direct_consumer government other private reseller")
	taxTypes   = strings.Fields("VAT EIN GST SSN EOR DUN FED STA CNP IE INN KPP OGR OKP MRN SDT FTZ DAN TAN DTF RGP DLI NID PAS MID IMS EIC FTN CIC PEP")
)

// wrong is what the schema says of a party, at its path in the request.
func (p party) wrong(at string) (list []string) {
	if p.TypeCode != "" && !slices.Contains(partyTypes, p.TypeCode) {
		list = append(list, fmt.Sprintf("%s/typeCode: %s is not a valid enum value", at, p.TypeCode))
	}
	for i, n := range p.RegistrationNumbers {
		path := fmt.Sprintf("%s/registrationNumbers/%d", at, i)
		if !slices.Contains(taxTypes, n.TypeCode) {
			list = append(list, path+"/typeCode: "+n.TypeCode+" is not a valid enum value")
		}
		if size := len([]rune(n.Number)); size < 1 || size > 35 {
			list = append(list, fmt.Sprintf("%s/number: expected maxLength: 35, actual: %d", path, size))
		}
		if len(n.IssuerCountryCode) != 2 {
			list = append(list, path+"/issuerCountryCode: expected minLength: 2")
		}
	}
	return list
}

// kept is what tracking needs of a sale.
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
	Pieces     []string    `json:"pieces"`
}

// ship answers POST /shipments.
func (s stand) ship(w http.ResponseWriter, r *http.Request) {
	var in shipment
	doc, wrong := read(r, &in)
	if wrong == nil {
		wrong = schemaErrors(doc, in.Content.IsCustomsDeclarable)
		wrong = append(wrong, in.CustomerDetails.ShipperDetails.wrong("#/customerDetails/shipperDetails")...)
		wrong = append(wrong, in.CustomerDetails.ReceiverDetails.wrong("#/customerDetails/receiverDetails")...)
		if p := in.CustomerDetails.ImporterDetails; p != nil {
			wrong = append(wrong, p.wrong("#/customerDetails/importerDetails")...)
		}
	}
	if wrong != nil {
		refuse(w, r, http.StatusUnprocessableEntity, wrong...)
		return
	}
	l := in.load()
	i := slices.IndexFunc(offers, func(o offer) bool { return o.code == in.ProductCode && o.goes(l) })
	offered := i >= 0 && in.namesLocally(offers[i], l)
	if wrong = in.wrong(time.Now(), l, offered); wrong != nil {
		refuse(w, r, http.StatusBadRequest, wrong...)
		return
	}
	if s.Refuses() {
		s.Fail(w, http.StatusBadRequest)
		return
	}
	sale := s.sale(in, l, offers[i])
	s.Sell(w, r, sale, func(e emulator.Entry) (int, string, []byte) {
		return http.StatusCreated, "application/json", encode(in.answer(e, l, offers[i]))
	})
}

// namesLocally reports whether the local code of the product is right. It can
// be left out but for the domestic products of some countries.
func (in shipment) namesLocally(o offer, l load) bool {
	local := o.local(l)
	return in.LocalProductCode == local || in.LocalProductCode == "" && local == o.code
}

// hasInvoice reports whether an invoice is rendered or comes with the request.
func (in shipment) hasInvoice() bool {
	for _, o := range in.OutputImageProperties.ImageOptions {
		if o.TypeCode == "invoice" && o.IsRequested {
			return true
		}
	}
	for _, d := range in.DocumentImages {
		if d.TypeCode == "INV" || d.TypeCode == "PNV" || d.TypeCode == "CIN" {
			return true
		}
	}
	return false
}

func schemaErrors(doc map[string]any, dutiable bool) (wrong []string) {
	wrong = missing(doc, "#", shipmentNeeds...)
	for _, side := range []string{"shipperDetails", "receiverDetails"} {
		for _, need := range partyNeeds {
			wrong = append(wrong, missing(doc, "#", "customerDetails."+side+"."+need)...)
		}
	}
	if dutiable {
		for _, need := range declarationNeeds {
			wrong = append(wrong, missing(doc, "#", "content.exportDeclaration."+need)...)
		}
		wrong = append(wrong, missing(doc, "#", "content.declaredValue", "content.declaredValueCurrency")...)
	}
	return append(wrong, missized(doc, "#")...)
}

func (in shipment) load() load {
	return load{
		in.CustomerDetails.ShipperDetails.PostalAddress.place, in.CustomerDetails.ReceiverDetails.PostalAddress.place,
		in.Content.IsCustomsDeclarable, in.Content.UnitOfMeasurement == "imperial", in.PlannedShippingDateAndTime,
		in.ValueAddedServices, in.Content.Packages,
	}
}

// wrong is what DHL says of a purchase that is whole but not right.
func (in shipment) wrong(now time.Time, l load, offered bool) (list []string) {
	if text := badDate(in.PlannedShippingDateAndTime, now); text != "" {
		list = append(list, text)
	}
	if !slices.Contains(in.Accounts, account{"shipper", Account}) {
		list = append(list, "8007: The shipper account number is not found or invalid.")
	}
	if !offered {
		list = append(list, fmt.Sprintf("996: The requested product(s) (%s) not available based on your search criteria.", in.ProductCode))
	}
	for i, item := range in.Content.ExportDeclaration.LineItems {
		if slices.Contains([]string{"goods", "stuff", "items", "parcel"}, strings.ToLower(item.Description)) {
			list = append(list, fmt.Sprintf("7147: The export line item description #/content/exportdeclaration/lineitems/%d/description "+
				"Match Keyword[Description:%s]. Please update the description and retry.", i+1, strings.ToUpper(item.Description)))
		}
	}
	if i := slices.IndexFunc(in.ValueAddedServices, func(e extra) bool { return e.ServiceCode == "WY" }); i >= 0 {
		switch {
		case !l.hasPaperless():
			list = append(list, fmt.Sprintf("7008: The requested Special Service Code  #/valueAddedServices/%d/serviceCode 'WY' is not available between this origin and destination.", i))
		case !in.hasInvoice():
			list = append(list, "7120: Required either #/outputImageProperties/imageOptions where typeCode=invoice or provide #/documentImages")
		}
	}
	if f := in.OutputImageProperties.EncodingFormat; f != "" && f != "pdf" {
		list = append(list, "1506: This stand-in makes PDF labels alone.")
	}
	return append(list, unknownExtras(in.ValueAddedServices)...)
}

// sale is the line of the ledger.
func (s stand) sale(in shipment, l load, o offer) emulator.Entry {
	serial := s.Ledger.Next()
	amount, currency := o.price(l)
	e := emulator.Entry{
		Number: waybill(serial), Service: in.ProductCode, Account: Account, Amount: amount.String(), Currency: currency,
	}
	for _, r := range in.CustomerReferences {
		switch {
		case e.Reference == "" && (r.TypeCode == "CU" || r.TypeCode == ""):
			e.Reference = r.Value
		case e.Second == "":
			e.Second = r.Value
		}
	}
	k := kept{
		Product: in.ProductCode, From: l.from, To: l.to, Planned: l.planned, Content: in.Content.Description,
		References: in.CustomerReferences, Dutiable: l.dutiable,
	}
	k.Arrival, _ = o.arrival(l)
	for i, p := range l.packages {
		k.Weights = append(k.Weights, p.Weight)
		k.Pieces = append(k.Pieces, pieceID(serial, i))
	}
	if len(k.Pieces) > 1 {
		e.Pieces = k.Pieces
	}
	e.Kept = encode(k)
	return e
}

// answer is DHL's answer to a purchase. Nothing of it repeats the reference.
func (in shipment) answer(e emulator.Entry, l load, o offer) map[string]any {
	k := keptOf(e)
	const site = "https://express.api.dhl.com/mydhlapi/shipments/"
	var packages []any
	for i, id := range k.Pieces {
		packages = append(packages, map[string]any{
			"referenceNumber": i + 1, "trackingNumber": id, "trackingUrl": site + e.Number + "/tracking?pieceTrackingNumber=" + id,
		})
	}
	body := map[string]any{
		"shipmentTrackingNumber": e.Number, "trackingUrl": site + e.Number + "/tracking", "packages": packages,
		"documents": in.documents(e, k),
	}
	if in.GetRateEstimates {
		amount, currency := o.price(l)
		body["shipmentCharges"] = []any{map[string]any{"currencyType": "BILLC", "priceCurrency": currency, "price": amount}}
	}
	if in.EstimatedDeliveryDate.IsRequested {
		body["estimatedDeliveryDate"] = map[string]any{"estimatedDeliveryDate": k.Arrival + "Z", "estimatedDeliveryType": "QDDC"}
	}
	if in.Pickup.IsRequested {
		body["dispatchConfirmationNumber"] = "PRG" + e.Number
	}
	return body
}

// documents are the papers that were asked for; the label always is.
func (in shipment) documents(e emulator.Entry, k kept) []any {
	pages := make([]page, len(k.Pieces))
	from, to := in.CustomerDetails.ShipperDetails, in.CustomerDetails.ReceiverDetails
	free := in.freeText()
	for i, id := range k.Pieces {
		pages[i] = labelPage(e, k, id, i, from, to)
		if free != "" {
			pages[i].text(16, 232, 8, "%s", free)
		}
	}
	var list []any
	add := func(kind string, piece int, pages ...page) {
		d := map[string]any{"imageFormat": "PDF", "content": pdf(pages), "typeCode": kind}
		if piece > 0 {
			d["packageReferenceNumber"] = piece
		}
		list = append(list, d)
	}
	if in.OutputImageProperties.SplitDocumentsByPages {
		for i, p := range pages {
			add("label", i+1, p)
		}
	} else {
		add("label", 0, pages...)
	}
	for _, o := range in.OutputImageProperties.ImageOptions {
		switch {
		case o.TypeCode == "waybillDoc" && o.IsRequested:
			add("waybillDoc", 0, labelPage(e, k, e.Number, 0, from, to))
		case o.TypeCode == "invoice" && o.IsRequested:
			add("invoice", 0, in.invoicePage(e, k))
		}
	}
	return list
}

// freeText is what the client has printed on the label; not all templates have
// room for it.
func (in shipment) freeText() string {
	for _, o := range in.OutputImageProperties.ImageOptions {
		if o.TypeCode == "label" && o.TemplateName == "ECOM26_A6_002" {
			return o.LabelFreeText
		}
	}
	return ""
}

func keptOf(e emulator.Entry) (k kept) {
	if err := json.Unmarshal(e.Kept, &k); err != nil {
		panic(err) // the ledger is this package's own
	}
	return k
}

// waybill is a number of ten digits; the last is the rest of the others by
// seven.
func waybill(serial int) string {
	n := 213_000_000 + serial
	return digits(n, 9) + digits(n%7, 1)
}

// pieceID is the number of one piece.
func pieceID(serial, piece int) string { return "JD0146" + digits(serial*1000+piece, 14) }

func digits(n, places int) string { return fmt.Sprintf("%0*d", places, n) }
