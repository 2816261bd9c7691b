package canadapost

import "encoding/xml"

// trackingDetail is the history of a parcel. Canada Post says in its place that it
// has none by messages, with any status; XMLName tells one from the other.
type trackingDetail struct {
	XMLName  xml.Name
	Number   string       `xml:"pin"`
	Estimate string       `xml:"expected-delivery-date"`
	Changed  string       `xml:"changed-expected-date"` // a later estimate
	Zip      string       `xml:"destination-postal-id"`
	Events   []occurrence `xml:"significant-events>occurrence"`
	Messages []message    `xml:"message"`
}

type occurrence struct {
	Code     string `xml:"event-identifier"`
	Date     string `xml:"event-date"`
	Time     string `xml:"event-time"`
	Zone     string `xml:"event-time-zone"`
	Text     string `xml:"event-description"`
	Site     string `xml:"event-site"`
	Province string `xml:"event-province"`
}
