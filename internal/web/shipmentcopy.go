package web

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// copyAddress is the form of a new shipment, filled in from an earlier one.
// With its order number the order is shipped again; without it the form is a
// template for another order.
func copyAddress(f frame, id ship.ShipmentID, withOrderNumber bool) string {
	query := url.Values{"from": {string(id)}}
	if !withOrderNumber {
		query.Set("as", "copy")
	}
	return f.To("shipments", "new") + "?" + query.Encode()
}

// showCopy answers with the form of a new shipment, filled in from the one
// that the address names. Nothing is bought until the form is sent.
func (v *visit) showCopy() error {
	id, ok := ship.ParseShipmentID(v.query("from"))
	if !ok {
		return ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	shipment, err := v.Shipping.Shipment(v.ctx(), v.tenant(), id)
	if err != nil {
		return err
	}

	values := orderValues(shipment.Order)
	values.Set("from", string(id))
	if v.query("as") == "copy" {
		values.Del("order")
	}

	// The form is read as if it had been sent, so that what it shows and what
	// it would buy cannot differ.
	v.r.Form, v.r.PostForm = values, values
	return v.showForm(http.StatusOK, v.readShipmentForm())
}

// orderValues are the fields of the form of a new shipment that make the
// order: the reverse of readShipmentForm. The ship date is left out, because a
// copy is shipped today.
func orderValues(order ship.Order) url.Values {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}

	set("order", order.OrderID)
	set("reference", order.Reference)
	set("signature", order.Options.Signature)
	if order.Options.SaturdayDelivery {
		set("saturday", "1")
	}
	if insured := order.Options.InsuredValue; !insured.IsZero() {
		set("insured", insured.Amount())
		set("insuredCurrency", insured.Currency)
	}

	to := order.Destination
	set("name", to.Name)
	set("company", to.Company)
	set("address1", to.Address1)
	set("address2", to.Address2)
	set("address3", to.Address3)
	set("city", to.City)
	set("state", to.State)
	set("zip", to.Zip)
	set("country", to.Country)
	set("phone", to.Phone)
	set("email", to.Email)
	set("recipientType", to.Type)
	if to.Residential != nil && *to.Residential {
		set("residential", "1")
	}

	for i, parcel := range order.Parcels {
		setParcel(set, parcelPrefix(i), parcel)
	}
	if order.Customs != nil {
		setCustoms(set, order.Customs, order.Parcels[0].WeightUnit)
	}
	return values
}

func setParcel(set func(name, value string), at string, parcel ship.Parcel) {
	set(at+"weight", decimal(parcel.Weight))
	set(at+"weightUnit", string(parcel.WeightUnit))
	set(at+"packaging", parcel.Packaging)
	if d := parcel.Dimensions; d != nil {
		set(at+"length", decimal(d.Length))
		set(at+"width", decimal(d.Width))
		set(at+"height", decimal(d.Height))
		set(at+"lengthUnit", string(d.Unit))
	}
}

func setCustoms(set func(name, value string), declared *ship.Customs, unit ship.WeightUnit) {
	set("contents", declared.ContentsType)
	set("incoterm", declared.Incoterm)
	set("signer", declared.Signer)
	set("invoice", declared.InvoiceNumber)
	if declared.Paperless == "off" {
		set("paperless", "off")
	}

	for i, item := range declared.Items {
		at := "item." + strconv.Itoa(i) + "."
		set(at+"description", item.Description)
		set(at+"quantity", strconv.Itoa(item.Quantity))
		set(at+"hsCode", item.HSCode)
		set(at+"originCountry", item.OriginCountry)
		set(at+"sku", item.SKU)
		set(at+"manufacturer", item.Manufacturer)
		for k, product := range item.ProductIdentifiers {
			set(productField(at, k, "type"), product.Type)
			set(productField(at, k, "number"), product.Number)
		}
		if !item.Value.IsZero() {
			set(at+"value", item.Value.Amount())
			set("currency", item.Value.Currency)
		}
		if item.Weight > 0 {
			set(at+"weight", decimal(item.WeightIn(unit)))
		}
	}

	for i, id := range declared.TaxNumbers() {
		at := "tax." + strconv.Itoa(i) + "."
		set(at+"type", id.Type)
		set(at+"number", id.Number)
		set(at+"country", id.Country)
		set(at+"party", id.Party)
	}
}

// NoDelivery says why no delivery is expected: the label is voided, or was
// never bought. It is empty for every other shipment.
func (p shipmentView) NoDelivery() string {
	switch p.State {
	case ship.StateVoiding:
		return "The carrier was asked to void the label. Do not use it; no delivery is expected."
	case ship.StateRefundPending:
		return "The label was voided and the carrier's refund is pending. Do not use it; no delivery is expected."
	case ship.StateVoided:
		return "The label was voided. Do not use it; no delivery is expected."
	case ship.StateFailed:
		return "No label was bought and nothing was charged; no delivery is expected."
	}
	return ""
}
