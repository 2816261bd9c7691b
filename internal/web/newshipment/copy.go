package newshipment

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// CopyAddress returns the address of the form for a new shipment, filled in
// from an earlier one. With its order number the order is shipped again;
// without it the form is a template for another order.
func CopyAddress(f site.Frame, id ship.ShipmentID, withOrderNumber bool) string {
	query := url.Values{"from": {string(id)}}
	if !withOrderNumber {
		query.Set("as", "copy")
	}
	return f.To("shipments", "new") + "?" + query.Encode()
}

// ReturnAddress returns the address of the form, filled in for a return of a
// shipment.
func ReturnAddress(f site.Frame, id ship.ShipmentID) string {
	query := url.Values{"from": {string(id)}, "as": {"return"}}
	return f.To("shipments", "new") + "?" + query.Encode()
}

// showCopy answers with the form for a new shipment, filled in from the one
// that the address names. Nothing is bought until the form is sent.
func showCopy(v *site.Visit) error {
	id, ok := ship.ParseShipmentID(v.Query("from"))
	if !ok {
		return ship.Coded(ship.NotFound, "shipment_not_found", "no such shipment")
	}
	shipment, err := v.Shipping.Shipment(v.Context(), v.Tenant(), id)
	if err != nil {
		return err
	}

	var values url.Values
	switch v.Query("as") {
	case "return":
		values = orderValues(shipment.ReturnOrder())
		values.Set("return", "1")
	case "copy":
		values = orderValues(shipment.Order)
		values.Del("order")
	default:
		values = orderValues(shipment.Order)
	}
	values.Set("from", string(id))

	// The form is read as if it had been sent, so what it shows and what it
	// would buy cannot differ.
	v.Request.Form = values
	v.Request.PostForm = values
	return showForm(v, http.StatusOK, ReadForm(v))
}

// orderValues returns the fields of the form for a new shipment that make up
// the order: the reverse of ReadForm. The ship date is left out,
// because a copy is shipped today.
func orderValues(order ship.Order) url.Values {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}

	set("order", order.OrderID)
	set("location", string(order.Location.ID))
	set("reference", order.Reference)
	setOptions(set, order.Options)

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
	set(prefix+"weight", parts.Decimal(parcel.Weight))
	set(prefix+"weightUnit", string(parcel.WeightUnit))
	set(prefix+"packaging", parcel.Packaging)
	if sides := parcel.Dimensions; sides != nil {
		set(prefix+"length", parts.Decimal(sides.Length))
		set(prefix+"width", parts.Decimal(sides.Width))
		set(prefix+"height", parts.Decimal(sides.Height))
		set(prefix+"lengthUnit", string(sides.Unit))
	}
}

func setCustoms(set func(name, value string), declared *ship.Customs, unit ship.WeightUnit) {
	set("contents", declared.ContentsType)
	set("incoterm", declared.Incoterm)
	set("signer", declared.Signer)
	set("invoice", declared.InvoiceNumber)
	switch {
	case declared.Paperless == "off":
		set("paperless", "off")
	case declared.DocumentsFollow:
		set("paperless", documentsFollow)
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
			set(prefix+"weight", parts.Decimal(item.WeightIn(unit)))
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
