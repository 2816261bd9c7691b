package dhlexpress

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// The wire format of landed costs, reduced to the fields that are used.

type landedRequest struct {
	CustomerDetails      rateParties  `json:"customerDetails"`
	Accounts             []account    `json:"accounts"`
	ProductCode          string       `json:"productCode"`
	UnitOfMeasurement    string       `json:"unitOfMeasurement"`
	CurrencyCode         string       `json:"currencyCode"`
	IsCustomsDeclarable  bool         `json:"isCustomsDeclarable"`
	IsDTPRequested       bool         `json:"isDTPRequested"`
	IsInsuranceRequested bool         `json:"isInsuranceRequested"`
	GetCostBreakdown     bool         `json:"getCostBreakdown"`
	ShipmentPurpose      string       `json:"shipmentPurpose"`
	TransportationMode   string       `json:"transportationMode"`
	SelectedCarrier      string       `json:"merchantSelectedCarrierName"`
	Packages             []pack       `json:"packages"`
	Items                []landedItem `json:"items"`
}

type landedItem struct {
	Number                int         `json:"number"`
	Name                  string      `json:"name,omitempty"`
	Description           string      `json:"description,omitempty"`
	ManufacturerCountry   string      `json:"manufacturerCountry"`
	PartNumber            string      `json:"partNumber,omitempty"`
	Quantity              int         `json:"quantity"`
	UnitPrice             json.Number `json:"unitPrice"`
	UnitPriceCurrencyCode string      `json:"unitPriceCurrencyCode"`
	CommodityCode         string      `json:"commodityCode,omitempty"`
	TariffRateType        string      `json:"estimatedTariffRateType"`
}

type landedAnswer struct {
	Products []landedProduct `json:"products"`
	Warnings []string        `json:"warnings"`
}

type landedProduct struct {
	DetailedPrices []struct {
		PriceCurrency string      `json:"priceCurrency"`
		Rows          []landedRow `json:"breakdown"`
	} `json:"detailedPriceBreakdown"`
	Items []struct {
		Number int         `json:"number"`
		Rows   []landedRow `json:"breakdown"`
	} `json:"items"`
}

type landedRow struct {
	Name          string      `json:"name"`
	TypeCode      string      `json:"typeCode"`
	Price         json.Number `json:"price"`
	PriceCurrency string      `json:"priceCurrency"`
}

// landedTypes are what customs charge, in DHL's words. Other rows are the value of
// the goods and the price of the transport.
var landedTypes = map[string]string{"DUTY": "duty", "TAX": "tax", "FEE": "fee"}

// The longest texts of an item, in characters.
const (
	maxItemText   = 255
	maxPartNumber = 35
)

// fullCommodity is the length of the shortest commodity codes that name one rate.
const fullCommodity = 8

// noBorderMessage explains an estimate without charges.
const noBorderMessage = "The shipment crosses no customs border with goods in it, so no duties are due."

// EstimateDuties asks what customs will charge. The price of the transport, which
// most countries add to the value of the goods, is DHL's own for the account.
func (d driver) EstimateDuties(ctx context.Context, order ship.Order) (ship.LandedCost, error) {
	draft, err := d.newQuoteDraft(order, time.Now())
	if err != nil {
		return ship.LandedCost{}, err
	}
	if !draft.declarable {
		return ship.LandedCost{Messages: []string{noBorderMessage}}, nil
	}
	if order.Customs == nil || len(order.Customs.Items) == 0 {
		return ship.LandedCost{}, carrierkit.InvalidOrder("DHL Express", []ship.FieldError{{
			Pointer: "/customs/items",
			Code:    "required",
			Detail:  "DHL Express estimates duties by the items of the customs declaration",
		}})
	}

	call := d.call(http.MethodPost, "/landed-cost", nil, "")
	call.Body = draft.landedRequest(order)
	var answer landedAnswer
	if err := d.do(ctx, call, &answer, order, nil); err != nil {
		return ship.LandedCost{}, err
	}
	return answer.cost(len(order.Customs.Items))
}

// landedRequest returns the body of an estimate. The weights of items are left
// out: DHL does not say whether they are of one piece or of all.
func (p draft) landedRequest(order ship.Order) landedRequest {
	request := landedRequest{
		CustomerDetails: rateParties{
			ShipperDetails:  ratedPlace(p.from),
			ReceiverDetails: ratedPlace(p.to),
		},
		Accounts:             p.accounts,
		ProductCode:          usualProduct(p.lane),
		UnitOfMeasurement:    "metric",
		CurrencyCode:         p.declared.Currency,
		IsCustomsDeclarable:  true,
		IsDTPRequested:       hasPrepaidDuties(order, p),
		IsInsuranceRequested: order.Options.InsuredValue.Minor > 0,
		GetCostBreakdown:     true,
		ShipmentPurpose:      purposeOf(order),
		TransportationMode:   "air",
		SelectedCarrier:      "DHL",
		Packages:             p.packages,
	}

	for i, item := range order.Customs.Items {
		line := landedItem{
			Number:                i + 1,
			Name:                  firstRunes(item.Description, maxItemText),
			Description:           firstRunes(item.Description, maxItemText),
			ManufacturerCountry:   madeIn(item, order),
			PartNumber:            firstRunes(item.SKU, maxPartNumber),
			Quantity:              item.Quantity,
			UnitPrice:             json.Number(item.Value.Amount()),
			UnitPriceCurrencyCode: item.Value.Currency,
			CommodityCode:         commodity(item.HSCode),
			TariffRateType:        "default_rate",
		}
		if len(line.CommodityCode) < fullCommodity {
			// Several rates fit part of a commodity code, or a description: the
			// mean of them is used.
			line.TariffRateType = "center_rate"
		}
		request.Items = append(request.Items, line)
	}
	return request
}

// purposeOf says whom customs take the recipient for.
func purposeOf(order ship.Order) string {
	if order.Destination.Type == "consumer" {
		return "personal"
	}
	return reasonOf(order).shipment
}

// usualProduct returns the product that goes everywhere on a lane.
func usualProduct(lane lane) string {
	if lane == domestic {
		return "N"
	}
	return services[0].product(lane)
}

// firstRunes returns the beginning of a text, of at most limit characters.
func firstRunes(given string, limit int) string {
	runes := []rune(strings.TrimSpace(given))
	return strings.TrimSpace(string(runes[:min(len(runes), limit)]))
}

// cost reads the answer. What is charged for an item stands with it; the rest is
// charged for the shipment.
func (a landedAnswer) cost(items int) (ship.LandedCost, error) {
	var cost ship.LandedCost
	for _, warning := range a.Warnings {
		_, words := splitCode(warning)
		cost.Messages = append(cost.Messages, plainWords(words))
	}
	if len(a.Products) == 0 {
		return ship.LandedCost{}, noEstimate(cost.Messages)
	}

	var totals, details []ship.LandedCharge
	product := a.Products[0]
	for _, item := range product.Items {
		for _, row := range item.Rows {
			charge, ok := row.charge("")
			if charge.Item = item.Number - 1; ok && charge.Item >= 0 && charge.Item < items {
				details = append(details, charge)
			}
		}
	}
	for _, detailed := range product.DetailedPrices {
		for _, row := range detailed.Rows {
			charge, ok := row.charge(detailed.PriceCurrency)
			switch {
			case !ok:
			case strings.HasPrefix(row.Name, "TOTAL "):
				totals = append(totals, charge)
			default:
				details = append(details, charge)
			}
		}
	}

	cost.Charges = mergeTotals(totals, details)
	if len(cost.Charges) == 0 {
		return ship.LandedCost{}, noEstimate(cost.Messages)
	}
	return cost, nil
}

// charge returns a row as a charge for the shipment; not ok for a row that is not
// charged by customs.
func (r landedRow) charge(currency string) (_ ship.LandedCharge, ok bool) {
	kind := landedTypes[r.TypeCode]
	amount, isAmount := parseMoney(r.Price, cmp.Or(r.PriceCurrency, currency))
	return ship.LandedCharge{
		Type:   kind,
		Name:   r.Name,
		Item:   -1,
		Amount: amount,
	}, kind != "" && isAmount
}

// mergeTotals returns the details, and the totals of what they do not explain. A
// total replaces the details of its type if these add up to another amount, but
// for rounding. Amounts of several currencies are never added.
func mergeTotals(totals, details []ship.LandedCharge) []ship.LandedCharge {
	charges := slices.Clone(details)
	for _, total := range totals {
		var explained []ship.LandedCharge
		for _, detail := range details {
			if detail.Type == total.Type {
				explained = append(explained, detail)
			}
		}
		if len(explained) == 0 {
			charges = append(charges, total)
			continue
		}

		left := total.Amount.Minor
		isOneCurrency := true
		for _, detail := range explained {
			left -= detail.Amount.Minor
			isOneCurrency = isOneCurrency && detail.Amount.Currency == total.Amount.Currency
		}
		rounding := int64(len(explained))
		if isOneCurrency && (left > rounding || left < -rounding) {
			isReplaced := func(charge ship.LandedCharge) bool { return charge.Type == total.Type }
			charges = append(slices.DeleteFunc(charges, isReplaced), total)
		}
	}
	return charges
}

// noEstimate is the error of an answer without charges.
func noEstimate(messages []string) error {
	reason := "DHL Express sent no estimate of duties"
	if len(messages) > 0 {
		reason += ": " + strings.Join(messages, " ")
	}
	return ship.Errorf(ship.Unavailable, "%s", reason)
}
