package web

import (
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// customsLine is one kind of thing in the parcel, as it was filled in.
type customsLine struct{ Description, Quantity, Value, HSCode, Origin string }

func (l customsLine) isEmpty() bool { return l.Description+l.Value+l.HSCode+l.Origin == "" }

// maxLines is how many kinds of things the form takes.
const maxLines = 20

// contentsKinds are what a parcel can hold.
var contentsKinds = func() []choice {
	list := make([]choice, len(ship.ContentsTypes))
	for i, kind := range ship.ContentsTypes {
		list[i] = choice{kind, plain(kind)}
	}
	return list
}()

// readCustoms reads the declaration of a parcel that crosses a border.
func (v *visit) readCustoms(p *newShipment) {
	for i := range maxLines {
		at := "item." + strconv.Itoa(i) + "."
		if _, sent := v.r.PostForm[at+"description"]; !sent {
			break
		}
		p.Items = append(p.Items, customsLine{v.form(at + "description"), v.form(at + "quantity"), v.form(at + "value"), v.form(at + "hsCode"), v.form(at + "originCountry")})
	}
	if len(p.Items) == 0 {
		p.Items = []customsLine{{Quantity: "1"}}
	}
	if !p.Abroad {
		return
	}
	c := ship.Customs{ContentsType: or(v.form("contents"), ship.ContentsTypes[0])}
	for _, l := range p.Items {
		if !l.isEmpty() {
			c.Items = append(c.Items, l.item(p.Currency))
		}
	}
	if len(c.Items) > 0 {
		p.Order.Customs = &c
	}
}

// item is the line as the service takes it; what is no number is zero, which
// it refuses.
func (l customsLine) item(currency string) ship.CustomsItem {
	quantity, _ := strconv.Atoi(or(l.Quantity, "1"))
	value, _ := ship.ParseMoney(strings.ReplaceAll(l.Value, ",", "."), currency)
	origin := l.Origin
	if code, known := ship.CountryCode(origin); known {
		origin = code
	}
	return ship.CustomsItem{Description: l.Description, Quantity: quantity, Value: value, HSCode: l.HSCode, OriginCountry: origin}
}

// contents is the kind that was chosen.
func (p newShipment) contents() string {
	if p.Order.Customs != nil {
		return p.Order.Customs.ContentsType
	}
	return ship.ContentsTypes[0]
}
