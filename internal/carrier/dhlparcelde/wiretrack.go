package dhlparcelde

import (
	"encoding/json"
	"encoding/xml"
)

// The wire format of the tracking API: elements that are all called "data", and
// have everything in attributes.

type trackRequest struct {
	XMLName  xml.Name `xml:"data"`
	User     string   `xml:"appname,attr"`
	Password string   `xml:"password,attr"`
	Request  string   `xml:"request,attr"`
	Language string   `xml:"language-code,attr"`
	Numbers  string   `xml:"piece-code,attr,omitempty"`

	// A question has numbers or a reference.
	Reference string `xml:"piece-customer-reference,attr,omitempty"`
	From      string `xml:"from-date,attr,omitempty"`
	To        string `xml:"to-date,attr,omitempty"`
}

type trackAnswer struct {
	XMLName xml.Name `xml:"data"`
	Code    string   `xml:"code,attr"`
	Error   string   `xml:"error,attr"`
	Pieces  []piece  `xml:"data"`
}

type piece struct {
	Searched     string      `xml:"searched-piece-code,attr"`
	Number       string      `xml:"piece-code,attr"`
	Reference    string      `xml:"piece-customer-reference,attr"`
	DeliveryFrom string      `xml:"delivery-timeframe-from,attr"`
	Lists        []eventList `xml:"data"`
}

type eventList struct {
	Events []event `xml:"data"`
}

type event struct {
	At       string `xml:"event-timestamp,attr" json:"event-timestamp"`
	Text     string `xml:"event-text,attr" json:"event-text,omitempty"`
	Status   string `xml:"event-status,attr" json:"event-status,omitempty"`
	Short    string `xml:"event-short-status,attr" json:"event-short-status,omitempty"`
	ICE      string `xml:"ice,attr" json:"ice,omitempty"`
	RIC      string `xml:"ric,attr" json:"ric,omitempty"`
	Location string `xml:"event-location,attr" json:"event-location,omitempty"`
	Country  string `xml:"event-country,attr" json:"event-country,omitempty"`
	Code     string `xml:"standard-event-code,attr" json:"standard-event-code,omitempty"`
	Return   string `xml:"ruecksendung,attr" json:"ruecksendung,omitempty"`
}

// raw returns the event as it is kept: scans are stored as JSON.
func (e event) raw() []byte {
	kept, err := json.Marshal(e)
	if err != nil {
		return nil // texts alone: it cannot fail
	}
	return kept
}
