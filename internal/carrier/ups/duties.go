package ups

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// How much UPS takes in one estimate.
const (
	maxCommodities          = 99
	maxCommodityDescription = 150
	maxLandedName           = 50
)

// The estimate of duties, taxes and fees.
type (
	landedRequest struct {
		CurrencyCode                 string         `json:"currencyCode"`
		TransID                      string         `json:"transID"`
		AllowPartialLandedCostResult bool           `json:"allowPartialLandedCostResult"`
		ALVersion                    int            `json:"alversion"`
		Shipment                     landedShipment `json:"shipment"`
	}
	landedShipment struct {
		ID                string      `json:"id"`
		ImportCountryCode string      `json:"importCountryCode"`
		ImportProvince    string      `json:"importProvince,omitempty"`
		ShipDate          string      `json:"shipDate,omitempty"`
		Incoterms         string      `json:"incoterms,omitempty"`
		ExportCountryCode string      `json:"exportCountryCode"`
		ShipmentType      string      `json:"shipmentType,omitempty"`
		ShipmentItems     []commodity `json:"shipmentItems"`
	}
	commodity struct {
		CommodityID           string      `json:"commodityId"`
		GrossWeight           json.Number `json:"grossWeight,omitempty"`
		GrossWeightUnit       string      `json:"grossWeightUnit,omitempty"`
		PriceEach             json.Number `json:"priceEach"`
		CommodityCurrencyCode string      `json:"commodityCurrencyCode"`
		Quantity              int         `json:"quantity"`
		UOM                   string      `json:"UOM"`
		HSCode                string      `json:"hsCode,omitempty"`
		Description           string      `json:"description,omitempty"`
		OriginCountryCode     string      `json:"originCountryCode"`
	}

	// UPS spells several members of its answer differently in its specification
	// and in its sample. The case of letters does not matter here.
	landedAnswer struct {
		Shipment *struct {
			CurrencyCode                   string `json:"currencyCode"`
			BrokerageFeeItems              some[brokerageFee]
			TotalBrokerageFees             json.Number
			TotalShipmentLevelTaxesAndFees json.Number
			GrandTotal                     json.Number
			ShipmentItems                  some[landedItem]
			Errors                         some[landedError]
		} `json:"shipment"`
		Errors some[landedError] `json:"errors"`
		Error  some[landedError] `json:"error"`
	}
	brokerageFee struct {
		ChargeName   string      `json:"chargeName"`
		ChargeAmount json.Number `json:"chargeAmount"`
	}
	landedItem struct {
		CommodityID                text
		CommodityDuty              json.Number
		CommodityVAT               json.Number
		TotalCommodityTaxAndFee    json.Number
		TotalCommodityTaxesAndFees json.Number
		IsCalculable               *bool
	}
	landedError struct {
		Code        text   `json:"code"`
		Description string `json:"description"`
		Message     string `json:"message"`
	}
)

// shipmentTypes are UPS's words for what is shipped, by the contents.
var shipmentTypes = map[string]string{
	"merchandise":    "SALE",
	"gift":           "GIFT",
	"sample":         "SAMPLE",
	"returned_goods": "RETURN",
}

// landedTerms are the incoterms that UPS calculates with.
var landedTerms = strings.Fields("CFR CIF CIP CPT DAP DAT DDP DPU EXW FAS FCA FOB")

// EstimateDuties estimates what customs will ask for. The price of transport,
// which some countries tax, is not known here and is left out.
func (d *driver) EstimateDuties(ctx context.Context, order ship.Order) (ship.LandedCost, error) {
	body, err := newLandedRequest(order)
	if err != nil {
		return ship.LandedCost{}, err
	}

	var answer landedAnswer
	err = d.call(ctx, carrierkit.Call{
		Method: http.MethodPost,
		URL:    d.base + "/landedcost/v1/quotes",
		Header: http.Header{"AccountNumber": {d.account}},
		Body:   body,
	}, &answer)
	if err != nil {
		return ship.LandedCost{}, lacksProduct(err, "Landed Cost", "estimate duties")
	}
	return answer.cost(len(order.Customs.Items))
}

// newLandedRequest returns the body of an estimate.
func newLandedRequest(order ship.Order) (landedRequest, error) {
	var problems []ship.FieldError
	refuse := func(pointer, code, detail string, args ...any) {
		problems = append(problems, ship.FieldError{Pointer: pointer, Code: code, Detail: fmt.Sprintf(detail, args...)})
	}

	from := localized(order.Origin)
	to := localized(order.Destination)
	customs := order.Customs
	switch {
	case customs == nil || len(customs.Items) == 0:
		return landedRequest{}, invalid("/customs/items", "required", "UPS needs the goods to estimate duties")
	case len(customs.Items) > maxCommodities:
		refuse("/customs/items", "too_long", "UPS estimates duties of at most %d items; these are %d", maxCommodities, len(customs.Items))
	}
	if from.Country == to.Country {
		refuse("/destination/country", "invalid", "UPS estimates duties only between two countries")
	}

	name := shorten(cmp.Or(order.OrderID, "quote"), maxLandedName) // repeated in the answer
	body := landedRequest{
		CurrencyCode: customs.Items[0].Value.Currency,
		TransID:      name,
		// An item that UPS cannot calculate is reported, and the others stay.
		AllowPartialLandedCostResult: true,
		ALVersion:                    1,
		Shipment: landedShipment{
			ID:                name,
			ImportCountryCode: to.Country,
			ShipDate:          string(order.ShipDate),
			ExportCountryCode: from.Country,
			ShipmentType:      cmp.Or(shipmentTypes[customs.ContentsType], "OTHER"),
		},
	}
	if slices.Contains([]string{"CA", "MX", "BR", "IN"}, to.Country) {
		body.Shipment.ImportProvince = to.State
	}
	if slices.Contains(landedTerms, customs.Incoterm) {
		body.Shipment.Incoterms = customs.Incoterm
	}

	for i, item := range customs.Items {
		pointer := fmt.Sprintf("/customs/items/%d", i)
		if item.Value.Currency != body.CurrencyCode {
			refuse(pointer+"/value", "invalid", "UPS takes goods of one currency")
		}
		if item.Value.Minor <= 0 {
			refuse(pointer+"/value", "required", "UPS needs the value of the goods")
		}
		body.Shipment.ShipmentItems = append(body.Shipment.ShipmentItems, newCommodity(i, item, order.Origin.Country))
	}
	return body, carrierkit.InvalidOrder("UPS", problems)
}

func newCommodity(i int, item ship.CustomsItem, from string) commodity {
	goods := commodity{
		CommodityID:           strconv.Itoa(i + 1),
		PriceEach:             json.Number(item.Value.Amount()),
		CommodityCurrencyCode: item.Value.Currency,
		Quantity:              item.Quantity,
		UOM:                   "EACH",
		HSCode:                strings.NewReplacer(".", "", " ", "").Replace(item.HSCode),
		Description:           item.Description,
		OriginCountryCode:     cmp.Or(item.OriginCountry, from),
	}
	if utf8.RuneCountInString(goods.Description) > maxCommodityDescription {
		goods.Description = shorten(goods.Description, maxCommodityDescription)
	}
	if item.WeightGrams > 0 {
		grams := item.WeightGrams * int64(item.Quantity)
		goods.GrossWeight = json.Number(strconv.FormatFloat(float64(grams)/1000, 'f', 3, 64))
		goods.GrossWeightUnit = "KG"
	}
	return goods
}

// cost reads the answer about items.
func (a landedAnswer) cost(items int) (ship.LandedCost, error) {
	failures := slices.Concat(a.Errors, a.Error)
	if a.Shipment == nil {
		if len(failures) == 0 {
			return ship.LandedCost{}, ship.Errorf(ship.Unavailable, "UPS sent no estimate")
		}
		refused := ship.Errorf(ship.Invalid, "UPS could not estimate the duties")
		refused.Refusal = ship.Refusal{Code: string(failures[0].Code), Message: failures[0].text()}
		return ship.LandedCost{}, refused
	}

	failures = append(failures, a.Shipment.Errors...)
	sum := landedSum{currency: a.Shipment.CurrencyCode}
	for _, item := range a.Shipment.ShipmentItems {
		n, err := strconv.Atoi(string(item.CommodityID))
		if err != nil || n < 1 || n > items {
			return ship.LandedCost{}, ship.Errorf(ship.Unavailable, "UPS sent an estimate of other goods")
		}
		if item.IsCalculable != nil && !*item.IsCalculable {
			sum.messages = append(sum.messages, fmt.Sprintf("UPS could not estimate item %d: the estimate is incomplete.", n))
			continue
		}
		sum.add("duty", "Duty", n-1, item.CommodityDuty)
		sum.add("tax", "VAT", n-1, item.CommodityVAT)
		sum.add("tax", "Taxes and fees", n-1, cmp.Or(item.TotalCommodityTaxAndFee, item.TotalCommodityTaxesAndFees))
	}
	sum.add("tax", "Taxes and fees", -1, a.Shipment.TotalShipmentLevelTaxesAndFees)
	for _, fee := range a.Shipment.BrokerageFeeItems {
		sum.add("fee", cmp.Or(fee.ChargeName, "Brokerage"), -1, fee.ChargeAmount)
	}
	if len(a.Shipment.BrokerageFeeItems) == 0 {
		sum.add("fee", "Brokerage", -1, a.Shipment.TotalBrokerageFees)
	}
	for _, failure := range failures {
		if text := failure.text(); text != "" {
			sum.messages = append(sum.messages, text)
		}
	}

	if sum.isUnreadable || len(a.Shipment.ShipmentItems) == 0 {
		return ship.LandedCost{}, ship.Errorf(ship.Unavailable, "UPS sent an estimate that cannot be read")
	}
	return ship.LandedCost{Charges: sum.charges, Messages: sum.messages}, nil
}

func (e landedError) text() string { return cmp.Or(e.Message, e.Description) }

// landedSum collects the charges of an estimate.
type landedSum struct {
	currency     string
	charges      []ship.LandedCharge
	messages     []string
	isUnreadable bool
}

// add adds an amount. UPS sends numbers; the parts of a cent are rounded.
func (s *landedSum) add(kind, name string, item int, amount json.Number) {
	if amount == "" {
		return
	}
	value, err := amount.Float64()
	if err != nil || value < 0 || value > 1e12 || len(s.currency) != 3 {
		s.isUnreadable = true
		return
	}

	minor := math.Round(value * math.Pow10(ship.Exponent(s.currency)))
	if minor == 0 && kind != "duty" {
		return // a duty of zero is an answer, a tax of zero may not exist
	}
	s.charges = append(s.charges, ship.LandedCharge{
		Type:   kind,
		Name:   name,
		Item:   item,
		Amount: ship.Money{Minor: int64(minor), Currency: s.currency},
	})
}
