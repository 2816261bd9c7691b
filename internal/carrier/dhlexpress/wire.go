package dhlexpress

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// The wire format, reduced to the fields that are used. Amounts, weights and
// lengths are decimals in text, never binary fractions.

type rateRequest struct {
	CustomerDetails            rateParties     `json:"customerDetails"`
	Accounts                   []account       `json:"accounts"`
	ValueAddedServices         []extra         `json:"valueAddedServices,omitempty"`
	PlannedShippingDateAndTime string          `json:"plannedShippingDateAndTime"`
	UnitOfMeasurement          string          `json:"unitOfMeasurement"`
	IsCustomsDeclarable        bool            `json:"isCustomsDeclarable"`
	MonetaryAmount             []amount        `json:"monetaryAmount,omitempty"`
	EstimatedDeliveryDate      estimateRequest `json:"estimatedDeliveryDate"`
	NextBusinessDay            bool            `json:"nextBusinessDay"`
	GetAdditionalInformation   []information   `json:"getAdditionalInformation,omitempty"`
	Packages                   []pack          `json:"packages"`
}

// information is an optional part of a quote that is requested.
type information struct {
	TypeCode    string `json:"typeCode"`
	IsRequested bool   `json:"isRequested"`
}

type rateParties struct {
	ShipperDetails  postalAddress `json:"shipperDetails"`
	ReceiverDetails postalAddress `json:"receiverDetails"`
}

type postalAddress struct {
	PostalCode   string `json:"postalCode"`
	CityName     string `json:"cityName"`
	CountryCode  string `json:"countryCode"`
	ProvinceCode string `json:"provinceCode,omitempty"`
	AddressLine1 string `json:"addressLine1,omitempty"`
	AddressLine2 string `json:"addressLine2,omitempty"`
	AddressLine3 string `json:"addressLine3,omitempty"`
}

type account struct {
	TypeCode string `json:"typeCode"`
	Number   string `json:"number"`
}

type extra struct {
	ServiceCode string      `json:"serviceCode"`
	Value       json.Number `json:"value,omitempty"`
	Currency    string      `json:"currency,omitempty"`
	Method      string      `json:"method,omitempty"`

	DangerousGoods []dangerousGoods `json:"dangerousGoods,omitempty"` // of a purchase
}

type dangerousGoods struct {
	ContentID            string      `json:"contentId"`
	DryIceTotalNetWeight json.Number `json:"dryIceTotalNetWeight,omitempty"`
	UNCodes              []string    `json:"unCodes,omitempty"`
}

type onDemandDelivery struct {
	DeliveryOption string `json:"deliveryOption"`
	ServicePointID string `json:"servicePointId"`
}

type amount struct {
	TypeCode string      `json:"typeCode"`
	Value    json.Number `json:"value"`
	Currency string      `json:"currency"`
}

type estimateRequest struct {
	IsRequested bool   `json:"isRequested"`
	TypeCode    string `json:"typeCode"`
}

type pack struct {
	TypeCode   string      `json:"typeCode,omitempty"`
	Weight     json.Number `json:"weight"`
	Dimensions *dimensions `json:"dimensions,omitempty"`
}

type dimensions struct {
	Length json.Number `json:"length"`
	Width  json.Number `json:"width"`
	Height json.Number `json:"height"`
}

type rateAnswer struct {
	Products []product `json:"products"`
}

type product struct {
	ProductCode      string      `json:"productCode"`
	LocalProductCode string      `json:"localProductCode"`
	NetworkTypeCode  string      `json:"networkTypeCode"`
	TotalPrice       []price     `json:"totalPrice"`
	DetailedPrices   []breakdown `json:"detailedPriceBreakdown"`
	Weight           struct {
		Volumetric        json.Number `json:"volumetric"`
		Provided          json.Number `json:"provided"`
		UnitOfMeasurement string      `json:"unitOfMeasurement"`
	} `json:"weight"`
	DeliveryCapabilities struct {
		EstimatedDeliveryDateAndTime string      `json:"estimatedDeliveryDateAndTime"`
		TotalTransitDays             json.Number `json:"totalTransitDays"`
	} `json:"deliveryCapabilities"`
}

// price is a total in one of three currencies: BILLC is the one that the
// account is billed in.
type price struct {
	CurrencyType  string      `json:"currencyType"`
	PriceCurrency string      `json:"priceCurrency"`
	Price         json.Number `json:"price"`
}

// breakdown is what a price consists of in one currency. Services that are
// offered and not asked for stand in it without a price.
type breakdown struct {
	CurrencyType  string           `json:"currencyType"`
	PriceCurrency string           `json:"priceCurrency"`
	Parts         []breakdownPrice `json:"breakdown"`
}

type breakdownPrice struct {
	ServiceCode string      `json:"serviceCode"` // none for the product itself
	Price       json.Number `json:"price"`
	Taxes       []struct {
		PriceType string      `json:"priceType"`
		Price     json.Number `json:"price"`
	} `json:"priceBreakdown"`
}

type shipmentRequest struct {
	PlannedShippingDateAndTime string          `json:"plannedShippingDateAndTime"`
	Pickup                     pickup          `json:"pickup"`
	ProductCode                string          `json:"productCode"`
	LocalProductCode           string          `json:"localProductCode,omitempty"`
	GetRateEstimates           bool            `json:"getRateEstimates"`
	Accounts                   []account       `json:"accounts"`
	ValueAddedServices         []extra         `json:"valueAddedServices,omitempty"`
	OutputImageProperties      images          `json:"outputImageProperties"`
	CustomerReferences         []reference     `json:"customerReferences"`
	CustomerDetails            parties         `json:"customerDetails"`
	Content                    content         `json:"content"`
	EstimatedDeliveryDate      estimateRequest `json:"estimatedDeliveryDate"`

	OnDemandDelivery *onDemandDelivery `json:"onDemandDelivery,omitempty"`
}

type pickup struct {
	IsRequested bool `json:"isRequested"`
}

type images struct {
	EncodingFormat                    string        `json:"encodingFormat"`
	ImageOptions                      []imageOption `json:"imageOptions"`
	SplitTransportAndWaybillDocLabels bool          `json:"splitTransportAndWaybillDocLabels"`
}

type imageOption struct {
	TypeCode     string `json:"typeCode"`
	TemplateName string `json:"templateName,omitempty"`
	IsRequested  *bool  `json:"isRequested,omitempty"`
	InvoiceType  string `json:"invoiceType,omitempty"`
	LanguageCode string `json:"languageCode,omitempty"`

	// LabelFreeText is printed on the label; the A6 template has room for it.
	LabelFreeText string `json:"labelFreeText,omitempty"`
}

type reference struct {
	Value    string `json:"value"`
	TypeCode string `json:"typeCode"`
}

type parties struct {
	ShipperDetails  party  `json:"shipperDetails"`
	ReceiverDetails party  `json:"receiverDetails"`
	ImporterDetails *party `json:"importerDetails,omitempty"`
	BuyerDetails    *party `json:"buyerDetails,omitempty"`
}

type party struct {
	PostalAddress       postalAddress  `json:"postalAddress"`
	ContactInformation  contact        `json:"contactInformation"`
	RegistrationNumbers []registration `json:"registrationNumbers,omitempty"`
	TypeCode            string         `json:"typeCode,omitempty"`
}

type contact struct {
	Email       string `json:"email,omitempty"`
	Phone       string `json:"phone"`
	CompanyName string `json:"companyName"`
	FullName    string `json:"fullName"`
}

type registration struct {
	TypeCode          string `json:"typeCode"`
	Number            string `json:"number"`
	IssuerCountryCode string `json:"issuerCountryCode"`
}

type content struct {
	Packages              []pack       `json:"packages"`
	IsCustomsDeclarable   bool         `json:"isCustomsDeclarable"`
	DeclaredValue         json.Number  `json:"declaredValue,omitempty"`
	DeclaredValueCurrency string       `json:"declaredValueCurrency,omitempty"`
	ExportDeclaration     *declaration `json:"exportDeclaration,omitempty"`
	Description           string       `json:"description"`
	Incoterm              string       `json:"incoterm"`
	UnitOfMeasurement     string       `json:"unitOfMeasurement"`
}

type declaration struct {
	LineItems        []lineItem `json:"lineItems"`
	Invoice          invoice    `json:"invoice"`
	ExportReasonType string     `json:"exportReasonType"`
	ShipmentType     string     `json:"shipmentType"`
}

type lineItem struct {
	Number              int             `json:"number"`
	Description         string          `json:"description"`
	Price               json.Number     `json:"price"`
	Quantity            quantity        `json:"quantity"`
	CommodityCodes      []commodityCode `json:"commodityCodes,omitempty"`
	ExportReasonType    string          `json:"exportReasonType"`
	ManufacturerCountry string          `json:"manufacturerCountry"`
	Weight              lineWeight      `json:"weight"`
}

type quantity struct {
	Value             int    `json:"value"`
	UnitOfMeasurement string `json:"unitOfMeasurement"`
}

type commodityCode struct {
	TypeCode string `json:"typeCode"`
	Value    string `json:"value"`
}

type lineWeight struct {
	NetValue   json.Number `json:"netValue"`
	GrossValue json.Number `json:"grossValue"`
}

type invoice struct {
	Number        string `json:"number"`
	Date          string `json:"date"`
	SignatureName string `json:"signatureName,omitempty"`
}

type shipmentAnswer struct {
	ShipmentTrackingNumber text            `json:"shipmentTrackingNumber"`
	Packages               []soldPackage   `json:"packages"`
	Documents              []soldDocument  `json:"documents"`
	ShipmentCharges        []price         `json:"shipmentCharges"`
	EstimatedDeliveryDate  estimatedAnswer `json:"estimatedDeliveryDate"`
	Warnings               []string        `json:"warnings"`
}

type soldPackage struct {
	ReferenceNumber int  `json:"referenceNumber"`
	TrackingNumber  text `json:"trackingNumber"`
}

type soldDocument struct {
	ImageFormat            string `json:"imageFormat"`
	Content                []byte `json:"content"` // base64
	TypeCode               string `json:"typeCode"`
	PackageReferenceNumber int    `json:"packageReferenceNumber"`
}

type estimatedAnswer struct {
	EstimatedDeliveryDate string `json:"estimatedDeliveryDate"`
}

type trackingAnswer struct {
	Shipments []tracked `json:"shipments"`
}

type tracked struct {
	ShipmentTrackingNumber text           `json:"shipmentTrackingNumber"`
	Status                 string         `json:"status"` // of the look-up, not of the parcel
	ShipmentTimestamp      string         `json:"shipmentTimestamp"`
	ShipperReferences      []reference    `json:"shipperReferences"`
	Pieces                 []trackedPiece `json:"pieces"`
	EstimatedDeliveryDate  string         `json:"estimatedDeliveryDate"`
}

type trackedPiece struct {
	Number         int  `json:"number"`
	TrackingNumber text `json:"trackingNumber"`
}

type problem struct {
	Title             string   `json:"title"`
	Detail            string   `json:"detail"`
	AdditionalDetails []string `json:"additionalDetails"`
}

// text is text that some responses send as a number without quotes.
type text string

// UnmarshalJSON reads either spelling.
func (t *text) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		var s string
		err := json.Unmarshal(data, &s)
		*t = text(s)
		return err
	}

	var n json.Number
	if err := json.Unmarshal(data, &n); err != nil {
		return fmt.Errorf("neither text nor a number: %w", err)
	}
	*t = text(n)
	return nil
}
