package sandbox

import (
	"strings"

	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// Documents are the papers that a simulated carrier makes for an order that
// crosses a border with a customs declaration: a commercial invoice, kept as
// data of label.Invoice. They follow from the order and the tracking number.
func Documents(o *ship.Order, carrierTitle, trackingNumber string) []ship.Document {
	if o.Customs == nil || laneOf(&o.Origin, &o.Destination).kind != across {
		return nil
	}
	return []ship.Document{{
		Type:   "commercial_invoice",
		Format: "scene",
		Data:   invoiceOf(o, carrierTitle, trackingNumber).Marshal(),
	}}
}

// Title is the name of a simulated carrier as people know it.
func Title(carrier string) string {
	if m := modelOf(carrier); m != nil {
		return m.title
	}
	return carrier
}

func invoiceOf(o *ship.Order, carrierTitle, trackingNumber string) label.Invoice {
	c := o.Customs
	v := label.Invoice{
		Sample: true,
		Size:   label.SizeA4,
		Number: c.InvoiceNumber,
		Date:   string(o.ShipDate),
		From:   o.Origin.Lines(true),
		To:     o.Destination.Lines(true),
		Facts: []label.InvoiceFact{
			{Name: "Order", Value: o.OrderID},
			{Name: "Carrier", Value: carrierTitle},
			{Name: "Tracking number", Value: trackingNumber},
			{Name: "Reason for export", Value: strings.ReplaceAll(c.ContentsType, "_", " ")},
			{Name: "Terms of sale (Incoterms)", Value: c.Incoterm},
		},
		Signer:   c.Signer,
		Declares: "I declare that all information on this invoice is true and correct.",
	}
	switch o.Origin.Country {
	case "US", "CA", "MX":
		v.Size = label.SizeLetter
	}
	if v.Number == "" {
		v.Number = o.OrderID
	}
	for _, id := range c.TaxNumbers() {
		v.Facts = append(v.Facts, label.InvoiceFact{Name: strings.ToUpper(id.Type) + " of the " + id.Party, Value: id.Number})
	}

	var total ship.Money
	for _, item := range c.Items {
		sum := item.Value
		sum.Minor *= int64(item.Quantity)
		total.Currency = sum.Currency
		total.Minor += sum.Minor
		v.Items = append(v.Items, label.InvoiceItem{
			Description: item.Description,
			HSCode:      item.HSCode,
			Origin:      item.OriginCountry,
			Quantity:    item.Quantity,
			Value:       moneyText(item.Value),
			Total:       moneyText(sum),
		})
	}
	v.Total = moneyText(total)
	return v
}

func moneyText(m ship.Money) string {
	if m.IsZero() {
		return ""
	}
	return m.Amount() + " " + m.Currency
}
