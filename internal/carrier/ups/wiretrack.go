package ups

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// Tracking answers and pushes are decoded part by part: a part that cannot be
// read is left out and does not affect the others.

// word is a text or a number; anything else counts as absent.
type word string

// UnmarshalJSON reads any of them.
func (w *word) UnmarshalJSON(data []byte) error {
	*w = ""
	var s string
	switch {
	case len(data) == 0:
	case data[0] == '"':
		if plain, ok := carrierkit.Plain(data); ok {
			*w = word(bytes.TrimSpace(plain))
			return nil
		}
		if json.Unmarshal(data, &s) == nil {
			*w = word(strings.TrimSpace(strings.Map(printable, s)))
		}
	case data[0] == '-' || data[0] >= '0' && data[0] <= '9':
		*w = word(data)
	}
	return nil
}

// printable drops control characters: no text that is kept may hold them.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// maybe is an object, or the first of a list, or nothing.
type maybe[T any] struct {
	value   T
	present bool
}

// UnmarshalJSON reads any of them.
func (m *maybe[T]) UnmarshalJSON(data []byte) error {
	*m = maybe[T]{}

	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return nil
		}
		data = list[0]
	}
	if len(data) > 0 && data[0] == '{' {
		m.present = json.Unmarshal(data, &m.value) == nil
	}
	return nil
}

type trackAnswer struct {
	TrackResponse maybe[struct {
		Shipment some[maybe[struct {
			Package  some[maybe[trackedPackage]] `json:"package"`
			Warnings some[maybe[trackWarning]]   `json:"warnings"`
		}]] `json:"shipment"`
	}] `json:"trackResponse"`
}

// trackWarning is why a part of an answer is empty.
type trackWarning struct {
	Code word `json:"code"`
}

// warns reports whether the answer has a warning with the code.
func (a trackAnswer) warns(code string) bool {
	for _, shipment := range a.TrackResponse.value.Shipment {
		for _, warning := range shipment.value.Warnings {
			if string(warning.value.Code) == code {
				return true
			}
		}
	}
	return false
}

// packages returns all parcels of the answer.
func (a trackAnswer) packages() (list []trackedPackage) {
	for _, shipment := range a.TrackResponse.value.Shipment {
		for _, parcel := range shipment.value.Package {
			if parcel.present {
				list = append(list, parcel.value)
			}
		}
	}
	return list
}

type trackedPackage struct {
	TrackingNumber  word                          `json:"trackingNumber"`
	Activity        some[json.RawMessage]         `json:"activity"`
	DeliveryDate    some[maybe[datedEvent]]       `json:"deliveryDate"`
	DeliveryTime    maybe[timedEvent]             `json:"deliveryTime"`
	Service         maybe[trackedService]         `json:"service"`
	CurrentStatus   maybe[trackedStatus]          `json:"currentStatus"`
	ReferenceNumber some[maybe[trackedReference]] `json:"referenceNumber"`
	PackageAddress  some[maybe[trackedAddress]]   `json:"packageAddress"`

	DeliveryInformation maybe[struct {
		POD maybe[struct {
			Content word `json:"content"` // base64
		}] `json:"pod"`
	}] `json:"deliveryInformation"`
}

type trackedStatus struct {
	Type       word `json:"type"`
	StatusCode word `json:"statusCode"`
}

type trackedReference struct {
	Number word `json:"number"`
}

type trackedAddress struct {
	Type    word `json:"type"` // "ORIGIN", "DESTINATION"
	Address maybe[struct {
		PostalCode word `json:"postalCode"`
	}] `json:"address"`
}

type datedEvent struct {
	Type word `json:"type"`
	Date word `json:"date"`
}

type timedEvent struct {
	EndTime word `json:"endTime"`
}

type trackedService struct {
	Description word `json:"description"`
}

type activity struct {
	Location maybe[struct {
		Address maybe[place] `json:"address"`
	}] `json:"location"`
	Status maybe[struct {
		Type        word `json:"type"`
		Code        word `json:"code"`
		StatusCode  word `json:"statusCode"`
		Description word `json:"description"`
	}] `json:"status"`
	Date      word `json:"date"`
	Time      word `json:"time"`
	GMTDate   word `json:"gmtDate"`
	GMTTime   word `json:"gmtTime"`
	GMTOffset word `json:"gmtOffset"`
}

// alert is one push.
type alert struct {
	TrackingNumber   word         `json:"trackingNumber"`
	ActivityLocation maybe[place] `json:"activityLocation"`
	ActivityStatus   maybe[struct {
		Type            word `json:"type"`
		Code            word `json:"code"`
		Description     word `json:"description"`
		DescriptionCode word `json:"descriptionCode"` // the status code
	}] `json:"activityStatus"`
	LocalActivityDate     word `json:"localActivityDate"`
	LocalActivityTime     word `json:"localActivityTime"`
	GMTActivityDate       word `json:"gmtActivityDate"`
	GMTActivityTime       word `json:"gmtActivityTime"`
	GMTOffset             word `json:"gmtOffset"`
	ScheduledDeliveryDate word `json:"scheduledDeliveryDate"`
	ActualDeliveryDate    word `json:"actualDeliveryDate"`
	DeliveryEndTime       word `json:"deliveryEndTime"`
}

type subscriptionRequest struct {
	Locale               string   `json:"locale"`
	CountryCode          string   `json:"countryCode"`
	TrackingNumberList   []string `json:"trackingNumberList,omitempty"`
	ShipperAccountNumber string   `json:"shipperAccountNumber,omitempty"`
	SubAccountType       []string `json:"subAccountType,omitempty"`
}

type subscriptionAnswer struct {
	ValidTrackingNumbers some[word] `json:"validTrackingNumbers"`
	ExpiryDate           word       `json:"expiryDate"`
}

type place struct {
	City          word `json:"city"`
	StateProvince word `json:"stateProvince"`
	CountryCode   word `json:"countryCode"`
	Country       word `json:"country"`
}
