package usps

import (
	"encoding/json"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// The types below are the parts of USPS's messages that are used. Numbers are
// kept as their text.

type accessRequest struct {
	GrantType    string `json:"grant_type"`
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

type accessAnswer struct {
	AccessToken string      `json:"access_token"`
	ExpiresIn   json.Number `json:"expires_in"` // with and without quotes
	Scope       string      `json:"scope"`
}

type paymentRequest struct {
	Roles []role `json:"roles"`
}

type role struct {
	RoleName      string `json:"roleName"`
	CRID          string `json:"CRID"`
	MID           string `json:"MID,omitempty"`
	ManifestMID   string `json:"manifestMID,omitempty"`
	AccountType   string `json:"accountType,omitempty"`
	AccountNumber string `json:"accountNumber,omitempty"`
}

type paymentAnswer struct {
	Token string `json:"paymentAuthorizationToken"`
	Body  text   `json:"body"` // why there is no token
}

type paymentAccount struct {
	AccountType   string `json:"accountType"`
	AccountNumber string `json:"accountNumber"`
}

// errorAnswer is {"error": {...}} of the APIs, {"error": "code"} of OAuth, or
// {"fault": {...}} of the gateway.
type errorAnswer struct {
	Error       json.RawMessage `json:"error"`
	Description string          `json:"error_description"`
	Fault       *fault          `json:"fault"`
}

type fault struct {
	Message text `json:"faultstring"`
	Detail  struct {
		Code text `json:"errorcode"`
	} `json:"detail"`
}

type apiError struct {
	Code    text        `json:"code"`
	Message text        `json:"message"`
	Errors  []errorItem `json:"errors"`
}

type errorItem struct {
	Code   text `json:"code"`
	Title  text `json:"title"`
	Detail text `json:"detail"`

	Source json.RawMessage `json:"source"` // {"parameter": "..."} or a text
}

// parameter returns the part of the request that the error is about.
func (e errorItem) parameter() string {
	var source struct {
		Parameter text `json:"parameter"`
	}
	if json.Unmarshal(e.Source, &source) == nil {
		return string(source.Parameter)
	}

	var plain text
	_ = json.Unmarshal(e.Source, &plain) // absent is none
	return string(plain)
}

func (e errorItem) words() string {
	if e.Detail != "" {
		return string(e.Detail)
	}
	return string(e.Title)
}

// text is a string that USPS sometimes sends as another type.
type text string

// UnmarshalJSON takes any scalar.
func (t *text) UnmarshalJSON(data []byte) error {
	if plain, ok := carrierkit.Plain(data); ok {
		*t = text(plain)
		return nil
	}

	var s string
	if json.Unmarshal(data, &s) == nil {
		*t = text(s)
		return nil
	}

	if raw := string(data); raw != "null" && !strings.ContainsAny(raw, "{[") {
		*t = text(raw)
	}
	return nil
}

type optionsRequest struct {
	PricingOptions         []pricing      `json:"pricingOptions"`
	OriginZIPCode          string         `json:"originZIPCode"`
	DestinationZIPCode     string         `json:"destinationZIPCode,omitempty"`
	DestinationCountryCode string         `json:"destinationCountryCode,omitempty"`
	ForeignPostalCode      string         `json:"foreignPostalCode,omitempty"`
	EntryFacilityType      string         `json:"destinationEntryFacilityType,omitempty"`
	PackageDescription     optionsPackage `json:"packageDescription"`
}

type pricing struct {
	PriceType      string          `json:"priceType"`
	PaymentAccount *paymentAccount `json:"paymentAccount,omitempty"`
}

type optionsPackage struct {
	Weight        json.Number `json:"weight"`
	Length        json.Number `json:"length"`
	Width         json.Number `json:"width"`
	Height        json.Number `json:"height"`
	MailClass     string      `json:"mailClass"`
	ExtraServices []int       `json:"extraServices,omitempty"`
	PackageValue  json.Number `json:"packageValue,omitempty"`
	MailingDate   string      `json:"mailingDate"`
}

type optionsAnswer struct {
	PricingOptions []struct {
		ShippingOptions []struct {
			MailClass   string       `json:"mailClass"`
			RateOptions []rateOption `json:"rateOptions"`
		} `json:"shippingOptions"`
	} `json:"pricingOptions"`
}

type rateOption struct {
	TotalBasePrice json.Number `json:"totalBasePrice"`
	Commitment     commitment  `json:"commitment"`
	Rates          []struct {
		ProcessingCategory string      `json:"processingCategory"`
		RateIndicator      string      `json:"rateIndicator"`
		EntryFacilityType  string      `json:"destinationEntryFacilityType"`
		Weight             json.Number `json:"weight"`
		DimWeight          json.Number `json:"dimWeight"`
		Fees               []fee       `json:"fees"`
	} `json:"rates"`
	ExtraServices []struct {
		Code  text        `json:"extraService"`
		Price json.Number `json:"price"`
	} `json:"extraServices"`
}

type fee struct {
	Name  string      `json:"name"`
	Price json.Number `json:"price"`
}

type commitment struct {
	Name         string `json:"name"`
	Expected     string `json:"expectedDeliveryDate"`
	Scheduled    string `json:"scheduleDeliveryDate"` // the older name of the same
	IsGuaranteed text   `json:"guaranteedDelivery"`
}

type labelRequest struct {
	ImageInfo          imageInfo          `json:"imageInfo"`
	ToAddress          address            `json:"toAddress"`
	FromAddress        address            `json:"fromAddress"`
	PackageDescription packageDescription `json:"packageDescription"`
	CustomsForm        *customsForm       `json:"customsForm,omitempty"`
}

type imageInfo struct {
	ImageType     string `json:"imageType"`
	LabelType     string `json:"labelType"`
	ReceiptOption string `json:"receiptOption,omitempty"`
}

// address has State and ZIPCode for domestic addresses, and Province,
// PostalCode and the country for international ones.
type address struct {
	FirstName        string `json:"firstName,omitempty"`
	LastName         string `json:"lastName,omitempty"`
	Firm             string `json:"firm,omitempty"`
	StreetAddress    string `json:"streetAddress"`
	SecondaryAddress string `json:"secondaryAddress,omitempty"`
	City             string `json:"city"`
	State            string `json:"state,omitempty"`
	ZIPCode          string `json:"ZIPCode,omitempty"`
	Province         string `json:"province,omitempty"`
	PostalCode       string `json:"postalCode,omitempty"`
	Country          string `json:"country,omitempty"`
	CountryCode      string `json:"countryISOAlpha2Code,omitempty"`
	Phone            string `json:"phone,omitempty"`

	// Of a parcel that is collected at a post office or a locker.
	Email         string `json:"email,omitempty"`
	FacilityID    string `json:"facilityId,omitempty"`
	HoldForPickup bool   `json:"holdForPickup,omitempty"`
	IsLocker      bool   `json:"parcelLockerDelivery,omitempty"`
}

type packageDescription struct {
	MailClass          string              `json:"mailClass"`
	PackagingType      string              `json:"packagingType,omitempty"`
	RateIndicator      string              `json:"rateIndicator,omitempty"` // instead of packaging and shape
	Shape              string              `json:"shape,omitempty"`
	ProcessingCategory string              `json:"processingCategory"`
	EntryFacilityType  string              `json:"destinationEntryFacilityType,omitempty"`
	WeightUOM          string              `json:"weightUOM"`
	Weight             json.Number         `json:"weight"`
	DimensionsUOM      string              `json:"dimensionsUOM"`
	Length             json.Number         `json:"length"`
	Width              json.Number         `json:"width"`
	Height             json.Number         `json:"height"`
	MailingDate        string              `json:"mailingDate,omitempty"`
	ExtraServices      []int               `json:"extraServices,omitempty"`
	PhysicalSignature  *bool               `json:"physicalSignatureRequired,omitempty"`
	PackageOptions     *packageOptions     `json:"packageOptions,omitempty"`
	CustomerReference  []customerReference `json:"customerReference,omitempty"`
}

type packageOptions struct {
	PackageValue json.Number `json:"packageValue,omitempty"`
	ContentType  string      `json:"contentType,omitempty"`
	Endorsement  string      `json:"ancillaryServiceEndorsements,omitempty"`
}

type customerReference struct {
	ReferenceNumber string `json:"referenceNumber"`
	Print           bool   `json:"printReferenceNumber,omitempty"`
}

type customsForm struct {
	ContentType     string            `json:"customsContentType"`
	ContentComments string            `json:"contentComments,omitempty"`
	AESITN          string            `json:"AESITN,omitempty"`
	InvoiceNumber   string            `json:"invoiceNumber,omitempty"`
	Importer        *customsReference `json:"importersReference,omitempty"`
	Exporter        *customsReference `json:"exportersReference,omitempty"`
	Contents        []customsItem     `json:"contents"`
}

// customsReference is a tax number. The API for domestic labels takes it as
// text without a type.
type customsReference struct {
	Type      string
	Reference string
}

// MarshalJSON writes a number without a type as plain text.
func (r customsReference) MarshalJSON() ([]byte, error) {
	if r.Type == "" {
		return json.Marshal(r.Reference)
	}
	return json.Marshal(map[string]string{"referenceType": r.Type, "reference": r.Reference})
}

type customsItem struct {
	Description   string      `json:"itemDescription"`
	Quantity      int         `json:"itemQuantity"`
	TotalValue    json.Number `json:"itemTotalValue"`
	WeightUOM     string      `json:"weightUOM"`
	TotalWeight   json.Number `json:"itemTotalWeight"`
	HSTariff      string      `json:"HSTariffNumber,omitempty"`
	OriginCountry string      `json:"countryofOrigin,omitempty"`
}

// labelAnswer is the answer to a purchase.
type labelAnswer struct {
	labelMetadata
	LabelImage       []byte `json:"labelImage"`
	ReturnLabelImage []byte `json:"returnLabelImage"` // instead, for a return
}

type labelMetadata struct {
	LabelAddress        labelAddress `json:"labelAddress"`
	RoutingInformation  string       `json:"routingInformation"`
	TrackingNumber      string       `json:"trackingNumber"`
	InternationalNumber string       `json:"internationalTrackingNumber"`
	Postage             json.Number  `json:"postage"`
	ExtraServices       []charge     `json:"extraServices"`
	Fees                []charge     `json:"fees"`
	Commitment          commitment   `json:"commitment"`
}

type labelAddress struct {
	ZIPCode     string `json:"ZIPCode"`
	CountryCode string `json:"countryISOAlpha2Code"`
}

type charge struct {
	Price json.Number `json:"price"`
}

type reprintRequest struct {
	ImageInfo imageInfo `json:"imageInfo"`
}

type reprintAnswer struct {
	Metadata   labelMetadata `json:"labelMetadata"`
	LabelImage []byte        `json:"labelImage"`

	// The same of a return.
	ReturnMetadata   labelMetadata `json:"returnLabelMetadata"`
	ReturnLabelImage []byte        `json:"returnLabelImage"`
}

type cancelAnswer struct {
	TrackingNumber string `json:"trackingNumber"`
	Status         string `json:"status"`
}
