package canadapost

import (
	"encoding/xml"
	"net/http"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

const soldNonContract = "ncshipment"

// sellNonContract answers POST /rs/{customer}/ncshipment.
func (p *post) sellNonContract(w http.ResponseWriter, r *http.Request) {
	var in delivery
	if complaint := decode(r, "non-contract-shipment", &in); complaint != "" {
		refuse(w, http.StatusBadRequest, "Server", "/rs/ncshipment: "+complaint)
		return
	}
	if !p.takes(w, in.refusal, in.Destination.Country) {
		return
	}

	entry := p.entryOf(r, in, kept{SoldBy: soldNonContract, Date: today()})
	entry.Reference = in.Second
	p.Sell(w, r, entry, func(sale emulator.Entry) (int, string, []byte) {
		return http.StatusOK, nonContractType, encode(nonContractInfoOf(r, sale))
	})
}

// nonContractInfo is a shipment as the answers show it.
type nonContractInfo struct {
	XMLName xml.Name `xml:"http://www.canadapost.ca/ws/ncshipment-v4 non-contract-shipment-info"`
	ID      string   `xml:"shipment-id"`
	PIN     string   `xml:"tracking-pin"`
	Links   struct {
		Links []link `xml:"link"`
	} `xml:"links"`
}

func nonContractInfoOf(r *http.Request, sale emulator.Entry) nonContractInfo {
	shown := nonContractInfo{ID: sale.ID, PIN: sale.Number}
	self := nonContractLink(r, sale)
	file := origin(r) + "/rs/artifact/" + User + "/" + sale.ID
	shown.Links.Links = []link{
		{"self", self, nonContractType},
		{"details", self + "/details", nonContractType},
		{"receipt", self + "/receipt", nonContractType},
		{"refund", self + "/refund", nonContractType},
		{"label", file + "/0", "application/pdf"},
	}
	if keptOf(sale).IsAbroad {
		shown.Links.Links = append(shown.Links.Links, link{"commercialInvoice", file + "/1", "application/pdf"})
	}
	return shown
}

func nonContractLink(r *http.Request, sale emulator.Entry) string {
	return origin(r) + "/rs/" + SmallCustomer + "/ncshipment/" + sale.ID
}

// listNonContract answers GET /rs/{customer}/ncshipment: links to the shipments of a
// time range, in the time of Ottawa. The range ends now if the request does not say.
func (p *post) listNonContract(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	from, err := time.ParseInLocation("200601021504", query.Get("from"), ottawa())
	to, err2 := time.ParseInLocation("200601021504", query.Get("to"), ottawa())
	if !query.Has("to") {
		to, err2 = time.Now(), nil
	}
	if err != nil || err2 != nil || to.Before(from) {
		refuse(w, http.StatusBadRequest, "9190", "The query needs from, and to if given, as YYYYMMDDHHMM.")
		return
	}

	var answer struct {
		XMLName xml.Name `xml:"http://www.canadapost.ca/ws/ncshipment-v4 non-contract-shipments"`
		Links   []link   `xml:"link"`
	}
	for _, entry := range p.Ledger.Entries() {
		if entry.Kind != "sold" || keptOf(entry).SoldBy != soldNonContract || entry.At.Before(from) || entry.At.After(to) {
			continue
		}
		for _, shown := range p.Find(entry.Reference) {
			if shown.ID == entry.ID {
				answer.Links = append(answer.Links, link{"shipment", nonContractLink(r, shown), nonContractType})
			}
		}
	}
	reply(w, http.StatusOK, nonContractType, answer)
}

// showNonContract answers GET .../ncshipment/{id}.
func (p *post) showNonContract(w http.ResponseWriter, r *http.Request) {
	if sale, ok := p.nonContract(w, r); ok {
		reply(w, http.StatusOK, nonContractType, nonContractInfoOf(r, sale))
	}
}

// nonContract returns the sale of a path; if there is none, it has answered.
func (p *post) nonContract(w http.ResponseWriter, r *http.Request) (emulator.Entry, bool) {
	sale, ok := p.soldBy(soldNonContract, r.PathValue("id"))
	if !ok {
		refuse(w, http.StatusNotFound, "8064", "The shipment was not found.")
	}
	return sale, ok
}

// nonContractDetails answers GET .../ncshipment/{id}/details, of which the emulator
// keeps a part.
func (p *post) nonContractDetails(w http.ResponseWriter, r *http.Request) {
	sale, ok := p.nonContract(w, r)
	if !ok {
		return
	}
	stored := keptOf(sale)
	type details struct {
		XMLName xml.Name `xml:"http://www.canadapost.ca/ws/ncshipment-v4 non-contract-shipment-details"`
		Point   string   `xml:"final-shipping-point"`
		PIN     string   `xml:"tracking-pin"`
		Service string   `xml:"delivery-spec>service-code"`
		Company string   `xml:"delivery-spec>sender>company"`
		Phone   string   `xml:"delivery-spec>sender>contact-phone"`
		Line    string   `xml:"delivery-spec>sender>address-details>address-line-1"`
		City    string   `xml:"delivery-spec>sender>address-details>city"`
		State   string   `xml:"delivery-spec>sender>address-details>prov-state"`
		Zip     string   `xml:"delivery-spec>sender>address-details>postal-zip-code"`
		ToLine  string   `xml:"delivery-spec>destination>address-details>address-line-1"`
		Country string   `xml:"delivery-spec>destination>address-details>country-code"`
		Weight  string   `xml:"delivery-spec>parcel-characteristics>weight"`
		Shows   bool     `xml:"delivery-spec>preferences>show-packing-instructions"`
		First   string   `xml:"delivery-spec>references>customer-ref-1,omitempty"`
		Second  string   `xml:"delivery-spec>references>customer-ref-2,omitempty"`
	}
	reply(w, http.StatusOK, nonContractType, details{
		Point:   stored.Sender.Zip,
		PIN:     sale.Number,
		Service: sale.Service,
		Company: stored.Sender.Company,
		Phone:   stored.Sender.Phone,
		Line:    stored.Sender.Line1,
		City:    stored.Sender.City,
		State:   stored.Sender.State,
		Zip:     stored.Sender.Zip,
		ToLine:  stored.To[1],
		Country: stored.Country,
		Weight:  stored.Weight,
		First:   sale.Second,
		Second:  sale.Reference,
	})
}

// nonContractReceipt answers GET .../ncshipment/{id}/receipt.
func (p *post) nonContractReceipt(w http.ResponseWriter, r *http.Request) {
	sale, ok := p.nonContract(w, r)
	if !ok {
		return
	}
	if p.settings.Load().NoReceipt {
		p.Fail(w, http.StatusInternalServerError)
		return
	}

	type receipt struct {
		XMLName     xml.Name `xml:"http://www.canadapost.ca/ws/ncshipment-v4 non-contract-shipment-receipt"`
		Point       string   `xml:"final-shipping-point"`
		PointName   string   `xml:"shipping-point-name"`
		PointID     string   `xml:"shipping-point-id"`
		Customer    string   `xml:"mailed-by-customer"`
		Service     string   `xml:"service-code"`
		Weight      string   `xml:"rated-weight"`
		Base        string   `xml:"base-amount"`
		PreTax      string   `xml:"pre-tax-amount"`
		GST         string   `xml:"gst-amount"`
		PST         string   `xml:"pst-amount"`
		HST         string   `xml:"hst-amount"`
		Merchant    string   `xml:"cc-receipt-details>merchant-name"`
		URL         string   `xml:"cc-receipt-details>merchant-url"`
		AuthCode    string   `xml:"cc-receipt-details>auth-code"`
		At          string   `xml:"cc-receipt-details>auth-timestamp"`
		Card        string   `xml:"cc-receipt-details>card-type"`
		Charged     string   `xml:"cc-receipt-details>charge-amount"`
		Currency    string   `xml:"cc-receipt-details>currency"`
		Transaction string   `xml:"cc-receipt-details>transaction-type"`
		AM          bool     `xml:"service-standard>am-delivery"`
		Guaranteed  bool     `xml:"service-standard>guaranteed-delivery"`
		Days        string   `xml:"service-standard>expected-transit-time"`
		Arrival     string   `xml:"service-standard>expected-delivery-date"`
	}
	stored := keptOf(sale)
	sold, _ := productOf(sale.Service, stored.Country)
	reply(w, http.StatusOK, nonContractType, receipt{
		Point:       stored.Sender.Zip,
		PointName:   "OTTAWA",
		PointID:     "0001",
		Customer:    SmallCustomer,
		Service:     sale.Service,
		Weight:      stored.Weight,
		Base:        stored.Base,
		PreTax:      stored.PreTax,
		GST:         stored.GST,
		PST:         "0.00",
		HST:         "0.00",
		Merchant:    "Canada Post Corporation",
		URL:         "www.canadapost.ca",
		AuthCode:    "076838",
		At:          sale.At.UTC().Format(time.RFC3339),
		Card:        "VIS",
		Charged:     sale.Amount,
		Currency:    "CAD",
		Transaction: "Sale",
		Guaranteed:  stored.Standard,
		Days:        strconv.Itoa(sold.days),
		Arrival:     stored.Arrival,
	})
}

// refundNonContract answers POST .../ncshipment/{id}/refund.
func (p *post) refundNonContract(w http.ResponseWriter, r *http.Request) {
	p.answerRefund(w, r, soldNonContract, "non-contract-shipment-refund-request", func(given ticket) (string, any) {
		return nonContractType, struct {
			XMLName xml.Name `xml:"http://www.canadapost.ca/ws/ncshipment-v4 non-contract-shipment-refund-request-info"`
			ticket
		}{ticket: given}
	})
}
