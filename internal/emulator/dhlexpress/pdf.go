package dhlexpress

import "github.com/waybillhq/waybill/internal/emulator"

// labelPage returns the label of one piece, A6.
func labelPage(sale emulator.Entry, k kept, piece string, i int, from, to party) emulator.Page {
	p := emulator.Page{Wide: 298, High: 420}
	p.Text(16, 392, 16, "DHL EXPRESS  %s", k.Product)
	p.Text(16, 376, 8, "NOT A REAL LABEL")

	y := 356
	for _, side := range []struct {
		title string
		party
	}{{"From", from}, {"To", to}} {
		address := side.PostalAddress
		p.Text(16, y, 8, "%s: %s, %s", side.title, side.ContactInformation.CompanyName, side.ContactInformation.FullName)
		p.Text(16, y-12, 8, "%s", address.AddressLine1)
		p.Text(16, y-24, 8, "%s %s %s", address.PostalCode, address.CityName, address.CountryCode)
		y -= 44
	}

	p.Text(16, 256, 8, "Piece %d/%d   %.3f   %s", i+1, len(k.Pieces), k.Weights[i], k.Content)
	if len(k.References) > 0 {
		p.Text(16, 244, 8, "Ref %s", k.References[0].Value)
	}
	p.Bars(16, 160, 64, sale.Number)
	p.Text(16, 148, 10, "WAYBILL %s", sale.Number)
	p.Bars(16, 60, 64, piece)
	p.Text(16, 48, 10, "%s", piece)
	return p
}

// invoicePage returns the invoice, A4. It holds at most 40 lines.
func (in shipment) invoicePage(sale emulator.Entry, k kept) emulator.Page {
	p := emulator.Page{Wide: 595, High: 842}
	p.Text(40, 790, 16, "COMMERCIAL INVOICE")
	p.Text(40, 770, 10, "Waybill %s   %s to %s", sale.Number, k.From.CountryCode, k.To.CountryCode)

	items := in.Content.ExportDeclaration.LineItems
	for i, item := range items[:min(40, len(items))] {
		p.Text(40, 740-16*i, 9, "%d  %s  %s", i+1, item.Description, item.Price)
	}
	return p
}
