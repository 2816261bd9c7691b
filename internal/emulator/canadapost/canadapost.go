// Package canadapost emulates Canada Post: the REST services that quote, sell,
// list, refund and track shipments with and without a contract, and that make
// return labels, with XML over real HTTP. It shares no code with the service, and
// tests compare the service's records with its ledger.
//
// Like the real services, it requires the exact media types and documents that are
// valid by the schemas, makes a second shipment of a repeated request, gives labels
// by links, which may answer 202 until the label is made, and does not cancel
// shipments that are transmitted or paid by card.
package canadapost

import (
	"encoding/xml"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

// What the emulator accepts: HTTP Basic, one customer with a contract, and one
// without.
const (
	User          = "emulated-cpc-user"
	Password      = "emulated-cpc-password"
	Customer      = "2004381"
	Contract      = "42708517"
	SmallCustomer = "7023210"             // has no contract
	Email         = "refunds@example.com" // any other works too
)

// The media types of the services.
const (
	rateType        = "application/vnd.cpc.ship.rate-v4+xml"
	shipmentType    = "application/vnd.cpc.shipment-v8+xml"
	nonContractType = "application/vnd.cpc.ncshipment-v4+xml"
	returnType      = "application/vnd.cpc.authreturn-v2+xml"
	trackType       = "application/vnd.cpc.track-v2+xml"
)

// post is the emulated carrier.
type post struct {
	*emulator.Server
	settings atomic.Pointer[settings]
}

// settings are how this Canada Post differs from a quick one. They are not
// faults: the real one does the same.
type settings struct {
	// NotReady is how often the link of a label answers 202 first.
	NotReady int `json:"notReady,omitempty"`
	// NoRequestID makes the look-up by request id unknown, as if its parameter
	// had another name.
	NoRequestID bool `json:"noRequestId,omitempty"`
	// ShipmentInfo makes look-ups show rows to clients that ask for them. It is
	// reserved for internal use, so usually they show links.
	ShipmentInfo bool `json:"shipmentInfo,omitempty"`
	// NoZonos says that the customers have not linked a Zonos account, which pays
	// the duties of parcels to the United States.
	NoZonos bool `json:"noZonos,omitempty"`
	// NoReceipt makes receipts of labels that were paid by card unavailable.
	NoReceipt bool `json:"noReceipt,omitempty"`
}

// New returns an emulator that records its sales in l.
func New(l *emulator.Ledger) *emulator.Server {
	p := &post{Server: emulator.New("canada_post", l)}
	p.settings.Store(&settings{})
	p.Failure = failure
	p.LookupDelay = 60 * time.Minute

	p.Handle("PUT /_emulator/settings", false, func(w http.ResponseWriter, r *http.Request) {
		emulator.Change(w, r, func(next settings) error {
			p.settings.Store(&next)
			return nil
		})
	})
	p.route("GET /rs/ship/service", rateType, p.listServices)
	p.route("POST /rs/ship/price", rateType, p.price)
	p.route("POST /rs/{customer}/{behalf}/shipment", shipmentType, p.sell)
	p.route("GET /rs/"+Customer+"/{behalf}/shipment", shipmentType, p.list)
	p.route("GET /rs/"+Customer+"/"+Customer+"/shipment/{id}", shipmentType, p.show)
	p.route("DELETE /rs/{customer}/{behalf}/shipment/{id}", shipmentType, p.cancel)
	p.route("POST /rs/{customer}/{behalf}/shipment/{id}/refund", shipmentType, p.refund)
	p.route("POST /rs/{customer}/ncshipment", nonContractType, p.sellNonContract)
	p.route("GET /rs/"+SmallCustomer+"/ncshipment", nonContractType, p.listNonContract)
	p.route("GET /rs/"+SmallCustomer+"/ncshipment/{id}", nonContractType, p.showNonContract)
	p.route("GET /rs/"+SmallCustomer+"/ncshipment/{id}/details", nonContractType, p.nonContractDetails)
	p.route("GET /rs/"+SmallCustomer+"/ncshipment/{id}/receipt", nonContractType, p.nonContractReceipt)
	p.route("POST /rs/{customer}/ncshipment/{id}/refund", nonContractType, p.refundNonContract)
	p.route("POST /rs/{customer}/{behalf}/authorizedreturn", returnType, p.sellReturn)
	p.route("GET /rs/artifact/{user}/{id}/{index}", "", p.artifact())
	p.route("GET /vis/track/pin/{pin}/detail", trackType, p.track)
	return p.Server
}

// route adds a path that requires credentials, its media type, and the customer.
func (p *post) route(pattern, mediaType string, handler http.HandlerFunc) {
	p.Handle(pattern, false, func(w http.ResponseWriter, r *http.Request) {
		user, password, ok := r.BasicAuth()
		allowed := Customer
		if mediaType == nonContractType {
			allowed = SmallCustomer
		}
		customer := r.PathValue("customer")
		behalf := r.PathValue("behalf")
		switch {
		case !ok || user != User || password != Password:
			p.Fail(w, http.StatusUnauthorized)
		case mediaType != "" && r.Header.Get("Accept") != mediaType:
			p.Fail(w, http.StatusNotAcceptable)
		case r.Method == http.MethodPost && r.Header.Get("Content-Type") != mediaType:
			p.Fail(w, http.StatusUnsupportedMediaType)
		case customer != "" && customer != allowed, behalf != "" && behalf != allowed:
			refuse(w, http.StatusForbidden, "AA004", "You cannot mail on behalf of the requested customer.")
		default:
			handler(w, r)
		}
	})
}

// messages are the errors of every service.
type messages struct {
	XMLName  xml.Name `xml:"http://www.canadapost.ca/ws/messages messages"`
	Messages []message
}

type message struct {
	XMLName     xml.Name `xml:"message"`
	Code        string   `xml:"code"`
	Description string   `xml:"description"`
}

// failure returns the response body for a status that the faults selected. The
// gateway in front of the services answers web pages.
func failure(status int) (contentType string, body []byte) {
	switch status {
	case http.StatusUnauthorized:
		return "application/xml", encode(messagesOf("E002", "AAA Authentication Failure"))
	case http.StatusBadRequest:
		return "application/xml", encode(messagesOf("7260", "The service is not available for the parcel or the destination."))
	case http.StatusTooManyRequests:
		return "application/xml", encode(messagesOf("Server", "Rejected by SLM Monitor"))
	case http.StatusNotAcceptable, http.StatusUnsupportedMediaType:
		return "application/xml", encode(messagesOf("E007", http.StatusText(status)))
	}
	return "text/html", []byte("<html><body><h1>" + http.StatusText(status) + "</h1></body></html>")
}

func messagesOf(code, description string) messages {
	return messages{Messages: []message{{Code: code, Description: description}}}
}

func refuse(w http.ResponseWriter, status int, code, description string) {
	reply(w, status, "application/xml", messagesOf(code, description))
}

func reply(w http.ResponseWriter, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(encode(body))
}

// encode encodes what the package itself made, which never fails.
func encode(v any) []byte {
	body, err := xml.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append([]byte(xml.Header), body...)
}
