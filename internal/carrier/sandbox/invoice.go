package sandbox

import (
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// documents returns what a simulated carrier makes for an order that crosses a
// border with a customs declaration: a commercial invoice, kept as data of
// label.Invoice. They depend only on the order and the tracking number.
func (m *model) documents(order *ship.Order, trackingNumber string) []ship.Document {
	if order.Customs == nil || !carrierkit.NeedsCustoms(order.Origin, order.Destination) {
		return nil
	}
	return []ship.Document{{
		Type:   "commercial_invoice",
		Format: "scene",
		Data:   m.invoice(order, trackingNumber).Marshal(),
	}}
}

func (m *model) invoice(order *ship.Order, trackingNumber string) label.Invoice {
	customs := order.Customs
	invoice := label.Invoice{
		Sample: true,
		Size:   label.SizeA4,
		Number: customs.InvoiceNumber,
		Date:   string(order.ShipDate),
		From:   order.Origin.Lines(true),
		To:     order.Destination.Lines(true),
		Facts: []label.InvoiceFact{
			{Name: "Order", Value: order.OrderID},
			{Name: "Carrier", Value: m.title},
			{Name: "Tracking number", Value: trackingNumber},
			{Name: "Reason for export", Value: strings.ReplaceAll(customs.ContentsType, "_", " ")},
			{Name: "Terms of sale (Incoterms)", Value: customs.Incoterm},
		},
		Signer:   customs.Signer,
		Declares: "I declare that all information on this invoice is true and correct.",
	}

	switch order.Origin.Country {
	case "US", "CA", "MX":
		invoice.Size = label.SizeLetter
	}
	if invoice.Number == "" {
		invoice.Number = order.OrderID
	}
	for _, id := range customs.TaxNumbers() {
		invoice.Facts = append(invoice.Facts, label.InvoiceFact{Name: strings.ToUpper(id.Type) + " of the " + id.Party, Value: id.Number})
	}

	var total ship.Money
	for _, item := range customs.Items {
		sum := item.Value
		sum.Minor *= int64(item.Quantity)
		total.Currency = sum.Currency
		total.Minor += sum.Minor
		invoice.Items = append(invoice.Items, label.InvoiceItem{
			Description: item.Description,
			HSCode:      item.HSCode,
			Origin:      item.OriginCountry,
			Quantity:    item.Quantity,
			Value:       moneyText(item.Value),
			Total:       moneyText(sum),
		})
	}
	invoice.Total = moneyText(total)
	return invoice
}

func moneyText(amount ship.Money) string {
	if amount.IsZero() {
		return ""
	}
	return amount.Amount() + " " + amount.Currency
}
