package dhlparcelde

import (
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

// lines returns a party as it is printed.
func (p party) lines() []string {
	if p.LockerID != 0 {
		return []string{p.Name, p.PostNumber, fmt.Sprintf("Packstation %d", p.LockerID), p.PostalCode + " " + p.City}
	}
	if p.RetailID != 0 {
		return []string{p.Name, p.PostNumber, fmt.Sprintf("Postfiliale %d", p.RetailID), p.PostalCode + " " + p.City}
	}

	var lines []string
	for _, line := range []string{p.Name1, p.Name2, p.Name3, strings.TrimSpace(p.Street + " " + p.House), p.More, p.PostalCode + " " + p.City, p.Country} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// label returns the label, 103 by 150 mm: PDF is encoded, and ZPL plain text.
func (in shipment) label(sale emulator.Entry, format string) *document {
	const size = "910-300-400/410"
	if format == "ZPL2" {
		return &document{ZPL2: in.zpl(sale), FileFormat: "ZPL2", PrintFormat: size}
	}
	return &document{B64: emulator.PDF(in.labelPage(sale)), FileFormat: "PDF", PrintFormat: size}
}

func (in shipment) labelPage(sale emulator.Entry) emulator.Page {
	p := emulator.Page{Wide: 292, High: 425}
	p.Text(16, 396, 16, "DHL PAKET  %s", in.Product)
	p.Text(16, 382, 8, "NOT A REAL LABEL")

	y := 364
	for _, side := range []struct {
		title string
		party party
	}{{"Von", in.Shipper}, {"An", in.Consignee}} {
		p.Text(16, y, 8, "%s:", side.title)
		for _, line := range side.party.lines() {
			y -= 11
			p.Text(24, y, 8, "%s", line)
		}
		y -= 16
	}

	p.Text(16, 150, 8, "Referenz %s", sale.Reference)
	p.Text(16, 138, 8, "%s", in.CostCenter)
	p.Text(16, 126, 8, "%.0f %s", in.Details.Weight.Value, in.Details.Weight.UOM)
	p.Bars(16, 44, 64, sale.Number)
	p.Text(16, 30, 10, "%s", sale.Number)
	return p
}

func (in shipment) zpl(sale emulator.Entry) string {
	var out strings.Builder
	out.WriteString("^XA^CI28^PW812^LL1181")
	y := 40
	line := func(format string, args ...any) {
		text := strings.NewReplacer("^", " ", "~", " ").Replace(fmt.Sprintf(format, args...))
		fmt.Fprintf(&out, "^FO40,%d^A0N,28,28^FD%s^FS", y, text)
		y += 36
	}
	line("DHL PAKET %s NOT A REAL LABEL", in.Product)
	for _, text := range append(in.Shipper.lines(), in.Consignee.lines()...) {
		line("%s", text)
	}
	line("Referenz %s", sale.Reference)
	line("%s", in.CostCenter)
	fmt.Fprintf(&out, "^FO40,900^BY3^BCN,160,Y,N,N^FD%s^FS^XZ", sale.Number)
	return out.String()
}

// customsPage returns the form CN23, A4. It holds at most 40 lines.
func (in shipment) customsPage(sale emulator.Entry) emulator.Page {
	p := emulator.Page{Wide: 595, High: 842}
	p.Text(40, 790, 16, "CN23  %s", in.Customs.ExportType)
	p.Text(40, 770, 10, "%s   %s to %s", sale.Number, in.Shipper.Country, in.Consignee.Country)
	items := in.Customs.Items
	for i, item := range items[:min(40, len(items))] {
		p.Text(40, 740-16*i, 9, "%d  %d x %s", i+1, item.Quantity, item.Description)
	}
	return p
}
