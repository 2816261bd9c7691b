package canadapost

import "encoding/xml"

// The messages of Canada Post, only the fields that are used. Elements that are
// sent are in the order of its schemas. Answers are read whatever their namespace,
// which carries the version of a service.

type services struct {
	XMLName  xml.Name `xml:"services"`
	Services []struct {
		Code string `xml:"service-code"`
	} `xml:"service"`
}

// A mailingScenario asks for prices.
type mailingScenario struct {
	XMLName     xml.Name        `xml:"http://www.canadapost.ca/ws/ship/rate-v4 mailing-scenario"`
	Customer    string          `xml:"customer-number"`
	Contract    string          `xml:"contract-id,omitempty"`
	QuoteType   string          `xml:"quote-type"`
	MailingDate string          `xml:"expected-mailing-date"`
	Options     *optionList     `xml:"options"`
	Parcel      parcel          `xml:"parcel-characteristics"`
	Origin      string          `xml:"origin-postal-code"`
	Destination rateDestination `xml:"destination"`
}

type rateDestination struct {
	Domestic      *domesticPlace      `xml:"domestic"`
	UnitedStates  *americanPlace      `xml:"united-states"`
	International *internationalPlace `xml:"international"`
}

type domesticPlace struct {
	Zip string `xml:"postal-code"`
}

type americanPlace struct {
	Zip string `xml:"zip-code"`
}

type internationalPlace struct {
	Country string `xml:"country-code"`
	Zip     string `xml:"postal-code,omitempty"`
}

type optionList struct {
	Options []option `xml:"option"`
}

type option struct {
	Code   string `xml:"option-code"`
	Amount string `xml:"option-amount,omitempty"`
}

type parcel struct {
	Weight     string      `xml:"weight"` // kilograms
	Dimensions *dimensions `xml:"dimensions"`
}

// dimensions are in centimetres.
type dimensions struct {
	Length string `xml:"length"`
	Width  string `xml:"width"`
	Height string `xml:"height"`
}

type priceQuotes struct {
	XMLName xml.Name     `xml:"price-quotes"`
	Quotes  []priceQuote `xml:"price-quote"`
}

type priceQuote struct {
	Service string `xml:"service-code"`
	Price   struct {
		Due     string `xml:"due"`
		GST     string `xml:"taxes>gst"`
		PST     string `xml:"taxes>pst"`
		HST     string `xml:"taxes>hst"`
		Options []struct {
			Code  string `xml:"option-code"`
			Price string `xml:"option-price"`
		} `xml:"options>option"`
		Adjustments []struct {
			Code string `xml:"adjustment-code"`
			Cost string `xml:"adjustment-cost"`
		} `xml:"adjustments>adjustment"`
	} `xml:"price-details"`
	CubedWeight string `xml:"weight-details>cubed-weight"`
	Standard    struct {
		IsGuaranteed string `xml:"guaranteed-delivery"`
		Days         string `xml:"expected-transit-time"`
		Date         string `xml:"expected-delivery-date"`
	} `xml:"service-standard"`
}

// A shipmentRequest buys a label.
type shipmentRequest struct {
	XMLName       xml.Name     `xml:"http://www.canadapost.ca/ws/shipment-v8 shipment"`
	RequestID     string       `xml:"customer-request-id"`
	IsTransmitted bool         `xml:"transmit-shipment"`
	ShippingPoint string       `xml:"requested-shipping-point"`
	MailingDate   string       `xml:"expected-mailing-date"`
	HasPrice      bool         `xml:"provide-pricing-info"`
	Delivery      deliverySpec `xml:"delivery-spec"`
}

type deliverySpec struct {
	Service     string      `xml:"service-code"`
	Sender      sender      `xml:"sender"`
	Destination destination `xml:"destination"`
	Options     *optionList `xml:"options"`
	Parcel      parcel      `xml:"parcel-characteristics"`
	Print       printing    `xml:"print-preferences"`
	Shows       preferences `xml:"preferences"`
	References  references  `xml:"references"`
	Customs     *customs    `xml:"customs"`
	Settlement  settlement  `xml:"settlement-info"`
}

type sender struct {
	Name    string  `xml:"name,omitempty"`
	Company string  `xml:"company"`
	Phone   string  `xml:"contact-phone"`
	Address address `xml:"address-details"`
}

type destination struct {
	Name    string  `xml:"name,omitempty"`
	Company string  `xml:"company,omitempty"`
	Phone   string  `xml:"client-voice-number,omitempty"`
	Address address `xml:"address-details"`
}

type address struct {
	Line1   string `xml:"address-line-1"`
	Line2   string `xml:"address-line-2,omitempty"`
	City    string `xml:"city"`
	State   string `xml:"prov-state,omitempty"`
	Country string `xml:"country-code"`
	Zip     string `xml:"postal-zip-code,omitempty"`
}

type printing struct {
	Format   string `xml:"output-format"`
	Encoding string `xml:"encoding"`
}

type preferences struct {
	HasInstructions bool `xml:"show-packing-instructions"`
	HasPostage      bool `xml:"show-postage-rate"`
	HasInsurance    bool `xml:"show-insured-value"`
}

type references struct {
	First  string `xml:"customer-ref-1,omitempty"`
	Second string `xml:"customer-ref-2,omitempty"`
}

type customs struct {
	Currency    string        `xml:"currency"`
	Reason      string        `xml:"reason-for-export"`
	OtherReason string        `xml:"other-reason,omitempty"`
	Items       []customsItem `xml:"sku-list>item"`
	Invoice     string        `xml:"invoice-number,omitempty"`
	IOSS        string        `xml:"ioss-id,omitempty"`
}

type customsItem struct {
	Quantity    int    `xml:"customs-number-of-units"`
	Description string `xml:"customs-description"`
	SKU         string `xml:"sku,omitempty"`
	HSCode      string `xml:"hs-tariff-code,omitempty"`
	Weight      string `xml:"unit-weight"` // kilograms
	Value       string `xml:"customs-value-per-unit"`
	Country     string `xml:"country-of-origin,omitempty"`
	Province    string `xml:"province-of-origin,omitempty"`
}

type settlement struct {
	Contract string `xml:"contract-id"`
	Payment  string `xml:"intended-method-of-payment"`
}

// shipmentInfo is a shipment that was sold.
type shipmentInfo struct {
	XMLName xml.Name `xml:"shipment-info"`
	soldShipment
}

type soldShipment struct {
	RequestID string `xml:"customer-request-id"`
	ID        string `xml:"shipment-id"`
	PIN       string `xml:"tracking-pin"`
	Price     struct {
		Due     string `xml:"due-amount"`
		Service string `xml:"service-code"`
		Date    string `xml:"service-standard>expected-delivery-date"`
	} `xml:"shipment-price"`
	Links []link `xml:"links>link"`
}

type link struct {
	Relation  string `xml:"rel,attr"`
	Address   string `xml:"href,attr"`
	MediaType string `xml:"media-type,attr"`
}

// shipments is the answer to a look-up.
type shipments struct {
	XMLName   xml.Name       `xml:"shipments"`
	Shipments []soldShipment `xml:"shipment-info"`
	Links     []link         `xml:"link"` // instead, unless Canada Post shows rows
}

type refundRequest struct {
	XMLName xml.Name `xml:"http://www.canadapost.ca/ws/shipment-v8 shipment-refund-request"`
	Email   string   `xml:"email"`
}

type refundInfo struct {
	XMLName xml.Name `xml:"shipment-refund-request-info"`
	Ticket  string   `xml:"service-ticket-id"`
}

// Labels without a contract are sold by a service of their own: it charges the
// card of the account's profile at once, and knows neither a request id nor a
// format of labels.

// A nonContractRequest buys a label.
type nonContractRequest struct {
	XMLName       xml.Name        `xml:"http://www.canadapost.ca/ws/ncshipment-v4 non-contract-shipment"`
	ShippingPoint string          `xml:"requested-shipping-point"`
	Delivery      nonContractSpec `xml:"delivery-spec"`
}

type nonContractSpec struct {
	Service     string            `xml:"service-code"`
	Sender      nonContractSender `xml:"sender"`
	Destination destination       `xml:"destination"`
	Options     *optionList       `xml:"options"`
	Parcel      parcel            `xml:"parcel-characteristics"`
	Shows       preferences       `xml:"preferences"`
	References  references        `xml:"references"`
	Customs     *customs          `xml:"customs"`
}

type nonContractSender struct {
	Name    string          `xml:"name,omitempty"`
	Company string          `xml:"company"`
	Phone   string          `xml:"contact-phone"`
	Address domesticAddress `xml:"address-details"`
}

// A domesticAddress has no country: it is in Canada.
type domesticAddress struct {
	Line1 string `xml:"address-line-1"`
	Line2 string `xml:"address-line-2,omitempty"`
	City  string `xml:"city"`
	State string `xml:"prov-state"`
	Zip   string `xml:"postal-zip-code"`
}

// nonContractInfo is a shipment that was sold.
type nonContractInfo struct {
	XMLName xml.Name `xml:"non-contract-shipment-info"`
	soldShipment
}

// nonContractDetails is a shipment as it was requested.
type nonContractDetails struct {
	XMLName    xml.Name   `xml:"non-contract-shipment-details"`
	References references `xml:"delivery-spec>references"`
}

// nonContractReceipt is what was charged.
type nonContractReceipt struct {
	XMLName  xml.Name `xml:"non-contract-shipment-receipt"`
	Charged  string   `xml:"cc-receipt-details>charge-amount"`
	Currency string   `xml:"cc-receipt-details>currency"`
	Date     string   `xml:"service-standard>expected-delivery-date"`
}

// nonContractList is the answer to a look-up.
type nonContractList struct {
	XMLName xml.Name `xml:"non-contract-shipments"`
	Links   []link   `xml:"link"`
}

type nonContractRefund struct {
	XMLName xml.Name `xml:"http://www.canadapost.ca/ws/ncshipment-v4 non-contract-shipment-refund-request"`
	Email   string   `xml:"email"`
}

type nonContractRefundInfo struct {
	XMLName xml.Name `xml:"non-contract-shipment-refund-request-info"`
	Ticket  string   `xml:"service-ticket-id"`
}

// A returnRequest makes a label that brings a parcel back.
type returnRequest struct {
	XMLName    xml.Name         `xml:"http://www.canadapost.ca/ws/authreturn-v2 authorized-return"`
	Service    string           `xml:"service-code"`
	Returner   returnParty      `xml:"returner"`
	Receiver   returnParty      `xml:"receiver"`
	Parcel     parcel           `xml:"parcel-characteristics"`
	Print      printing         `xml:"print-preferences"`
	Settlement returnSettlement `xml:"settlement-info"`
	References references       `xml:"references"`
}

type returnParty struct {
	Name    string        `xml:"name"`
	Company string        `xml:"company,omitempty"`
	Address returnAddress `xml:"domestic-address"`
}

// A returnAddress is a domestic address with other names.
type returnAddress struct {
	Line1    string `xml:"address-line-1"`
	Line2    string `xml:"address-line-2,omitempty"`
	City     string `xml:"city"`
	Province string `xml:"province"`
	Zip      string `xml:"postal-code"`
}

type returnSettlement struct {
	Customer string `xml:"paid-by-customer"`
	Contract string `xml:"contract-id"`
}

// returnInfo is a label that was made. It does not repeat any reference.
type returnInfo struct {
	XMLName xml.Name `xml:"authorized-return-info"`
	PIN     string   `xml:"tracking-pin"`
	Links   []link   `xml:"links>link"`
}

// messages are the errors of every service.
type messages struct {
	XMLName  xml.Name  `xml:"messages"`
	Messages []message `xml:"message"`
}

type message struct {
	Code string `xml:"code"`
	Text string `xml:"description"`
}
