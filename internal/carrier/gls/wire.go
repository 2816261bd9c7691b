package gls

import (
	"encoding/json"
)

// The wire format, reduced to the fields that are used.
//
// GLS refuses members that it does not know, also those of the files on its
// developer portal, which spell some of them otherwise: Zipcode, Email. In its
// answers either spelling is read, because letter case does not matter there.

type createRequest struct {
	Shipment shipment `json:"Shipment"`
	Printing printing `json:"PrintingOptions"`
}

type shipment struct {
	References   []string          `json:"ShipmentReference"`
	ShippingDate string            `json:"ShippingDate"` // a day; fact: shipping-date-day
	IncotermCode string            `json:"IncotermCode,omitempty"`
	Identifier   string            `json:"Identifier"`
	Middleware   string            `json:"Middleware"` // fact: middleware-required
	Product      string            `json:"Product"`
	Consignee    consignee         `json:"Consignee"`
	Shipper      shipper           `json:"Shipper"`
	Units        []unit            `json:"ShipmentUnit"`
	Services     []shipmentService `json:"Service,omitempty"`
}

type consignee struct {
	Category string  `json:"Category"`
	Address  address `json:"Address"`
}

type shipper struct {
	ContactID string   `json:"ContactID"`
	Printed   *address `json:"AlternativeShipperAddress,omitempty"`
}

type address struct {
	Name1        string `json:"Name1"`
	Name2        string `json:"Name2,omitempty"`
	Name3        string `json:"Name3,omitempty"`
	CountryCode  string `json:"CountryCode"`
	Province     string `json:"Province,omitempty"`
	ZIPCode      string `json:"ZIPCode,omitempty"` // fact: address-zip-member
	City         string `json:"City"`
	Street       string `json:"Street"` // with the house number
	StreetNumber string `json:"StreetNumber,omitempty"`
	Phone        string `json:"FixedLinePhonenumber,omitempty"`
	Email        string `json:"eMail,omitempty"` // fact: address-email-member
}

type unit struct {
	References []string      `json:"ShipmentUnitReference"`
	Weight     json.Number   `json:"Weight"` // kilograms
	Note       string        `json:"Note1,omitempty"`
	Services   []unitService `json:"Service,omitempty"`
}

// A shipmentService has one of its members.
type shipmentService struct {
	Plain *namedService `json:"Service,omitempty"`
	Shop  *shopService  `json:"ShopDelivery,omitempty"`
	Back  *backService  `json:"ShopReturn,omitempty"`
}

type namedService struct {
	Name string `json:"ServiceName"`
}

type shopService struct {
	Name string `json:"ServiceName"`
	Shop string `json:"ParcelShopID"`
}

type backService struct {
	Name   string `json:"ServiceName"`
	Labels int    `json:"NumberOfLabels"`
}

// A unitService has one of its members.
type unitService struct {
	Liability *amountService `json:"AddonLiability,omitempty"`
	Cash      *amountService `json:"Cash,omitempty"`
}

type amountService struct {
	Name     string      `json:"ServiceName"`
	Reason   string      `json:"Reason,omitempty"`
	Amount   json.Number `json:"Amount"`
	Currency string      `json:"Currency"`
}

type printing struct {
	Labels labelFormat `json:"ReturnLabels"`
}

type labelFormat struct {
	Template string `json:"TemplateSet"`
	Format   string `json:"LabelFormat"`
}

type reprintRequest struct {
	Reference string   `json:"ShipmentReference"`
	Created   string   `json:"CreationDate"`
	Printing  printing `json:"PrintingOptions"`
}

type listRequest struct {
	Reference string `json:"ShipmentReference"`
	From      string `json:"DateFrom"`
	To        string `json:"DateTo"`
}

type listAnswer struct {
	Units []listedUnit `json:"UnitItems"`
}

type listedUnit struct {
	References []string `json:"ShipmentReference"`
	Created    string   `json:"InitialDate"`
	Status     string   `json:"Status"`
}

type createdAnswer struct {
	Created *createdShipment `json:"CreatedShipment"`
}

type createdShipment struct {
	References []string      `json:"ShipmentReference"`
	Parcels    []parcelData  `json:"ParcelData"`
	Printed    []printedData `json:"PrintData"`
}

type parcelData struct {
	TrackID    string   `json:"TrackID"`
	Number     string   `json:"ParcelNumber"`
	References []string `json:"ShipmentUnitReference"`
}

type printedData struct {
	Data   files  `json:"Data"`
	Format string `json:"LabelFormat"`
}

// files are texts of base64: a list of them, or a single one.
type files [][]byte

// UnmarshalJSON reads both.
func (f *files) UnmarshalJSON(data []byte) error {
	var list [][]byte
	if json.Unmarshal(data, &list) == nil {
		*f = list
		return nil
	}
	var single []byte
	if err := json.Unmarshal(data, &single); err != nil {
		return err
	}
	*f = files{single}
	return nil
}

type cancelAnswer struct {
	Result string `json:"Result"`
}

type location struct {
	CountryCode string `json:"CountryCode"`
	ZIPCode     string `json:"ZIPCode,omitempty"`
}

type allowedRequest struct {
	Source      location `json:"Source"`
	Destination location `json:"Destination"`
	ContactID   string   `json:"ContactID"`
}

type allowedAnswer struct {
	Services []json.RawMessage `json:"AllowedServices"`
}

type proofRequest struct {
	Number string `json:"ParcelNumber"`
}

type proofAnswer struct {
	Item *struct {
		Images [][]byte `json:"ImageData"`
	} `json:"Poditem"`
}

type shopRequest struct {
	CountryCode string `json:"CountryCode"`
	ZIPCode     string `json:"ZIPCode,omitempty"`
	City        string `json:"City,omitempty"`
	Limit       string `json:"MaxNumberOfShops,omitempty"`
}

type shopAnswer struct {
	Shops []parcelShop `json:"ParcelShop"`
}

type parcelShop struct {
	ID      string    `json:"ParcelShopID"`
	Address address   `json:"Address"`
	Days    []openDay `json:"WorkingDay"`
}

type openDay struct {
	Day   string `json:"DayOfWeek"`
	Hours struct {
		List []openHours `json:"OpeningHours"`
	} `json:"OpeningHours"`
}

type openHours struct {
	From string `json:"From"`
	To   string `json:"To"`
}

type trackAnswer struct {
	Parcels []trackedParcel `json:"parcels"`
}

type trackedParcel struct {
	Requested string         `json:"requested"`
	Status    string         `json:"status"`
	At        string         `json:"statusDateTime"`
	Events    []trackedEvent `json:"events"`
	ErrorCode string         `json:"errorCode"`
}

type trackedEvent struct {
	Code        string `json:"code,omitempty"`
	Description string `json:"description,omitempty"`
	City        string `json:"city,omitempty"`
	Country     string `json:"country,omitempty"`
	At          string `json:"eventDateTime"`
}

// errorAnswer has the members of all bodies of errors.
type errorAnswer struct {
	Errors []struct {
		Code    text   `json:"code"`
		Message string `json:"message"`
	} `json:"errors"`
	Fault struct {
		Text   string `json:"faultstring"`
		Detail struct {
			Code string `json:"errorcode"`
		} `json:"detail"`
	} `json:"fault"`
	Title  string `json:"title"`
	Status text   `json:"status"`
	Detail string `json:"detail"`
}

// text is a member that GLS sends as a text or as a number.
type text string

// UnmarshalJSON reads both.
func (t *text) UnmarshalJSON(data []byte) error {
	var written string
	if err := json.Unmarshal(data, &written); err == nil {
		*t = text(written)
		return nil
	}
	var number json.Number
	err := json.Unmarshal(data, &number)
	*t = text(number)
	return err
}
