package newshipment

import (
	"cmp"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// optionsForm is what was filled in as numbers under "More options".
type optionsForm struct {
	DryIce string
	COD    amountForm
}

// The choices of the less usual options.
var (
	batteryChoices = []parts.Choice{
		{Value: "", Title: "None"},
		{Value: "ion", Title: "Lithium ion, rechargeable"},
		{Value: "metal", Title: "Lithium metal"},
	}
	packingChoices = []parts.Choice{
		{Value: "in_equipment", Title: "Inside the equipment"},
		{Value: "with_equipment", Title: "Beside the equipment"},
		{Value: "alone", Title: "Without equipment"},
	}
	codChoices = []parts.Choice{
		{Value: "any", Title: "Any way to pay"},
		{Value: "cash", Title: "Cash"},
		{Value: "check", Title: "Check"},
		{Value: "guaranteed_funds", Title: "Cashier's check or money order"},
	}
)

// readOptions reads the options of the order.
func readOptions(v *site.Visit, page *Form) {
	page.Options = optionsForm{
		DryIce: v.Form("option.dryIce"),
		COD:    amountForm{v.Form("option.cod"), cmp.Or(v.Form("option.codCurrency"), v.Who.Account.Currency)},
	}
	options := ship.Options{
		Signature:        v.Form("signature"),
		SaturdayDelivery: v.Form("saturday") != "",
		InsuredValue:     page.amount("/options/insuredValue", page.Insured),

		ServicePoint:           v.Form("option.servicePoint"),
		HoldAtLocation:         v.Form("option.hold") != "",
		ReturnServiceRequested: v.Form("option.returnService") != "",
		Alcohol:                v.Form("option.alcohol") != "",
		CarbonNeutral:          v.Form("option.carbonNeutral") != "",
	}
	if page.Options.DryIce != "" {
		// What is not a number becomes a weight that is refused.
		options.DryIce.Weight = cmp.Or(parts.ParseNumber(page.Options.DryIce), -1)
	}
	if kind := v.Form("option.batteries"); kind != "" {
		options.LithiumBatteries = ship.LithiumBatteries{
			Type:   kind,
			Packed: cmp.Or(v.Form("option.packed"), packingChoices[0].Value),
		}
	}
	if page.Options.COD.Value != "" {
		options.COD = ship.COD{
			Amount: page.amount("/options/cod", page.Options.COD),
			Method: v.Form("option.codMethod"),
		}
	}
	page.Order.Options = options
}

// setOptions is the reverse of readOptions.
func setOptions(set func(name, value string), options ship.Options) {
	check := func(name string, isSet bool) {
		if isSet {
			set(name, "1")
		}
	}

	set("signature", options.Signature)
	check("saturday", options.SaturdayDelivery)
	if insured := options.InsuredValue; !insured.IsZero() {
		set("insured", insured.Amount())
		set("insuredCurrency", insured.Currency)
	}

	set("option.servicePoint", options.ServicePoint)
	check("option.hold", options.HoldAtLocation)
	check("option.returnService", options.ReturnServiceRequested)
	check("option.alcohol", options.Alcohol)
	check("option.carbonNeutral", options.CarbonNeutral)
	if ice := options.DryIce; ice != (ship.DryIce{}) {
		set("option.dryIce", parts.Decimal(ice.Weight))
	}
	if batteries := options.LithiumBatteries; batteries != (ship.LithiumBatteries{}) {
		set("option.batteries", batteries.Type)
		set("option.packed", batteries.Packed)
	}
	if cod := options.COD; cod != (ship.COD{}) {
		set("option.cod", cod.Amount.Amount())
		set("option.codCurrency", cod.Amount.Currency)
		set("option.codMethod", cod.Method)
	}
}

// hasMoreOptions reports whether the folded options must be shown: one of them
// is chosen, or wrong.
func (p Form) hasMoreOptions() bool {
	options := p.Order.Options
	usual := ship.Options{
		Signature:        options.Signature,
		SaturdayDelivery: options.SaturdayDelivery,
		InsuredValue:     options.InsuredValue,
	}
	return options != usual || p.hasWrong("option.")
}

// dryIceUnit is the unit of the dry ice: that of the first parcel.
func (p Form) dryIceUnit() string {
	if len(p.Parcels) == 0 {
		return string(p.Units.Weight)
	}
	return p.Parcels[0].WeightUnit
}
