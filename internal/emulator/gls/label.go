package gls

import (
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/emulator"
)

func (a address) lines() []string {
	var lines []string
	for _, line := range []string{a.Name1, a.Name2, a.Name3, a.Street, a.CountryCode + "-" + a.ZIPCode + " " + a.City} {
		if strings.Trim(line, "- ") != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// labels returns the labels of all parcels: one PDF with a page each, or one text
// of ZPL.
func (k kept) labels(sale emulator.Entry, asked printing) map[string]any {
	if asked.Labels.Format == "ZEBRA" {
		var text strings.Builder
		for i := range k.Numbers {
			text.WriteString(k.zpl(sale, i))
		}
		return map[string]any{"Data": [][]byte{[]byte(text.String())}, "LabelFormat": "ZEBRA"}
	}

	pages := make([]emulator.Page, len(k.Numbers))
	for i := range k.Numbers {
		pages[i] = k.page(sale, i)
	}
	return map[string]any{"Data": [][]byte{emulator.PDF(pages...)}, "LabelFormat": "PDF"}
}

// page returns the label of one parcel, A6.
func (k kept) page(sale emulator.Entry, i int) emulator.Page {
	p := emulator.Page{Wide: 298, High: 420}
	p.Text(16, 392, 16, "GLS  %s", k.Shipment.Product)
	p.Text(16, 378, 8, "NOT A REAL LABEL")

	y := 358
	for _, side := range []struct {
		title string
		lines []string
	}{{"From", k.Shipment.Shipper.Printed.lines()}, {"To", k.Shipment.Consignee.Address.lines()}} {
		p.Text(16, y, 8, "%s:", side.title)
		for _, line := range side.lines {
			y -= 11
			p.Text(24, y, 8, "%s", line)
		}
		y -= 16
	}

	unit := k.Shipment.Units[i]
	p.Text(16, 190, 8, "Parcel %d/%d   %.2f kg   %s", i+1, len(k.Numbers), unit.Weight, unit.Note)
	p.Text(16, 178, 8, "Ref %s   Contact %s", sale.Reference, k.Shipment.Shipper.ContactID)
	p.Bars(16, 84, 64, k.Numbers[i])
	p.Text(16, 70, 10, "%s   %s", k.Numbers[i], k.IDs[i])
	return p
}

func (k kept) zpl(sale emulator.Entry, i int) string {
	var out strings.Builder
	out.WriteString("^XA^CI28^PW812^LL1218")
	y := 40
	line := func(format string, args ...any) {
		text := strings.NewReplacer("^", " ", "~", " ").Replace(fmt.Sprintf(format, args...))
		fmt.Fprintf(&out, "^FO40,%d^A0N,28,28^FD%s^FS", y, text)
		y += 36
	}
	line("GLS %s NOT A REAL LABEL", k.Shipment.Product)
	for _, text := range k.Shipment.Consignee.Address.lines() {
		line("%s", text)
	}
	line("Parcel %d/%d %s", i+1, len(k.Numbers), k.Shipment.Units[i].Note)
	line("Ref %s", sale.Reference)
	fmt.Fprintf(&out, "^FO40,900^BY3^BCN,160,Y,N,N^FD%s^FS^XZ", k.Numbers[i])
	return out.String()
}
