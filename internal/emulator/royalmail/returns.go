package royalmail

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/waybillhq/waybill/internal/emulator"
)

// A returned parcel is one that a customer sends back.
type returned struct {
	Service struct {
		Code     string `json:"serviceCode"`
		Register string `json:"serviceRegisterCode"`
	} `json:"service"`
	Shipment struct {
		From      party `json:"shippingAddress"`
		To        party `json:"returnAddress"`
		Reference struct {
			Reference string `json:"reference"`
		} `json:"customerReference"`
	} `json:"shipment"`
}

type party struct {
	FirstName, LastName, CompanyName string
	AddressLine1, City, Postcode     string
	Country, CountryIsoCode          string
}

// createReturn sells a return. It is no order: it cannot be looked up or deleted.
func (s *standIn) createReturn(w http.ResponseWriter, r *http.Request) {
	var request returned
	if !read(w, r, "Return", &request) {
		return
	}
	if problem := request.check(); problem != "" || s.Refuses() {
		reply(w, http.StatusBadRequest, object{"code": "BadRequest", "message": "Invalid return request", "details": problem})
		return
	}

	serial := s.Ledger.Next()
	sale := emulator.Entry{
		Number:    trackingNumber(serial),
		ID:        fmt.Sprintf("0A%014d", serial),
		Reference: request.Shipment.Reference.Reference,
		Service:   request.Service.Code,
		Kept:      encode(request),
	}
	s.Sell(w, r, sale, func(sold emulator.Entry) (int, string, []byte) {
		label := emulator.Page{Wide: 288, High: 432}
		label.Text(16, 404, 16, "ROYAL MAIL  %s", sold.Service)
		label.Text(16, 388, 8, "NOT A REAL LABEL")
		label.Bars(16, 300, 64, sold.Number)
		label.Text(16, 286, 10, "%s", sold.Number)
		label.Text(16, 256, 10, "%s", request.Shipment.To.AddressLine1)
		label.Text(16, 242, 10, "%s", request.Shipment.To.Postcode)
		label.Text(16, 46, 8, "Ref %s", sold.Reference)
		return http.StatusOK, "application/json", encode(object{
			"shipment": object{"trackingNumber": sold.Number, "uniqueItemId": sold.ID},
			"qrCode":   []byte(signature), // any picture
			"label":    emulator.PDF(label),
		})
	})
}

// check returns why a return is refused.
func (r returned) check() string {
	if services[r.Service.Code].where != "return" {
		return "Service code " + r.Service.Code + " is not available for this account"
	}
	if r.Service.Register != "" && r.Service.Register != register {
		return "Service register code is not valid for the service"
	}
	for _, side := range []party{r.Shipment.From, r.Shipment.To} {
		switch {
		case side.FirstName+side.LastName+side.CompanyName == "":
			return "A name or company name is required"
		case side.CountryIsoCode != "GBR":
			return "The country is not supported"
		case !postcode.MatchString(side.Postcode):
			return "Postcode is not valid"
		}
	}
	return ""
}

// listReturnServices shows the services for returns.
func (s *standIn) listReturnServices(w http.ResponseWriter, _ *http.Request) {
	list := []object{}
	for _, code := range slices.Sorted(maps.Keys(services)) {
		if services[code].where == "return" {
			list = append(list, object{"serviceCode": code, "serviceName": "Tracked Returns"})
		}
	}
	reply(w, http.StatusOK, object{"services": list})
}
