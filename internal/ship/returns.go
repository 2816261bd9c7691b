package ship

import (
	"maps"
	"slices"
)

// The metadata of what an agent bought over the Model Context Protocol.
const (
	MetadataVia       = "via" // ViaMCP
	MetadataMCPClient = "mcpClient"

	ViaMCP = "mcp"
)

// ReturnOrder is the order that brings the shipment's parcels back to where they
// came from, unless its client wants it otherwise.
//
// What was agreed for the way there is left out: dates, extra services, and who
// pays the carrier, because another payer's account must not be charged for what
// it did not agree to.
func (s Shipment) ReturnOrder() Order {
	return Order{
		OrderID:     s.Order.OrderID,
		Reference:   s.Order.Reference,
		Origin:      s.Order.Destination,
		Destination: s.Order.Origin,
		Parcels:     slices.Clone(s.Order.Parcels),
		LabelFormat: s.Order.LabelFormat,
		IsReturn:    true,
		ReturnOf:    s.ID,
		Customs:     s.Order.Customs.returned(),
		Metadata:    s.Order.metadataOfReturn(),
	}
}

// metadataOfReturn is the metadata without what says who bought the shipment: the
// return may be bought by somebody else.
func (o Order) metadataOfReturn() map[string]string {
	kept := maps.Clone(o.Metadata)
	if kept[MetadataVia] == ViaMCP {
		delete(kept, MetadataVia)
		delete(kept, MetadataMCPClient)
	}
	return kept
}

// returned is the declaration of the same goods on their way back. The parties
// have changed sides, so the signer, who was the sender's, is left out.
func (c *Customs) returned() *Customs {
	if c == nil {
		return nil
	}

	back := &Customs{
		ContentsType:  "returned_goods",
		Incoterm:      c.Incoterm,
		InvoiceNumber: c.InvoiceNumber,
		Items:         slices.Clone(c.Items),
		Paperless:     c.Paperless,
	}
	for _, id := range c.TaxIdentifiers {
		if id, ok := id.returned(); ok {
			back.TaxIdentifiers = append(back.TaxIdentifiers, id)
		}
	}
	return back
}

// returned is the identifier on the way back, or false if it has no use there:
// an importer's number, and one under which tax of a sale is collected, are for
// the import of the first shipment alone.
func (id TaxIdentifier) returned() (TaxIdentifier, bool) {
	if id.Type == "ioss" || id.Type == "voec" {
		return id, false
	}

	switch id.Party {
	case "", "sender":
		id.Party = "recipient"
	case "recipient":
		id.Party = "sender"
	default:
		return id, false
	}
	return id, true
}

// ReplaceParcels makes the order consist of other parcels. The weights of declared
// items are in the unit of the first parcel, so they are converted to the new one.
func (o *Order) ReplaceParcels(parcels []Parcel, units Units) {
	o.Parcels = parcels
	if o.Customs == nil {
		return
	}

	unit := itemUnit(parcels, units)
	if unit == "" {
		unit = units.Weight
	}
	customs := *o.Customs
	customs.Items = slices.Clone(customs.Items)
	for i := range customs.Items {
		item := &customs.Items[i]
		if unit.Grams(item.Weight) != item.WeightGrams {
			item.Weight = unit.exactly(item.WeightGrams)
		}
	}
	o.Customs = &customs
}
