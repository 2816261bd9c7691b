package postnl

import (
	"encoding/json"
	"regexp"
	"strings"
)

// PostNL's own messages: only the fields that are used.

type barcodeAnswer struct {
	Barcode string `json:"Barcode"`
}

// What a label is requested with.
type (
	labelRequest struct {
		Customer  customer   `json:"Customer"`
		Message   message    `json:"Message"`
		Shipments []shipment `json:"Shipments"`
	}
	customer struct {
		Address            address `json:"Address"`
		CollectionLocation string  `json:"CollectionLocation,omitempty"`
		CustomerCode       string  `json:"CustomerCode"`
		CustomerNumber     string  `json:"CustomerNumber"`
		Name               string  `json:"Name,omitempty"`
	}
	message struct {
		MessageID        string `json:"MessageID"`
		MessageTimeStamp string `json:"MessageTimeStamp"`
		Printertype      string `json:"Printertype"`
	}
	shipment struct {
		Addresses           []address       `json:"Addresses"`
		Amounts             []amount        `json:"Amounts,omitempty"`
		Barcode             string          `json:"Barcode"`
		Contacts            []contact       `json:"Contacts,omitempty"`
		CustomerOrderNumber string          `json:"CustomerOrderNumber,omitempty"`
		DeliveryDate        string          `json:"DeliveryDate,omitempty"`
		Dimension           dimension       `json:"Dimension"`
		ProductCodeDelivery string          `json:"ProductCodeDelivery"`
		ProductOptions      []productOption `json:"ProductOptions,omitempty"`
		Reference           string          `json:"Reference"`
	}
	productOption struct {
		Characteristic string `json:"Characteristic"`
		Option         string `json:"Option"`
	}
	address struct {
		AddressType      string `json:"AddressType"`
		Name             string `json:"Name,omitempty"`
		CompanyName      string `json:"CompanyName,omitempty"`
		Street           string `json:"Street,omitempty"`
		HouseNr          string `json:"HouseNr,omitempty"`
		HouseNrExt       string `json:"HouseNrExt,omitempty"`
		StreetHouseNrExt string `json:"StreetHouseNrExt,omitempty"`
		Buildingname     string `json:"Buildingname,omitempty"`
		Zipcode          string `json:"Zipcode,omitempty"`
		City             string `json:"City"`
		Region           string `json:"Region,omitempty"`
		Countrycode      string `json:"Countrycode"`
	}
	amount struct {
		AmountType string      `json:"AmountType"`
		Currency   string      `json:"Currency"`
		Value      json.Number `json:"Value"`
	}
	contact struct {
		ContactType string `json:"ContactType"`
		Email       string `json:"Email,omitempty"`
		TelNr       string `json:"TelNr,omitempty"`
	}
	dimension struct {
		Weight int64 `json:"Weight"` // grams
		Length int64 `json:"Length,omitempty"`
		Width  int64 `json:"Width,omitempty"`
		Height int64 `json:"Height,omitempty"`
	}
)

type labelAnswer struct {
	ResponseShipments []struct {
		Barcode string `json:"Barcode"`
		Labels  []struct {
			Content []byte `json:"Content"` // base64
		} `json:"Labels"`
		Errors   []problem `json:"Errors"`
		Warnings []problem `json:"Warnings"`
	} `json:"ResponseShipments"`
}

// problem is an error or a warning of PostNL's, in all of its forms.
type problem struct {
	Error        string `json:"Error"`
	Code         string `json:"Code"`
	Description  string `json:"Description"`
	ErrorMessage string `json:"ErrorMsg"`
	ErrorNumber  string `json:"ErrorNumber"`
	Message      string `json:"Message"` // also "message"
}

// What the locations API answers.
type (
	locationsAnswer struct {
		Result *struct {
			Locations json.RawMessage `json:"ResponseLocation"` // a list, or one
		} `json:"GetLocationsResult"`
	}
	location struct {
		Code    text   `json:"LocationCode"`
		Name    string `json:"Name"`
		Address struct {
			Street     string `json:"Street"`
			HouseNr    text   `json:"HouseNr"`
			HouseNrExt text   `json:"HouseNrExt"`
			Zipcode    string `json:"Zipcode"`
			City       string `json:"City"`
			Country    string `json:"Countrycode"`
		} `json:"Address"`
		Distance  int64   `json:"Distance"` // metres
		Latitude  float64 `json:"Latitude"`
		Longitude float64 `json:"Longitude"`
		Options   struct {
			List []string `json:"string"`
		} `json:"DeliveryOptions"`
		Hours map[string]struct {
			Text json.RawMessage `json:"string"`
		} `json:"OpeningHours"`
	}
)

// What the status API answers.
type (
	statusAnswer struct {
		Complete *struct {
			Shipment *statusShipment `json:"Shipment"`
		} `json:"CompleteStatus"`
		Current *struct {
			Shipment *statusShipment `json:"Shipment"`
		} `json:"CurrentStatus"`
		Warnings []problem `json:"Warnings"`
	}
	statusShipment struct {
		MainBarcode  string `json:"MainBarcode"`
		Barcode      string `json:"Barcode"`
		Reference    text   `json:"Reference"`
		DeliveryDate text   `json:"DeliveryDate"`
		Expectation  struct {
			To text `json:"ETATo"`
		} `json:"Expectation"`
		Status    json.RawMessage `json:"Status"`    // one, or a list
		OldStatus json.RawMessage `json:"OldStatus"` // a list, or one
	}
	parcelStatus struct {
		TimeStamp         text `json:"TimeStamp"`
		StatusCode        text `json:"StatusCode"`
		StatusDescription text `json:"StatusDescription"`
	}
	signatureAnswer struct {
		Signature *struct {
			Barcode string `json:"Barcode"`
			Image   []byte `json:"SignatureImage"` // base64
		} `json:"Signature"`
		Warnings []problem `json:"Warnings"`
	}
)

// text is a text of the status API: an empty one is written "{}", as a text or as
// an object, and some are numbers.
type text string

// UnmarshalJSON reads any of them.
func (t *text) UnmarshalJSON(data []byte) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	*t = ""
	switch value := value.(type) {
	case string:
		if value != "{}" {
			*t = text(value)
		}
	case float64:
		*t = text(strings.Trim(string(data), `"`))
	}
	return nil
}

// shipment returns the parcel of an answer; not ok if there is none.
func (a statusAnswer) shipment() (statusShipment, bool) {
	switch {
	case a.Complete != nil && a.Complete.Shipment != nil && a.Complete.Shipment.Barcode != "":
		return *a.Complete.Shipment, true
	case a.Current != nil && a.Current.Shipment != nil && a.Current.Shipment.Barcode != "":
		return *a.Current.Shipment, true
	}
	return statusShipment{}, false
}

// noParcel are PostNL's words for a parcel that it does not have. They must speak of
// the parcel: a customer can be unknown too, and then the parcel may exist.
var noParcel = regexp.MustCompile(`\bno (shipments?|parcels?) (was |were )?found\b|\b(shipment|parcel|barcode|reference)s? (was |were |is )?not found\b`)

// saysUnknown reports whether PostNL states that it has no such parcel, and
// nothing else.
func (a statusAnswer) saysUnknown() bool {
	for _, warning := range a.Warnings {
		if !noParcel.MatchString(strings.ToLower(warning.refusal().Message)) {
			return false
		}
	}
	return len(a.Warnings) > 0
}
