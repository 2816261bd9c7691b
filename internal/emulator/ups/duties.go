package ups

import (
	"math"
	"net/http"
	"time"
)

// landed asks for an estimate of duties, taxes and fees.
type landed struct {
	CurrencyCode string `json:"currencyCode"`
	TransID      string `json:"transID"`
	Partial      bool   `json:"allowPartialLandedCostResult"`
	ALVersion    int    `json:"alversion"`
	Shipment     struct {
		ID            string     `json:"id"`
		Import        string     `json:"importCountryCode"`
		Export        string     `json:"exportCountryCode"`
		ShipmentItems []landedIn `json:"shipmentItems"`
	} `json:"shipment"`
}

type landedIn struct {
	CommodityID string  `json:"commodityId"`
	PriceEach   float64 `json:"priceEach"`
	Currency    string  `json:"commodityCurrencyCode"`
	Quantity    int     `json:"quantity"`
	UOM         string  `json:"UOM"`
	HSCode      string  `json:"hsCode"`
	Description string  `json:"description"`
	Origin      string  `json:"originCountryCode"`
}

// estimate answers with a duty of 5 %, a tax of 19 % and a fee of 24.65. Goods
// whose HS code begins with 00 cannot be calculated.
func (s *server) estimate(w http.ResponseWriter, r *http.Request) {
	var asked landed
	if !decode(w, r, &asked) {
		return
	}
	if no, ok := asked.check(); !ok {
		refuse(w, no)
		return
	}

	var items []any
	duties := 0.0
	taxes := 0.0
	for _, item := range asked.Shipment.ShipmentItems {
		value := item.PriceEach * float64(item.Quantity)
		duty := cents(value * 0.05)
		tax := cents((value + duty) * 0.19)
		isCalculable := len(item.HSCode) < 2 || item.HSCode[:2] != "00"
		if !isCalculable {
			duty, tax = 0, 0
		}
		duties += duty
		taxes += tax
		items = append(items, map[string]any{
			"commodityID":              item.CommodityID,
			"hsCode":                   item.HSCode,
			"commodityDuty":            duty,
			"totalCommodityTaxAndFee":  0,
			"commodityVAT":             tax,
			"totalCommodityDutyAndTax": cents(duty + tax),
			"commodityCurrencyCode":    item.Currency,
			"isCalculable":             isCalculable,
		})
	}
	now := time.Now().UTC()
	answer(w, http.StatusOK, encode(map[string]any{
		"shipment": map[string]any{
			"currencyCode":      asked.CurrencyCode,
			"importCountryCode": asked.Shipment.Import,
			"id":                asked.Shipment.ID,
			"brokerageFeeItems": []any{
				map[string]any{"chargeName": "Disbursement Fee", "chargeAmount": 19.05},
				map[string]any{"chargeName": "Entry Preparation Fee", "chargeAmount": 5.6},
			},
			"totalBrokerageFees":              24.65,
			"totalDuties":                     cents(duties),
			"totalCommodityLevelTaxesAndFees": 0,
			"totalShipmentLevelTaxesAndFees":  0,
			"totalVAT":                        cents(taxes),
			"totalDutyAndTax":                 cents(duties + taxes),
			"grandTotal":                      cents(duties + taxes + 24.65),
			"shipmentItems":                   items,
		},
		"alVersion": 1,
		"transID":   asked.TransID,
		"perfStats": map[string]string{
			"absLayerTime": "139",
			"fulfillTime":  now.Format(time.RFC3339),
			"receiptTime":  now.Format(time.RFC3339),
		},
	}))
}

func cents(value float64) float64 { return math.Round(value*100) / 100 }

// check finds what UPS would refuse.
func (l *landed) check() (refusal, bool) {
	switch {
	case l.TransID == "" || len(l.TransID) > 50 || l.ALVersion != 1 || l.Shipment.ID == "":
		return flaw("9670001", "Missing or invalid transID, alversion or shipment id")
	case len(l.Shipment.Import) != 2 || len(l.Shipment.Export) != 2 || l.Shipment.Import == l.Shipment.Export:
		return flaw("9670002", "Missing or invalid import or export country code")
	case len(l.Shipment.ShipmentItems) == 0 || len(l.Shipment.ShipmentItems) > 99:
		return flaw("9670003", "Missing shipment items, or too many of them")
	}
	seen := map[string]bool{}
	for _, item := range l.Shipment.ShipmentItems {
		isKnown := item.HSCode != "" || item.Description != ""
		if seen[item.CommodityID] || item.CommodityID == "" || item.PriceEach <= 0 || item.Quantity < 1 || item.UOM == "" ||
			!isKnown || len(item.Origin) != 2 || item.Currency != l.CurrencyCode || len(item.Description) > 150 {
			return flaw("9670004", "Missing or invalid shipment item")
		}
		seen[item.CommodityID] = true
	}
	return fine()
}
