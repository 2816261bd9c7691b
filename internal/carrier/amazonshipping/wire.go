package amazonshipping

import (
	"encoding/json"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// The messages of the Shipping API, only the fields that are used.

type money struct {
	Value json.Number `json:"value"`
	Unit  string      `json:"unit"` // the currency
}

type weight struct {
	Value json.Number `json:"value"`
	Unit  string      `json:"unit"`
}

type dimensions struct {
	Length json.Number `json:"length"`
	Width  json.Number `json:"width"`
	Height json.Number `json:"height"`
	Unit   string      `json:"unit"`
}

type address struct {
	Name        string `json:"name"`
	CompanyName string `json:"companyName,omitempty"`
	Line1       string `json:"addressLine1"`
	Line2       string `json:"addressLine2,omitempty"`
	Line3       string `json:"addressLine3,omitempty"`
	City        string `json:"city"`
	State       string `json:"stateOrRegion"`
	Zip         string `json:"postalCode"`
	Country     string `json:"countryCode"`
	Phone       string `json:"phoneNumber,omitempty"`
	Email       string `json:"email,omitempty"`
}

type item struct {
	Quantity    int    `json:"quantity"`
	Description string `json:"description,omitempty"`
	Identifier  string `json:"itemIdentifier,omitempty"`
	Value       *money `json:"itemValue,omitempty"`
	Weight      weight `json:"weight"`

	Invoice *invoiceDetails `json:"invoiceDetails,omitempty"`
}

type invoiceDetails struct {
	Number string `json:"invoiceNumber"`
}

type pack struct {
	Reference    string     `json:"packageClientReferenceId"`
	Dimensions   dimensions `json:"dimensions"`
	Weight       weight     `json:"weight"`
	InsuredValue money      `json:"insuredValue"`
	Items        []item     `json:"items"`
}

type channel struct {
	Type string `json:"channelType"`
}

type rateRequest struct {
	ShipFrom       address      `json:"shipFrom"`
	ShipTo         address      `json:"shipTo"`
	ShipDate       string       `json:"shipDate,omitempty"`
	Packages       []pack       `json:"packages"`
	Taxes          []taxDetail  `json:"taxDetails,omitempty"`
	ChannelDetails channel      `json:"channelDetails"`
	AccessPoint    *accessPoint `json:"destinationAccessPointDetails,omitempty"`
}

type taxDetail struct {
	Type   string `json:"taxType"` // "GST" is the only one
	Number string `json:"taxRegistrationNumber"`
}

// An accessPoint is a locker or a counter where the recipient collects the parcel.
type accessPoint struct {
	ID string `json:"accessPointId"`
}

type rateAnswer struct {
	Payload *quote `json:"payload"`
}

// A quote can be bought by its token for ten minutes.
type quote struct {
	Token      string `json:"requestToken"`
	Rates      []rate `json:"rates"`
	Ineligible []struct {
		Reasons []struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"ineligibilityReasons"`
	} `json:"ineligibleRates"`
}

type rate struct {
	ID           string `json:"rateId"`
	CarrierID    string `json:"carrierId"`
	CarrierName  string `json:"carrierName"`
	ServiceID    string `json:"serviceId"`
	ServiceName  string `json:"serviceName"`
	BilledWeight weight `json:"billedWeight"`
	Total        money  `json:"totalCharge"`
	Promise      struct {
		Delivery window `json:"deliveryWindow"`
	} `json:"promise"`
	Documents   []supportedDocument `json:"supportedDocumentSpecifications"`
	Groups      []extraGroup        `json:"availableValueAddedServiceGroups"`
	NeedsInputs bool                `json:"requiresAdditionalInputs"`
	Items       []struct {
		ID     string `json:"rateItemID"`
		Charge money  `json:"rateItemCharge"`
	} `json:"rateItemList"`
}

type window struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// An extraGroup is a group of value-added services, of which one can be chosen,
// or must be.
type extraGroup struct {
	IsRequired bool    `json:"isRequired"`
	Services   []extra `json:"valueAddedServices"`
}

type extra struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Cost money  `json:"cost"`
}

type supportedDocument struct {
	Format  string       `json:"format"`
	Size    documentSize `json:"size"`
	Options []struct {
		Resolutions []int    `json:"supportedDPIs"`
		Layouts     []string `json:"supportedPageLayouts"`
		Joining     []bool   `json:"supportedFileJoiningOptions"`
		Details     []struct {
			Name        string `json:"name"`
			IsMandatory bool   `json:"isMandatory"`
		} `json:"supportedDocumentDetails"`
	} `json:"printOptions"`
}

type documentSize struct {
	Width  json.Number `json:"width"`
	Length json.Number `json:"length"`
	Unit   string      `json:"unit"`
}

type purchaseRequest struct {
	Token    string            `json:"requestToken"`
	RateID   string            `json:"rateId"`
	Document requestedDocument `json:"requestedDocumentSpecification"`
	Extras   []requestedExtra  `json:"requestedValueAddedServices,omitempty"`
}

type requestedDocument struct {
	Format     string       `json:"format"`
	Size       documentSize `json:"size"`
	Resolution int          `json:"dpi,omitempty"`
	Layout     string       `json:"pageLayout,omitempty"`
	IsJoined   bool         `json:"needFileJoining"`
	Types      []string     `json:"requestedDocumentTypes"`
}

type requestedExtra struct {
	ID string `json:"id"`
}

// purchaseAnswer is read as far as it can be understood: Amazon has sold a label
// that cannot be looked up, so a detail of an unexpected type must not lose it.
type purchaseAnswer struct {
	Payload *struct {
		ShipmentID identifier `json:"shipmentId"`
		Packages   []struct {
			Reference  identifier              `json:"packageClientReferenceId"`
			TrackingID identifier              `json:"trackingId"`
			Documents  []lenient[soldDocument] `json:"packageDocuments"`
		} `json:"packageDocumentDetails"`
		Promise lenient[struct {
			Delivery window `json:"deliveryWindow"`
		}] `json:"promise"`
	} `json:"payload"`
}

type soldDocument struct {
	Type     string `json:"type"`
	Format   string `json:"format"`
	Contents []byte `json:"contents"`
}

// An identifier is a string, or a number of digits: Amazon's schema has the former
// for a tracking ID, and its samples the latter. Anything else is read as none.
type identifier string

// UnmarshalJSON implements json.Unmarshaler.
func (id *identifier) UnmarshalJSON(data []byte) error {
	if carrierkit.AllDigits(string(data)) {
		*id = identifier(data)
		return nil
	}

	var text string
	if err := json.Unmarshal(data, &text); err == nil {
		*id = identifier(text)
	}
	return nil
}

// lenient reads as much of a value as has the expected types.
type lenient[T any] struct{ Value T }

// UnmarshalJSON implements json.Unmarshaler.
func (l *lenient[T]) UnmarshalJSON(data []byte) error {
	// The decoder skips what does not fit, and goes on with the rest.
	_ = json.Unmarshal(data, &l.Value)
	return nil
}

type trackingAnswer struct {
	Payload *struct {
		Events   []json.RawMessage `json:"eventHistory"`
		Promised string            `json:"promisedDeliveryDate"`
	} `json:"payload"`
}

type event struct {
	Code     string `json:"eventCode"`
	Time     string `json:"eventTime"`
	Type     string `json:"shipmentType"` // "FORWARD" or "RETURNS"
	Location struct {
		City    string `json:"city"`
		State   string `json:"stateOrRegion"`
		Country string `json:"countryCode"`
	} `json:"location"`
}

type errorAnswer struct {
	Errors []struct {
		Code    string `json:"code"`
		Message string `json:"message"`
		Details string `json:"details"`
	} `json:"errors"`
}
