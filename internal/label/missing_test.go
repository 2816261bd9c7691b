package label

import (
	"slices"
	"testing"
)

func TestMissingNamesWhatWouldBeABox(t *testing.T) {
	without, err := NewRenderer(t.TempDir()) // no fonts but those in the binary
	if err != nil {
		t.Fatal(err)
	}
	for s, want := range map[string]string{
		"":                         "",
		"Zoë Ångström-Łukasiewicz": "",
		"Ελένη Παπαδοπούλου":       "",
		"Анна Каренина":            "",
		"محمد علي":                 "",
		"สมชาย ใจดี":               "",
		"Ada 🎉 Lovelace 🎉":         "🎉",
		"山田太郎":                     "太山田郎",
		"caf\xe9":                  "\uFFFD",
		"tab\tand\u200bnothing":    "",
	} {
		if got := without.Missing(s); !slices.Equal(got, []rune(want)) {
			t.Errorf("%q: missing %q, want %q", s, string(got), want)
		}
	}
	if with := newRenderer(t); len(with.Missing("Ada 🎉")) != 1 {
		t.Error("an emoji has a glyph")
	}
}

func TestAnInvoiceShowsItsGoods(t *testing.T) {
	pdftoppm, pdfinfo := tool(t, "pdftoppm"), tool(t, "pdfinfo")
	v := Invoice{
		Sample:   true,
		Number:   "INV-1",
		Date:     "2026-11-15",
		From:     []string{"Sample Shop", "1 Market St", "San Francisco, CA 94105", "UNITED STATES"},
		To:       []string{"Erika Mustermann", "Hauptstr. 5", "10115 Berlin", "GERMANY"},
		Facts:    []InvoiceFact{{"Carrier", "UPS"}, {"Tracking number", "1Z999AA10123456784"}},
		Total:    "40.00 USD",
		Signer:   "Sam Shipper",
		Declares: "I declare that the information on this invoice is true and correct.",
	}
	for range invoiceItems {
		v.Items = append(v.Items, InvoiceItem{Description: "Cotton shirt, men's", HSCode: "610910", Origin: "US", Quantity: 2, Value: "20.00 USD", Total: "40.00 USD"})
	}
	back, err := ParseInvoice(v.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []Size{SizeLetter, SizeA4} {
		back.Size = size
		out, err := newRenderer(t).RenderInvoice(back)
		if err != nil || len(out.Missing) > 0 {
			t.Fatal(out.Missing, err)
		}
		if err := Lint("pdf", out.Data); err != nil {
			t.Error(err)
		}
		f, err := readPDF(out.Data)
		if err != nil || len(f.pages) < 3 || len(f.pages) > 6 {
			t.Errorf("%s: %d pages for %d items, %v", size, len(f.pages), invoiceItems, err)
		}
		filter(t, out.Data, pdfinfo, "-")
		show(t, "invoice-"+string(size)+".png", filter(t, out.Data, pdftoppm, "-r", "100", "-png", "-singlefile", "-"))
	}
	v.Items = append(v.Items, InvoiceItem{})
	if _, err := newRenderer(t).RenderInvoice(v); err == nil {
		t.Error("more items than an order has are drawn")
	}
}
