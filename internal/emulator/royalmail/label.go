package royalmail

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/waybillhq/waybill/internal/emulator"
)

// printLabel prints the label of an order, as often as it is asked for.
func (s *standIn) printLabel(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if s.Faults().Account == noOBA {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	document := query.Get("documentType")
	isForm := document == "CN22" || document == "CN23"
	if !isForm && (document != "postageLabel" || query.Get("includeReturnsLabel") == "") {
		reply(w, http.StatusBadRequest, []object{{"code": "ValidationError", "message": "includeReturnsLabel is required with postageLabel"}})
		return
	}
	found := s.ordersOf(r.PathValue("ids"))
	if len(found) == 0 {
		w.WriteHeader(http.StatusNotFound)
		return
	}

	sale := found[0]
	if sale.Service == "" {
		id, _ := strconv.Atoi(sale.ID)
		reply(w, http.StatusBadRequest, []object{{"accountOrderNumber": id, "code": "PostageNotApplied", "message": "Postage has not been applied to the order"}})
		return
	}
	if s.Faults().Account == noPostage {
		id, _ := strconv.Atoi(sale.ID)
		reply(w, http.StatusBadRequest, []object{{"accountOrderNumber": id, "code": "BadRequest", "message": withoutPostage}})
		return
	}
	if s.Faults().Account == noLabel {
		id, _ := strconv.Atoi(sale.ID)
		reply(w, http.StatusBadRequest, []object{{"accountOrderNumber": id, "code": "LabelGenerationFailed", "message": "The label could not be generated"}})
		return
	}

	item := orderOf(sale)
	if isForm {
		// Small values have a CN22; the emulator knows no others.
		if document != "CN22" || !needsForm(sale, item) || s.Faults().Account == noCustoms {
			id, _ := strconv.Atoi(sale.ID)
			reply(w, http.StatusBadRequest, []object{{"accountOrderNumber": id, "code": "DocumentNotAvailable", "message": "The order has no such document"}})
			return
		}
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = w.Write(emulator.PDF(formPage(item)))
		return
	}
	w.Header().Set("Content-Type", "application/pdf")
	_, _ = w.Write(labelOf(sale, item, query.Get("includeCN") == "true" && !s.keepsForms()))
}

// withoutPostage is what Click & Drop says about the label of an order that was only
// imported.
const withoutPostage = "Label generation only available for orders with postage applied status"

// keepsForms reports whether customs forms are not printed with the label, as with
// some label formats of an account.
func (s *standIn) keepsForms() bool {
	account := s.Faults().Account
	return account == customsApart || account == noCustoms
}

// needsForm reports whether a sale has a customs form.
func needsForm(sale emulator.Entry, item order) bool {
	return len(item.Packages[0].Contents) > 0 && services[sale.Service].where != "inland"
}

// orderOf returns the order of a sale.
func orderOf(sale emulator.Entry) order {
	var kept order
	if err := json.Unmarshal(sale.Kept, &kept); err != nil {
		panic(err) // the emulator wrote it
	}
	return kept
}

// labelOf draws the label, 4 by 6 inch, and behind it the customs form.
func labelOf(sale emulator.Entry, item order, withCN bool) []byte {
	to := item.Recipient.Address
	label := emulator.Page{Wide: 288, High: 432}
	label.Text(16, 404, 16, "ROYAL MAIL  %s", sale.Service)
	label.Text(16, 388, 8, "NOT A REAL LABEL")
	if services[sale.Service].isTracked {
		label.Bars(16, 300, 64, sale.Number)
		label.Text(16, 286, 10, "%s", sale.Number)
	}
	y := 256
	for _, line := range []string{to.FullName, to.CompanyName, to.AddressLine1, to.AddressLine2, to.AddressLine3, to.City, to.Postcode, to.CountryCode} {
		if line != "" {
			label.Text(16, y, 10, "%s", line)
			y -= 14
		}
	}
	label.Text(16, 60, 8, "%d g  %s", item.Packages[0].WeightInGrams, item.Packages[0].Format)
	label.Text(16, 46, 8, "Ref %s", item.OrderReference)
	for _, tag := range item.Tags {
		label.Text(16, 32, 8, "%s %s", tag.Key, tag.Value)
	}
	if !withCN || !needsForm(sale, item) {
		return emulator.PDF(label)
	}
	return emulator.PDF(label, formPage(item))
}

// formPage draws the customs form.
func formPage(item order) emulator.Page {
	form := emulator.Page{Wide: 288, High: 432}
	form.Text(16, 404, 14, "CUSTOMS DECLARATION CN22")
	for i, line := range item.Packages[0].Contents[:min(20, len(item.Packages[0].Contents))] {
		form.Text(16, 376-14*i, 8, "%d x %s  %s  %s", line.Quantity, line.Description, line.CustomsCode, line.OriginNation)
	}
	return form
}
