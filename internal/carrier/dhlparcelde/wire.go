package dhlparcelde

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// The wire format of the shipping API, reduced to the fields that are used.

type orderRequest struct {
	Profile   string     `json:"profile"`
	Shipments []shipment `json:"shipments"`
}

type shipment struct {
	Product       string          `json:"product"`
	BillingNumber string          `json:"billingNumber"`
	RefNo         string          `json:"refNo"`
	CostCenter    string          `json:"costCenter,omitempty"`
	ShipDate      string          `json:"shipDate"`
	Shipper       contact         `json:"shipper"`
	Consignee     any             `json:"consignee"` // a contact or a dropPoint
	Details       details         `json:"details"`
	Services      *valueAdded     `json:"services,omitempty"`
	Customs       *customsDetails `json:"customs,omitempty"`
}

type contact struct {
	Name1       string `json:"name1"`
	Name2       string `json:"name2,omitempty"`
	Name3       string `json:"name3,omitempty"`
	Street      string `json:"addressStreet"` // with the house number
	MoreAddress string `json:"additionalAddressInformation1,omitempty"`
	PostalCode  string `json:"postalCode,omitempty"`
	City        string `json:"city"`
	State       string `json:"state,omitempty"`
	Country     string `json:"country"`
	Phone       string `json:"phone,omitempty"`
	Email       string `json:"email,omitempty"`
}

// A dropPoint is a Packstation or a post office, known by which id it has.
type dropPoint struct {
	Name       string `json:"name"`
	LockerID   int    `json:"lockerID,omitempty"`
	RetailID   int    `json:"retailID,omitempty"`
	PostNumber string `json:"postNumber,omitempty"`
	Email      string `json:"email,omitempty"`
	PostalCode string `json:"postalCode"`
	City       string `json:"city"`
	Country    string `json:"country"`
}

type details struct {
	Size   *size  `json:"dim,omitempty"`
	Weight weight `json:"weight"`
}

type size struct {
	Unit   string `json:"uom"`
	Length int64  `json:"length"`
	Width  int64  `json:"width"`
	Height int64  `json:"height"`
}

type weight struct {
	Unit  string `json:"uom"`
	Value int64  `json:"value"`
}

type amount struct {
	Currency string      `json:"currency"`
	Value    json.Number `json:"value"`
}

type valueAdded struct {
	VisualCheckOfAge       string  `json:"visualCheckOfAge,omitempty"`
	SignedForByRecipient   bool    `json:"signedForByRecipient,omitempty"`
	NoNeighbourDelivery    bool    `json:"noNeighbourDelivery,omitempty"`
	AdditionalInsurance    *amount `json:"additionalInsurance,omitempty"`
	Endorsement            string  `json:"endorsement,omitempty"`
	Premium                *bool   `json:"premium,omitempty"` // false is economy; without it, DHL chooses
	GoGreenPlus            bool    `json:"goGreenPlus,omitempty"`
	PostalDeliveryDutyPaid bool    `json:"postalDeliveryDutyPaid,omitempty"`
}

type customsDetails struct {
	InvoiceNo           string      `json:"invoiceNo,omitempty"`
	ExportType          string      `json:"exportType"`
	ExportDescription   string      `json:"exportDescription,omitempty"`
	ShippingConditions  string      `json:"shippingConditions,omitempty"`
	PostalCharges       amount      `json:"postalCharges"`
	ShipperCustomsRef   string      `json:"shipperCustomsRef,omitempty"`
	ConsigneeCustomsRef string      `json:"consigneeCustomsRef,omitempty"`
	Items               []commodity `json:"items"`
}

type commodity struct {
	Description string `json:"itemDescription"`
	Origin      string `json:"countryOfOrigin,omitempty"`
	HSCode      string `json:"hsCode,omitempty"`
	Quantity    int    `json:"packagedQuantity"`
	Value       amount `json:"itemValue"`
	Weight      weight `json:"itemWeight"`
}

type returnOrder struct {
	Receiver          string          `json:"receiverId"`
	CustomerReference string          `json:"customerReference,omitempty"` // 30 characters of it are printed
	Reference         string          `json:"shipmentReference"`           // shown in the portal alone
	Shipper           returnShipper   `json:"shipper"`
	Weight            weight          `json:"itemWeight"`
	Services          *returnServices `json:"services,omitempty"`
}

type returnShipper struct {
	Name1      string `json:"name1"`
	Name2      string `json:"name2,omitempty"`
	Name3      string `json:"name3,omitempty"`
	Street     string `json:"addressStreet"`
	House      string `json:"addressHouse"`
	PostalCode string `json:"postalCode"`
	City       string `json:"city"`
	Phone      string `json:"phone,omitempty"`
	Email      string `json:"email,omitempty"`
}

type returnServices struct {
	GoGreenPlus bool `json:"goGreenPlus"`
}

type returnAnswer struct {
	ShipmentNo text      `json:"shipmentNo"`
	Label      *document `json:"label"`
	QRLabel    *document `json:"qrLabel"`
}

type orderAnswer struct {
	Items []item `json:"items"`
}

type manifestAnswer struct {
	Date  string         `json:"manifestDate"`
	Items []manifestItem `json:"items"`
}

type manifestItem struct {
	ShipmentNo text `json:"shipmentNo"`
}

type item struct {
	ShipmentNo text      `json:"shipmentNo"`
	RefNo      string    `json:"shipmentRefNo"`
	Status     status    `json:"sstatus"`
	Label      *document `json:"label"`
	CustomsDoc *document `json:"customsDoc"`
	Messages   []message `json:"validationMessages"`
}

// status is how DHL judges a request or one of its items. The code has two names,
// of which the older one is deprecated.
type status struct {
	Title      string `json:"title"`
	StatusCode text   `json:"statusCode"`
	Status     text   `json:"status"`
	Detail     string `json:"detail"`
}

func (s status) code() int {
	for _, code := range []text{s.Status, s.StatusCode} {
		if n, err := strconv.Atoi(string(code)); err == nil {
			return n
		}
	}
	return 0
}

// problem is an error without items: a status, alone or as a member.
type problem struct {
	Status     status `json:"-"`
	Title      string `json:"title"`
	StatusCode text   `json:"statusCode"`
	Detail     string `json:"detail"`
}

func (p problem) statusInfo() status {
	return status{Title: p.Title, StatusCode: p.StatusCode, Detail: p.Detail}
}

// UnmarshalJSON reads both forms: "status" is an object in one and a number in the
// other.
func (p *problem) UnmarshalJSON(data []byte) error {
	type plain problem
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	var members struct {
		Status json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(data, &members); err != nil {
		return err
	}
	switch {
	case len(members.Status) == 0:
	case members.Status[0] == '{':
		return json.Unmarshal(members.Status, &p.Status)
	case p.StatusCode == "":
		return json.Unmarshal(members.Status, &p.StatusCode)
	}
	return nil
}

type message struct {
	Property string `json:"property"`
	Text     string `json:"validationMessage"`
	Code     text   `json:"validationMessageCode"`
	State    string `json:"validationState"`
}

type document struct {
	Encoded []byte `json:"b64"` // base64
	ZPL     string `json:"zpl2"`
}

type versionAnswer struct {
	API struct {
		Version string `json:"version"`
	} `json:"amp"`
	Backend struct {
		Version string `json:"version"`
	} `json:"backend"`
}

// text is a member that DHL sends as a text or as a number.
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

// seconds reads a duration in seconds.
func seconds(t text) time.Duration {
	n, err := strconv.ParseInt(strings.TrimSpace(string(t)), 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}
