package dhlparcelde

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusalOf reads an error: that of the shipping API with its items, that of the
// pickup API, which is a list, or a problem.
func refusalOf(body []byte) ship.Refusal {
	var list []pickupError
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		return ship.Refusal{Code: string(list[0].Code), Message: joined(list[0].Title, list[0].Detail)}
	}

	for _, one := range itemsOf(body) {
		if refusal := one.refusal(); refusal != (ship.Refusal{}) {
			return refusal
		}
	}

	var problem problem
	if json.Unmarshal(body, &problem) != nil {
		return ship.Refusal{}
	}
	status := problem.Status
	if status.Title == "" {
		status = problem.statusInfo()
	}
	return status.refusal()
}

// itemsOf returns the items of a refusal.
func itemsOf(body []byte) []item {
	var answer orderAnswer
	if json.Unmarshal(body, &answer) != nil {
		return nil
	}
	return answer.Items
}

// messagesOf returns what a refusal says about the fields of the first shipment.
func messagesOf(body []byte) []message {
	items := itemsOf(body)
	if len(items) == 0 {
		return nil
	}
	return items[0].Messages
}

// refusal returns the code and the words of an item that DHL refused. Few of its
// messages have a code; the name of the property stands in for it.
func (i item) refusal() ship.Refusal {
	for _, m := range i.Messages {
		if m.isError() {
			return ship.Refusal{Code: cmp.Or(string(m.Code), m.Property), Message: m.Text}
		}
	}
	return i.Status.refusal()
}

func (s status) refusal() ship.Refusal {
	if s.Title == "" && s.Detail == "" {
		return ship.Refusal{}
	}
	code := ""
	if n := s.code(); n != 0 {
		code = strconv.Itoa(n)
	}
	return ship.Refusal{Code: code, Message: joined(s.Title, s.Detail)}
}

// joined returns a title and its detail, if that adds something.
func joined(title, detail string) string {
	if detail == "" || strings.Contains(title, detail) {
		return title
	}
	return strings.TrimPrefix(title+": "+detail, ": ")
}

// warnings returns what DHL says about a shipment that it took.
func (i item) warnings() []string {
	var list []string
	for _, m := range i.Messages {
		if !m.isError() && m.Text != "" {
			list = append(list, "DHL: "+m.Text)
		}
	}
	return list
}

func (m message) isError() bool { return strings.EqualFold(m.State, "Error") }

// explain says which fields of the order a refusal is about, or that it is about
// the connection.
func explain(err error, messages []message, order ship.Order) error {
	declined, ok := errors.AsType[*ship.Error](err)
	if !ok || declined.Kind != ship.Invalid {
		return err
	}

	refused := *declined
	var fields []ship.FieldError
	for _, m := range messages {
		if !m.isError() {
			continue
		}
		parts := strings.Split(m.Property, ".")
		if last := parts[len(parts)-1]; last == "billingNumber" || last == "profile" {
			refused.Kind = ship.Forbidden
			refused.Message = "DHL Parcel DE does not accept the billing number or the group profile of this connection; check them under Carriers"
			return &refused
		}
		if pointer := pointerOf(parts, order); pointer != "" {
			fields = append(fields, ship.FieldError{
				Pointer: pointer,
				Code:    "carrier_rejected",
				Detail:  "DHL Parcel DE answered: " + strings.TrimSpace(m.Text),
			})
		}
	}
	if named, ok := errors.AsType[*ship.Error](carrierkit.InvalidOrder(title, fields)); ok {
		refused.Message = named.Message
		refused.Fields = named.Fields
	}
	return &refused
}

// explainReturn says that a refusal which names the receiver is about the connection.
func explainReturn(err error) error {
	declined, ok := errors.AsType[*ship.Error](err)
	if !ok || declined.Kind != ship.Invalid || !strings.Contains(strings.ToLower(declined.Refusal.Message), "receiver") {
		return err
	}
	refused := *declined
	refused.Kind = ship.Forbidden
	refused.Message = "DHL Parcel DE does not accept the receiver of returns of this connection; check it under Carriers"
	return &refused
}

// partyFields are the members of an address.
var partyFields = map[string]string{
	"name1":         "name",
	"name":          "name",
	"addressStreet": "address1",
	"addressHouse":  "address1",
	"postalCode":    "zip",
	"city":          "city",
	"country":       "country",
	"state":         "state",
	"phone":         "phone",
	"email":         "email",
	"postNumber":    "company",
	"lockerID":      "servicePoint",
	"retailID":      "servicePoint",
}

// pointerOf returns our pointer to a property of DHL's request; empty if it names
// none that the client wrote.
func pointerOf(parts []string, order ship.Order) string {
	// A path may begin with the shipment: "shipments[0].consignee.city".
	if strings.HasPrefix(parts[0], "shipment") && len(parts) > 1 {
		parts = parts[1:]
	}
	last := parts[len(parts)-1]

	switch parts[0] {
	case "shipper", "consignee":
		pointer := map[string]string{"shipper": "/origin", "consignee": "/destination"}[parts[0]]
		if field := partyFields[last]; field != "" {
			pointer += "/" + field
		}
		return pointer
	case "details", "dimension", "weight":
		if last == "weight" {
			return carrierkit.ParcelPointer(order, 0) + "/weight"
		}
		return carrierkit.ParcelPointer(order, 0) + "/dimensions"
	case "product":
		return "/service"
	case "shipDate":
		return "/shipDate"
	case "services":
		return "/options"
	case "customs":
		return "/customs"
	}
	return ""
}
