package web

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// copyAddress returns the address of the form for a new shipment, filled in
// from an earlier one. With its order number the order is shipped again;
// without it the form is a template for another order.
func copyAddress(f frame, id ship.ShipmentID, withOrderNumber bool) string {
	query := url.Values{"from": {string(id)}}
	if !withOrderNumber {
		query.Set("as", "copy")
	}
	return f.To("shipments", "new") + "?" + query.Encode()
}

// showCopy answers with the form for a new shipment, filled in from the one
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

	// The form is read as if it had been sent, so what it shows and what it
	// would buy cannot differ.
	v.r.Form = values
	v.r.PostForm = values
	return v.showForm(http.StatusOK, v.readShipmentForm())
}

// orderValues returns the fields of the form for a new shipment that make up
// the order: the reverse of readShipmentForm. The ship date is left out,
// because a copy is shipped today.
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

func setParcel(set func(name, value string), prefix string, parcel ship.Parcel) {
	set(prefix+"weight", decimal(parcel.Weight))
	set(prefix+"weightUnit", string(parcel.WeightUnit))
	set(prefix+"packaging", parcel.Packaging)
	if sides := parcel.Dimensions; sides != nil {
		set(prefix+"length", decimal(sides.Length))
		set(prefix+"width", decimal(sides.Width))
		set(prefix+"height", decimal(sides.Height))
		set(prefix+"lengthUnit", string(sides.Unit))
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
		prefix := "item." + strconv.Itoa(i) + "."
		set(prefix+"description", item.Description)
		set(prefix+"quantity", strconv.Itoa(item.Quantity))
		set(prefix+"hsCode", item.HSCode)
		set(prefix+"originCountry", item.OriginCountry)
		set(prefix+"sku", item.SKU)
		set(prefix+"manufacturer", item.Manufacturer)
		for k, product := range item.ProductIdentifiers {
			set(productField(prefix, k, "type"), product.Type)
			set(productField(prefix, k, "number"), product.Number)
		}

		if !item.Value.IsZero() {
			set(prefix+"value", item.Value.Amount())
			set("currency", item.Value.Currency) // the form has one for all items
		}
		if item.Weight > 0 {
			set(prefix+"weight", decimal(item.WeightIn(unit)))
		}
	}

	for i, id := range declared.TaxNumbers() {
		prefix := "tax." + strconv.Itoa(i) + "."
		set(prefix+"type", id.Type)
		set(prefix+"number", id.Number)
		set(prefix+"country", id.Country)
		set(prefix+"party", id.Party)
	}
}

// NoDelivery says why no delivery is expected: the label is voided, or was
// never bought. It is empty for every other shipment.
func (p trackedShipment) NoDelivery() string {
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
