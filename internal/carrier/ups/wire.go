package ups

import (
	"bytes"
	"encoding/json"
)

// The types below are the parts of UPS's messages that the driver uses. Numbers
// travel as text both ways; a flag is set by the presence of its key.

// present is a flag: UPS looks at whether the key is there, not at its value.
type present bool

// MarshalJSON writes the value of a flag that is there.
func (present) MarshalJSON() ([]byte, error) { return []byte(`""`), nil }

// UnmarshalJSON reads the flag from its key.
func (p *present) UnmarshalJSON(data []byte) error {
	*p = string(data) != "null"
	return nil
}

// some is what UPS sends as an array, as a single member, or as "" when there
// is none, depending on the version and the answer.
type some[T any] []T

// UnmarshalJSON reads any of the three.
func (s *some[T]) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) > 0 && data[0] == '[':
		return json.Unmarshal(data, (*[]T)(s))
	case len(data) > 0 && data[0] == '{':
		var one T
		err := json.Unmarshal(data, &one)
		*s = some[T]{one}
		return err
	}
	*s = nil
	return nil
}

// texts are what UPS sends as an array, or as text when there is only one.
type texts []string

// UnmarshalJSON reads both.
func (t *texts) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '"' {
		var one string
		err := json.Unmarshal(data, &one)
		*t = texts{one}
		return err
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// text is text that may come as a bare number.
type text string

// UnmarshalJSON reads both.
func (t *text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] != '"' {
		*t = text(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

// coded is anything that has a code, with a description where UPS requires one.
type coded struct {
	Code        string
	Description string `json:",omitempty"`
}

type money struct {
	CurrencyCode  string
	MonetaryValue string
}

type request struct {
	RequestOption        string `json:",omitempty"`
	SubVersion           string `json:",omitempty"`
	TransactionReference reference
}

// reference is echoed in the answer.
type reference struct {
	CustomerContext string `json:",omitempty"`
}

type address struct {
	AddressLine                 []string
	City                        string `json:",omitempty"`
	StateProvinceCode           string `json:",omitempty"`
	PostalCode                  string `json:",omitempty"`
	CountryCode                 string
	ResidentialAddressIndicator present `json:",omitzero"`
}

type phone struct {
	Number string
}

type party struct {
	Name          string `json:",omitempty"`
	AttentionName string `json:",omitempty"`
	Phone         *phone `json:",omitempty"`
	ShipperNumber string `json:",omitempty"`
	Address       address
	VendorInfo    *vendor `json:",omitempty"` // of ShipFrom
}

// vendor is a registration under which the seller has collected the tax of the
// destination.
type vendor struct {
	VendorCollectIDTypeCode string
	VendorCollectIDNumber   string
	ConsigneeType           string `json:",omitempty"`
}

// globalTax is what customs know the parties by.
type globalTax struct {
	ShipperTypeValue             string     `json:",omitempty"`
	ConsigneeTypeValue           string     `json:",omitempty"`
	AgentTaxIdentificationNumber []agentTax `json:",omitempty"`
}

type agentTax struct {
	AgentRole               string
	TaxIdentificationNumber []taxNumber
}

type taxNumber struct {
	IDNumberTypeCode                       string
	IdentificationNumber                   string
	IDNumberEncryptionIndicator            string
	IDNumberPurposeCode                    string
	IDNumberCustomerRole                   string
	IDNumberIssuingCntryCd                 string `json:",omitempty"`
	IDNumberRequestingCntryCd              string `json:",omitempty"`
	IncludeIDNumberOnShippingBrokerageDocs string
}

type dimensions struct {
	UnitOfMeasurement     coded
	Length, Width, Height string
}

type weight struct {
	UnitOfMeasurement coded
	Weight            string
}

type packageOptions struct {
	DeliveryConfirmation *confirmation `json:",omitempty"`
	DeclaredValue        *money        `json:",omitempty"`
	COD                  *cod          `json:",omitempty"`
	AccessPointCOD       *money        `json:",omitempty"`
	DryIce               *dryIce       `json:",omitempty"`
}

type cod struct {
	CODFundsCode string
	CODAmount    money
}

type dryIce struct {
	RegulationSet string
	DryIceWeight  weight
}

type restrictedArticles struct {
	AlcoholicBeveragesIndicator present `json:",omitzero"`
}

// alternateAddress is an Access Point. Quotes have only its place.
type alternateAddress struct {
	Name             string `json:",omitempty"`
	AttentionName    string `json:",omitempty"`
	UPSAccessPointID string `json:",omitempty"`
	Address          address
}

type confirmation struct {
	DCISType string
}

type referenceNumber struct {
	Value string
}

// parcel is a package. Quotes call its packaging PackagingType, purchases
// Packaging.
type parcel struct {
	Description           string      `json:",omitempty"`
	PackagingType         *coded      `json:",omitempty"`
	Packaging             *coded      `json:",omitempty"`
	Dimensions            *dimensions `json:",omitempty"`
	PackageWeight         weight
	ReferenceNumber       []referenceNumber `json:",omitempty"`
	PackageServiceOptions *packageOptions   `json:",omitempty"`
}

type payer struct {
	AccountNumber string
	Address       *payerAddress `json:",omitempty"`
}

type payerAddress struct {
	PostalCode  string `json:",omitempty"`
	CountryCode string `json:",omitempty"`
}

type charge struct {
	Type           string
	BillShipper    *payer `json:",omitempty"`
	BillReceiver   *payer `json:",omitempty"`
	BillThirdParty *payer `json:",omitempty"`
}

type payment struct {
	ShipmentCharge []charge
}

type ratingOptions struct {
	NegotiatedRatesIndicator present `json:",omitzero"`
}

type shipmentOptions struct {
	SaturdayDeliveryIndicator present       `json:",omitzero"`
	DeliveryConfirmation      *confirmation `json:",omitempty"`
	InternationalForms        *forms        `json:",omitempty"`
	EUDeMinimisIndicator      string        `json:",omitempty"` // "Y" or "N"
	ReturnService             *coded        `json:",omitempty"` // of a quote; a purchase has it in the shipment

	COD                       *cod                `json:",omitempty"`
	AccessPointCOD            *money              `json:",omitempty"`
	RestrictedArticles        *restrictedArticles `json:",omitempty"` // of a purchase
	UPScarbonneutralIndicator present             `json:",omitzero"`
}

// forms is the data of a commercial invoice.
type forms struct {
	FormType        []string
	Contacts        contacts
	Product         []product
	InvoiceNumber   string
	InvoiceDate     string
	TermsOfShipment string `json:",omitempty"`
	ReasonForExport string
	CurrencyCode    string

	OverridePaperlessIndicator present `json:",omitzero"`
}

type contacts struct {
	SoldTo party
}

type product struct {
	Description       []string
	Unit              unit
	CommodityCode     string `json:",omitempty"`
	PartNumber        string
	OriginCountryCode string

	ProductIdentifier                  []productIdentifier `json:",omitempty"`
	CommodityFieldSpecialConditionCode string              `json:",omitempty"`
}

type productIdentifier struct {
	ProductID         string
	ProductIDTypeCode string
}

type unit struct {
	Number            string
	UnitOfMeasurement coded
	Value             string
}

// shipment is what is quoted and what is bought.
type shipment struct {
	Description             string  `json:",omitempty"`
	ReturnService           *coded  `json:",omitempty"`
	DocumentsOnlyIndicator  present `json:",omitzero"`
	Shipper                 party
	ShipTo                  party
	ShipFrom                *party   `json:",omitempty"`
	PaymentDetails          *payment `json:",omitempty"` // of a quote
	PaymentInformation      *payment `json:",omitempty"` // of a purchase
	ShipmentRatingOptions   ratingOptions
	ReferenceNumber         []referenceNumber `json:",omitempty"`
	Service                 *coded            `json:",omitempty"`
	InvoiceLineTotal        *money            `json:",omitempty"`
	ShipmentTotalWeight     *weight           `json:",omitempty"`
	ShipmentServiceOptions  *shipmentOptions  `json:",omitempty"`
	ShipmentDate            string            `json:",omitempty"`
	Package                 []parcel
	DeliveryTimeInformation *deliveryTime `json:",omitempty"`

	GlobalTaxInformation       *globalTax `json:",omitempty"`
	ShipperType                string     `json:",omitempty"`
	ConsigneeType              string     `json:",omitempty"`
	ShipmentValueThresholdCode string     `json:",omitempty"`

	ShipmentIndicationType   []coded           `json:",omitempty"`
	AlternateDeliveryAddress *alternateAddress `json:",omitempty"`
}

type deliveryTime struct {
	PackageBillType string
	Pickup          day
}

type day struct {
	Date string
	Time string `json:",omitempty"`
}

type rateRequest struct {
	RateRequest struct {
		Request  request
		Shipment shipment
	}
}

type shipRequest struct {
	ShipmentRequest struct {
		Request            request
		Shipment           shipment
		LabelSpecification labelSpecification
	}
}

type labelSpecification struct {
	LabelImageFormat coded
	HTTPUserAgent    string
	LabelStockSize   stock
}

type stock struct {
	Height, Width string
}

type recoveryRequest struct {
	LabelRecoveryRequest struct {
		Request            request
		LabelSpecification labelSpecification
		TrackingNumber     string           `json:",omitempty"`
		ReferenceValues    *referenceValues `json:",omitempty"`
	}
}

type referenceValues struct {
	ReferenceNumber referenceNumber
	ShipperNumber   string
}

// The answers. They are read leniently: what the driver does not use may be
// anything.

type tokenAnswer struct {
	AccessToken string `json:"access_token"`
	ExpiresIn   text   `json:"expires_in"` // seconds
}

type errorAnswer struct {
	Response struct {
		Errors some[struct {
			Code    text   `json:"code"`
			Message string `json:"message"`
		}] `json:"errors"`
	} `json:"response"`
}

// response is what every answer begins with.
type response struct {
	Alert                some[coded]
	TransactionReference some[reference]
}

// context returns the reference that the answer is about; empty if it does not
// say.
func (r response) context() string {
	if len(r.TransactionReference) == 0 {
		return ""
	}
	return r.TransactionReference[0].CustomerContext
}

type rateAnswer struct {
	RateResponse struct {
		RatedShipment some[ratedShipment]
	}
}

type ratedShipment struct {
	Service               coded
	BillingWeight         answeredWeight
	TransportationCharges money
	ServiceOptionsCharges money
	TotalCharges          money
	ItemizedCharges       some[itemizedCharge]
	RatedPackage          some[ratedPackage]
	NegotiatedRateCharges *negotiated
	GuaranteedDelivery    *struct {
		BusinessDaysInTransit text
	}
	TimeInTransit *struct {
		ServiceSummary struct {
			GuaranteedIndicator *string
			EstimatedArrival    struct {
				Arrival               day
				BusinessDaysInTransit text
			}
		}
	}
}

// negotiated is the account's own price.
type negotiated struct {
	TotalCharge     money
	ItemizedCharges some[itemizedCharge]
}

// ratedPackage is what one parcel adds to a price; its own surcharges stand
// apart from those of the shipment.
type ratedPackage struct {
	ItemizedCharges   some[itemizedCharge]
	NegotiatedCharges *struct {
		ItemizedCharges some[itemizedCharge]
	}
}

type itemizedCharge struct {
	Code          text
	Description   string
	CurrencyCode  string
	MonetaryValue text
}

type answeredWeight struct {
	UnitOfMeasurement coded
	Weight            text
}

type shipAnswer struct {
	ShipmentResponse struct {
		Response        response
		ShipmentResults struct {
			ShipmentCharges struct {
				TotalCharges money
			}
			NegotiatedRateCharges        *negotiated
			ShipmentIdentificationNumber string
			PackageResults               some[packageResult]
			Form                         some[form]
			ControlLogReceipt            some[picture]
		}
	}
}

type packageResult struct {
	TrackingNumber string
	ShippingLabel  picture
}

type picture struct {
	ImageFormat  coded
	GraphicImage string // base64
}

type form struct {
	Image picture
}

type recoveryAnswer struct {
	LabelRecoveryResponse struct {
		Response                     response
		ShipmentIdentificationNumber string
		LabelResults                 some[labelResult]
		Form                         some[form]
		TrackingCandidate            some[trackingCandidate]
	}
}

// trackingCandidate is a parcel that may be the one that is looked for.
type trackingCandidate struct {
	TrackingNumber        string
	DestinationPostalCode string
}

type labelResult struct {
	TrackingNumber string
	LabelImage     struct {
		LabelImageFormat coded
		GraphicImage     string
	}
	Form some[form]
}

type voidAnswer struct {
	VoidShipmentResponse struct {
		SummaryResult struct {
			Status coded
		}
		PackageLevelResults some[packageVoid]
		PackageLevelResult  some[packageVoid] // as real answers spell it
	}
}

type packageVoid struct {
	TrackingNumber string
	Status         coded
}
