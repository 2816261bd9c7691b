package dhlexpress

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// landedRequest is the part of an estimate that the emulator reads.
type landedRequest struct {
	CustomerDetails struct {
		ShipperDetails  place `json:"shipperDetails"`
		ReceiverDetails place `json:"receiverDetails"`
	} `json:"customerDetails"`
	Accounts          []account `json:"accounts"`
	ProductCode       string    `json:"productCode"`
	UnitOfMeasurement string    `json:"unitOfMeasurement"`
	CurrencyCode      string    `json:"currencyCode"`
	IsDTPRequested    bool      `json:"isDTPRequested"`
	Packages          []parcel  `json:"packages"`
	Items             []struct {
		Number        int     `json:"number"`
		Quantity      float64 `json:"quantity"`
		UnitPrice     float64 `json:"unitPrice"`
		CommodityCode string  `json:"commodityCode"`
		TariffRate    string  `json:"estimatedTariffRateType"`
	} `json:"items"`
}

// What the emulator's customs charge: shares of the value, and a fee in the
// currency of the destination.
const (
	dutyShare  = 0.05
	taxShare   = 0.10
	importFee  = 12.5
	paymentFee = 15 // DHL's own, in euros, for paying in the recipient's place
)

// goodsTaxes are the countries whose tax on goods is called GST.
var goodsTaxes = strings.Fields("AU CA IN NZ SG")

// landedCost answers POST /landed-cost. Its rows have several currencies, as those
// of DHL have.
func (s standIn) landedCost(w http.ResponseWriter, r *http.Request) {
	var in landedRequest
	doc, invalid := read(r, &in)
	if invalid == nil {
		invalid = append(checkMembers("landed-cost", doc), invalidSizes(doc, "#")...)
	}
	if invalid == nil && !slices.Contains(in.Accounts, account{"shipper", Account}) {
		invalid = []string{"The account number is not found or invalid. Please check the account number and retry."}
	}
	for i, item := range in.Items {
		if item.CommodityCode == "" && (item.TariffRate == "" || item.TariffRate == "default_rate") {
			invalid = append(invalid, "#/items/"+strconv.Itoa(i)+": required key [commodityCode] not found")
		}
	}
	if invalid != nil {
		refuse(w, r, http.StatusBadRequest, invalid...)
		return
	}
	reply(w, http.StatusOK, in.answer())
}

// money returns an amount with two decimals.
func money(amount float64) json.Number {
	return json.Number(strconv.FormatFloat(amount, 'f', 2, 64))
}

// answer returns the estimate.
func (in landedRequest) answer() map[string]any {
	to := in.CustomerDetails.ReceiverDetails.CountryCode
	tax := "VAT"
	if slices.Contains(goodsTaxes, to) {
		tax = "GST"
	}
	local, ok := currencies[to]
	if !ok {
		local = "EUR"
	}

	row := func(name, kind string, price json.Number, currency string) map[string]any {
		row := map[string]any{"name": name, "price": price, "priceCurrency": currency}
		if kind != "" {
			row["typeCode"] = kind
		}
		return row
	}

	var items []any
	var warnings []string
	var goods, duties, taxes float64
	for _, item := range in.Items {
		value := item.Quantity * item.UnitPrice
		duty := value * dutyShare
		levied := (value + duty) * taxShare
		goods += value
		duties += duty
		taxes += levied
		items = append(items, map[string]any{"number": item.Number, "breakdown": []any{
			row("CIF", "", money(value), in.CurrencyCode),
			row("DUTY", "DUTY", money(duty), in.CurrencyCode),
			row(tax, "TAX", money(levied), in.CurrencyCode),
		}})
		if len(item.CommodityCode) < 8 {
			warnings = append(warnings, "200203: #/items/number:"+strconv.Itoa(item.Number)+"/ The provided HS code is not a valid full Import HS code. Ballpark landed cost is estimated.")
		}
	}

	// The price of the transport is in the currency of the account.
	freight, billed := in.freight()
	rows := []any{
		row("SCUSV", "", money(goods), in.CurrencyCode),
		row("SPRQN", "", freight, billed),
		row("TOTAL DUTIES", "DUTY", money(duties), in.CurrencyCode),
		row("TOTAL TAXES", "TAX", money(taxes), in.CurrencyCode),
		row("TOTAL FEES", "FEE", money(importFee), local),
		row("IMPORT_PROCESSING_CHARGE", "FEE", money(importFee), local),
	}
	if in.IsDTPRequested {
		paid := row("Duty Tax Paid", "", money(paymentFee), "EUR")
		paid["serviceCode"] = "DD"
		rows = append(rows, paid)
	}

	body := map[string]any{"products": []any{map[string]any{
		"productCode":            in.ProductCode,
		"weight":                 map[string]any{"unitOfMeasurement": in.UnitOfMeasurement},
		"totalPrice":             []any{map[string]any{"priceCurrency": in.CurrencyCode, "price": money(goods + duties + taxes)}},
		"detailedPriceBreakdown": []any{map[string]any{"priceCurrency": in.CurrencyCode, "breakdown": rows}},
		"items":                  items,
		"pricingDate":            time.Now().UTC().Format(time.DateOnly),
	}}}
	if warnings != nil {
		body["warnings"] = warnings
	}
	return body
}

// freight returns the price of the transport, by the product of the request.
func (in landedRequest) freight() (amount json.Number, currency string) {
	l := load{
		from:     in.CustomerDetails.ShipperDetails,
		to:       in.CustomerDetails.ReceiverDetails,
		dutiable: true,
		imperial: in.UnitOfMeasurement == "imperial",
		packages: in.Packages,
	}
	i := slices.IndexFunc(offers, func(o offer) bool { return o.code == in.ProductCode })
	return offers[max(i, 0)].price(l)
}
