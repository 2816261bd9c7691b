package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// optionFlags are options of a shipment as flags. What they say comes before what
// the file with the order says.
type optionFlags struct {
	signature      string
	insured        string
	saturday       bool
	hold           bool
	returnService  bool
	dryIce         float64
	alcohol        bool
	batteries      string
	cod, codMethod string
	carbonNeutral  bool
}

func (f *optionFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.signature, "signature", "", "standard, indirect, direct or adult")
	flags.StringVar(&f.insured, "insured-value", "", "value to insure, such as 150 or \"150 EUR\"")
	flags.BoolVar(&f.saturday, "saturday-delivery", false, "deliver on a Saturday")
	flags.BoolVar(&f.hold, "hold-at-location", false, "hold the parcel for collection")
	flags.BoolVar(&f.returnService, "return-service", false, "send a parcel that cannot be delivered back at once")
	flags.Float64Var(&f.dryIce, "dry-ice", 0, "weight of the dry ice in each parcel, in the unit of the first parcel")
	flags.BoolVar(&f.alcohol, "alcohol", false, "the parcels contain alcoholic beverages")
	flags.StringVar(&f.batteries, "lithium-batteries", "", "type and packing, such as ion:in_equipment or metal:alone")
	flags.StringVar(&f.cod, "cod", "", "amount to collect on delivery, such as 80 or \"80 EUR\"")
	flags.StringVar(&f.codMethod, "cod-method", "", "any, cash, check or guaranteed_funds")
	flags.BoolVar(&f.carbonNeutral, "carbon-neutral", false, "have the carrier offset the emissions")
}

// apply puts the flags into an order.
func (f *optionFlags) apply(order *client.ShipmentRequest) error {
	if *f == (optionFlags{}) {
		return nil
	}
	if order.Options == nil {
		order.Options = &client.ShippingOptions{}
	}
	options := order.Options

	if f.signature != "" {
		options.Signature = f.signature
	}
	if f.insured != "" {
		value, err := parseMoney(f.insured)
		if err != nil {
			return err
		}
		options.InsuredValue = value
	}
	if f.dryIce != 0 {
		options.DryIce = &client.DryIce{Weight: f.dryIce}
	}
	if f.batteries != "" {
		kind, packed, ok := strings.Cut(f.batteries, ":")
		if !ok {
			return usage("--lithium-batteries %q must be a type and a packing, such as ion:in_equipment", f.batteries)
		}
		options.LithiumBatteries = &client.LithiumBatteries{Type: kind, Packed: packed}
	}

	switch {
	case f.cod != "":
		amount, err := parseMoney(f.cod)
		if err != nil {
			return err
		}
		options.COD = &client.COD{Amount: *amount, Method: f.codMethod}
	case f.codMethod != "":
		return usage("--cod-method needs --cod with the amount")
	}

	options.SaturdayDelivery = options.SaturdayDelivery || f.saturday
	options.HoldAtLocation = options.HoldAtLocation || f.hold
	options.ReturnServiceRequested = options.ReturnServiceRequested || f.returnService
	options.Alcohol = options.Alcohol || f.alcohol
	options.CarbonNeutral = options.CarbonNeutral || f.carbonNeutral
	return nil
}
