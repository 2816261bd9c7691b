package easypost

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// customsItemObject is a line of a declaration. Value and weight are those of the
// line, not of one piece.
type customsItemObject struct {
	head
	Description    *string  `json:"description"`
	Quantity       *decimal `json:"quantity"`
	Value          *string  `json:"value"`
	Weight         *decimal `json:"weight"`
	HSTariffNumber *string  `json:"hs_tariff_number"`
	OriginCountry  *string  `json:"origin_country"`
	Code           *string  `json:"code"`
	Currency       *string  `json:"currency"`
	Manufacturer   *string  `json:"manufacturer"`
	ECCN           *string  `json:"eccn"`
}

// customsInfoObject is a declaration.
type customsInfoObject struct {
	head
	EELPFC              *string              `json:"eel_pfc"`
	ContentsType        *string              `json:"contents_type"`
	ContentsExplanation *string              `json:"contents_explanation"`
	CustomsCertify      bool                 `json:"customs_certify"`
	CustomsSigner       *string              `json:"customs_signer"`
	NonDeliveryOption   *string              `json:"non_delivery_option"`
	RestrictionType     *string              `json:"restriction_type"`
	RestrictionComments *string              `json:"restriction_comments"`
	Declaration         *string              `json:"declaration"`
	CustomsItems        []*customsItemObject `json:"customs_items"`
}

func customsItemOf(in values) customsItemObject {
	out := customsItemObject{
		Description:    orNull(in.text("description")),
		Quantity:       in.decimalOf("quantity"),
		Weight:         in.decimalOf("weight"),
		HSTariffNumber: orNull(in.text("hs_tariff_number")),
		OriginCountry:  orNull(in.text("origin_country")),
		Code:           orNull(in.text("code")),
		Currency:       orNull(strings.ToUpper(in.text("currency"))),
		Manufacturer:   orNull(in.text("manufacturer")),
		ECCN:           orNull(in.text("eccn")),
	}
	// A value is text in answers; clients send a number or a text.
	if amount, ok := in.number("value"); ok {
		out.Value = new(strconv.FormatFloat(amount, 'f', -1, 64))
	}
	return out
}

// itemFrom returns the line that a client gives in full or by id.
func (d *drafts) itemFrom(ctx context.Context, given any) (*customsItemObject, error) {
	in := objectOf(given)
	id := textOf(given)
	if in != nil {
		id = in.text("id")
	}
	switch {
	case id != "" && (in == nil || in.text("description") == ""):
		var out customsItemObject
		err := d.server.stored(ctx, d.tenant, kindCustomsItem, prefixCustomsItem, id, &out)
		if ship.KindOf(err) == ship.NotFound {
			return nil, invalid("customs_info/customs_items/id", "is not a customs item of this account")
		}
		return &out, err
	case in == nil:
		return nil, nil
	}

	out := customsItemOf(in)
	err := d.add(kindCustomsItem, func(id ship.RawID) any {
		out.head = headOf(d.tenant, "CustomsItem", prefixCustomsItem, id)
		return &out
	})
	return &out, err
}

// customsFrom returns the declaration that a client gives in full or by id; nil for
// none.
func (d *drafts) customsFrom(ctx context.Context, given any) (*customsInfoObject, error) {
	in := objectOf(given)
	id := textOf(given)
	if in != nil {
		id = in.text("id")
	}
	switch {
	case id != "" && (in == nil || len(in.list("customs_items")) == 0):
		var out customsInfoObject
		err := d.server.stored(ctx, d.tenant, kindCustomsInfo, prefixCustomsInfo, id, &out)
		if ship.KindOf(err) == ship.NotFound {
			return nil, invalid("customs_info/id", "is not a customs declaration of this account")
		}
		return &out, err
	case in == nil:
		return nil, nil
	}

	out := customsInfoObject{
		EELPFC:              orNull(in.text("eel_pfc")),
		ContentsType:        orNull(in.text("contents_type")),
		ContentsExplanation: orNull(in.text("contents_explanation")),
		CustomsCertify:      in.flag("customs_certify"),
		CustomsSigner:       orNull(in.text("customs_signer")),
		NonDeliveryOption:   orNull(in.text("non_delivery_option")),
		RestrictionType:     orNull(in.text("restriction_type")),
		RestrictionComments: orNull(in.text("restriction_comments")),
		Declaration:         orNull(in.text("declaration")),
		CustomsItems:        []*customsItemObject{},
	}
	if len(in.list("customs_items")) > ship.MaxItems {
		return nil, invalid("customs_info/customs_items", "must have at most "+strconv.Itoa(ship.MaxItems)+" items")
	}
	for _, item := range in.list("customs_items") {
		line, err := d.itemFrom(ctx, item)
		if err != nil {
			return nil, err
		}
		if line != nil {
			out.CustomsItems = append(out.CustomsItems, line)
		}
	}
	err := d.add(kindCustomsInfo, func(id ship.RawID) any {
		out.head = headOf(d.tenant, "CustomsInfo", prefixCustomsInfo, id)
		return &out
	})
	return &out, err
}

// ownContents are the kinds of contents that have another name here.
var ownContents = map[string]string{"dangerous_goods": "other", "humanitarian_donation": "other", "": "merchandise"}

// customs is the declaration as the services take it.
func (c *customsInfoObject) customs(currency string) (*ship.Customs, error) {
	if c == nil || len(c.CustomsItems) == 0 {
		return nil, nil
	}

	contents := strings.ToLower(value(c.ContentsType))
	if other, ok := ownContents[contents]; ok {
		contents = other
	}
	out := &ship.Customs{ContentsType: contents, Signer: value(c.CustomsSigner)}
	for i, item := range c.CustomsItems {
		line, err := item.line(currency, "customs_info/customs_items/"+strconv.Itoa(i))
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, line)
	}
	return out, nil
}

// line is an item as the services take it: there, value and weight are of one
// piece. A total that does not divide without a rest is declared as one piece, so
// that the sum stays what the client declared.
func (item *customsItemObject) line(currency, place string) (ship.CustomsItem, error) {
	declared := firstOf(value(item.Currency), currency, "USD")
	total, ok := ship.ParseMoney(value(item.Value), declared)
	if !ok {
		// Some clients compute values, and send more digits than a currency has.
		amount, err := strconv.ParseFloat(value(item.Value), 64)
		if err != nil {
			return ship.CustomsItem{}, invalid(place+"/value", "must be an amount, such as 23.25")
		}
		if total, ok = ship.ParseMoney(strconv.FormatFloat(amount, 'f', ship.Exponent(declared), 64), declared); !ok {
			return ship.CustomsItem{}, invalid(place+"/value", "must be an amount, such as 23.25")
		}
	}

	quantity := value(item.Quantity)
	if quantity != decimal(math.Trunc(float64(quantity))) || quantity > 1_000_000 {
		return ship.CustomsItem{}, invalid(place+"/quantity", "must be a whole number")
	}
	out := ship.CustomsItem{
		Description:   value(item.Description),
		Quantity:      int(quantity),
		Value:         total,
		Weight:        float64(value(item.Weight)),
		HSCode:        digitsOf(value(item.HSTariffNumber)),
		OriginCountry: value(item.OriginCountry),
		SKU:           value(item.Code),
		Manufacturer:  value(item.Manufacturer),
	}
	if out.Quantity > 1 {
		if total.Minor%int64(out.Quantity) != 0 {
			out.Description = strconv.Itoa(out.Quantity) + " x " + out.Description
			out.Quantity = 1
		} else {
			out.Value.Minor /= int64(out.Quantity)
			out.Weight /= float64(out.Quantity)
		}
	}
	return out, nil
}

// digitsOf returns a tariff number without its dots.
func digitsOf(number string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == ' ' {
			return -1
		}
		return r
	}, number)
}

func firstOf(list ...string) string {
	for _, text := range list {
		if text != "" {
			return text
		}
	}
	return ""
}

func (s *server) createCustomsItem(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("customs_item")
	if given == nil {
		return answer{}, required("customs_item")
	}
	if given.text("description") == "" {
		return answer{}, required("description")
	}
	created := s.newDrafts(in.tenant)
	out, err := created.itemFrom(ctx, map[string]any(given))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: out}, created.store(ctx)
}

func (s *server) getCustomsItem(ctx context.Context, in *request) (answer, error) {
	var out customsItemObject
	err := s.stored(ctx, in.tenant, kindCustomsItem, prefixCustomsItem, in.id, &out)
	return answer{status: http.StatusOK, body: &out}, err
}

func (s *server) createCustomsInfo(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("customs_info")
	if given == nil {
		return answer{}, required("customs_info")
	}
	if len(given.list("customs_items")) == 0 {
		return answer{}, required("customs_items")
	}
	created := s.newDrafts(in.tenant)
	out, err := created.customsFrom(ctx, map[string]any(given))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: out}, created.store(ctx)
}

func (s *server) getCustomsInfo(ctx context.Context, in *request) (answer, error) {
	var out customsInfoObject
	err := s.stored(ctx, in.tenant, kindCustomsInfo, prefixCustomsInfo, in.id, &out)
	return answer{status: http.StatusOK, body: &out}, err
}
