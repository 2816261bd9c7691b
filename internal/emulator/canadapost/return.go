package canadapost

import (
	"encoding/xml"
	"net/http"
	"slices"
	"strconv"

	"github.com/waybillhq/waybill/internal/emulator"
)

const soldReturn = "authorizedreturn"

// returnServices are those that return labels are sold with.
var returnServices = []string{"DOM.RP", "DOM.EP", "DOM.XP", "DOM.PC"}

// returned is a request for a return label.
type returned struct {
	Service  string        `xml:"service-code"`
	Returner returnedParty `xml:"returner"`
	Receiver returnedParty `xml:"receiver"`
	Weight   string        `xml:"parcel-characteristics>weight"`
	Encoding string        `xml:"print-preferences>encoding"`
	Customer string        `xml:"settlement-info>paid-by-customer"`
	Contract string        `xml:"settlement-info>contract-id"`
	First    string        `xml:"references>customer-ref-1"`
	Second   string        `xml:"references>customer-ref-2"`
}

type returnedParty struct {
	Name    string `xml:"name"`
	Company string `xml:"company"`
	Line1   string `xml:"domestic-address>address-line-1"`
	City    string `xml:"domestic-address>city"`
	State   string `xml:"domestic-address>province"`
	Zip     string `xml:"domestic-address>postal-code"`
}

func (p returnedParty) party() party {
	return party{
		Name:    p.Name,
		Company: p.Company,
		Line1:   p.Line1,
		City:    p.City,
		State:   p.State,
		Country: "CA",
		Zip:     p.Zip,
	}
}

// refusal returns why Canada Post does not make the label, "" if it does.
func (in returned) refusal() (code, text string) {
	weight, err := strconv.ParseFloat(in.Weight, 64)
	switch {
	case in.Contract != "" && in.Contract != Contract, in.Customer != "" && in.Customer != Customer:
		return "AA004", "You cannot mail on behalf of the requested customer."
	case !slices.Contains(returnServices, in.Service):
		return "7260", "The service is not available for returns."
	case in.Weight != "" && (err != nil || weight > 30):
		return "9151", "The weight is more than the service takes."
	}
	return "", ""
}

// sellReturn answers POST /rs/{customer}/{behalf}/authorizedreturn. A label costs
// nothing before it is used.
func (p *post) sellReturn(w http.ResponseWriter, r *http.Request) {
	var in returned
	if complaint := decode(r, "authorized-return", &in); complaint != "" {
		refuse(w, http.StatusBadRequest, "Server", "/rs/authorizedreturn: "+complaint)
		return
	}
	if !p.takes(w, in.refusal, "CA") {
		return
	}

	entry := p.entryOf(r, delivery{
		Service:     in.Service,
		Sender:      in.Returner.party(),
		Destination: in.Receiver.party(),
		Weight:      in.Weight,
		Reference:   in.First,
	}, kept{SoldBy: soldReturn, Date: today(), Encoding: in.Encoding})
	entry.Reference = in.Second
	entry.Amount = "0.00"
	p.Sell(w, r, entry, func(sale emulator.Entry) (int, string, []byte) {
		type info struct {
			XMLName xml.Name `xml:"http://www.canadapost.ca/ws/authreturn-v2 authorized-return-info"`
			PIN     string   `xml:"tracking-pin"`
			Link    link     `xml:"links>link"`
		}
		fileType := "application/pdf"
		if in.Encoding == "ZPL" {
			fileType = "application/zpl"
		}
		return http.StatusOK, returnType, encode(info{
			PIN:  sale.Number,
			Link: link{"returnLabel", origin(r) + "/rs/artifact/" + User + "/" + sale.ID + "/0", fileType},
		})
	})
}
