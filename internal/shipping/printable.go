package shipping

import (
	"slices"
	"strconv"
	"unicode"

	"github.com/waybillhq/waybill/internal/ship"
)

// checkPrintable refuses texts that would be printed as boxes on a label that
// is drawn here. Carriers draw their own labels, and their drivers refuse what
// they cannot print.
func (s *Service) checkPrintable(b *buying) error {
	isDrawnHere := func(r ship.Rate) bool { return r.Connection == "" }
	if !slices.ContainsFunc(b.offers, isDrawnHere) {
		return nil
	}

	var wrong []ship.FieldError
	check := func(pointer, text string) {
		if missing := s.labels.Missing(text); len(missing) > 0 {
			wrong = append(wrong, unprintable(pointer, missing))
		}
	}
	o := &b.shipment.Order
	check("/orderId", o.OrderID)
	check("/reference", o.Reference)
	for _, end := range [...]struct {
		name    string
		address *ship.Address
	}{{"/destination", &o.Destination}, {"/origin", &o.Origin}} {
		a := end.address
		check(end.name+"/name", a.Name)
		check(end.name+"/company", a.Company)
		check(end.name+"/address1", a.Address1)
		check(end.name+"/address2", a.Address2)
		check(end.name+"/address3", a.Address3)
		check(end.name+"/city", a.City)
		check(end.name+"/state", a.State)
	}
	if c := o.Customs; c != nil {
		check("/customs/signer", c.Signer)
		check("/customs/invoiceNumber", c.InvoiceNumber)
		for i, item := range c.Items {
			check("/customs/items/"+strconv.Itoa(i)+"/description", item.Description)
		}
	}
	return ship.InvalidFields(wrong)
}

// unprintable says what to do about characters without a glyph.
func unprintable(pointer string, missing []rune) ship.FieldError {
	detail := "contains characters that cannot be printed on a label, such as emoji; remove them"
	if slices.ContainsFunc(missing, unicode.IsLetter) {
		detail = "uses a script for which this server has no font; write it in Latin letters, or install the font (Noto Sans CJK for Chinese, Japanese and Korean)"
	}
	return ship.FieldError{Pointer: pointer, Code: "unprintable", Detail: detail}
}
