package easypost

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A draft is a shipment as it is stored before, and after, it is bought: what the
// client gave, and the rates with the tokens that buy them.
type draft struct {
	IsReturn       bool               `json:"is_return"`
	To             *addressObject     `json:"to_address"`
	From           *addressObject     `json:"from_address"`
	Return         *addressObject     `json:"return_address"`
	Buyer          *addressObject     `json:"buyer_address"`
	Parcel         *parcelObject      `json:"parcel"`
	CustomsInfo    *customsInfoObject `json:"customs_info"`
	Options        map[string]any     `json:"options"`
	TaxIdentifiers []any              `json:"tax_identifiers"`
	Accounts       []string           `json:"carrier_accounts"`
	Rates          []draftRate        `json:"rates"`
	Quotes         int                `json:"quotes"` // how often rates were asked for
	Messages       []messageObject    `json:"messages"`
	Insurance      string             `json:"insurance"`
	UpdatedAt      string             `json:"updated_at"`
}

// usedOptions are the options of EasyPost that are carried out. Others are kept and
// shown, and a message says that they are not used.
var usedOptions = []string{
	"label_format", "label_date", "delivery_confirmation", "saturday_delivery", "invoice_number",
	"print_custom_1", "incoterm", "payment", "hold_for_pickup", "currency", "alcohol", "dry_ice",
	"dry_ice_weight", "cod_amount", "cod_method", "carbon_neutral", "declared_value",
}

// order is the shipment as the services take it.
func (d *draft) order(t ship.Tenant, account ship.Account, id, reference string) (ship.Order, error) {
	if d.Parcel == nil {
		return ship.Order{}, required("parcel")
	}
	parcel, err := d.Parcel.parcel()
	if err != nil {
		return ship.Order{}, err
	}

	options := values(d.Options)
	order := ship.Order{
		OrderID:     firstOf(reference, id),
		Reference:   firstOf(options.text("print_custom_1"), reference),
		Origin:      d.From.address(),
		Destination: d.To.address(),
		Parcels:     []ship.Parcel{parcel},
		LabelFormat: labelFormats[strings.ToUpper(options.text("label_format"))],
		IsReturn:    d.IsReturn,
		Metadata:    map[string]string{shipmentKey: id},
	}
	if len(order.OrderID) > 100 {
		order.OrderID = id
	}
	// A return travels the other way round: its addresses are given as those of
	// the parcel that was sent.
	if d.IsReturn {
		order.Origin, order.Destination = order.Destination, order.Origin
	}
	if day := options.text("label_date"); day != "" {
		at, err := parseTime(day)
		if err != nil {
			return order, invalid("options/label_date", "must be a time, such as 2026-03-31T12:00:00Z")
		}
		order.ShipDate = ship.Date(at.Format(time.DateOnly))
	}
	if order.Options, err = d.options(account.Currency); err != nil {
		return order, err
	}
	if order.Billing, err = billingOf(options.object("payment")); err != nil {
		return order, err
	}
	if order.Customs, err = d.CustomsInfo.customs(firstOf(options.text("currency"), account.Currency)); err != nil {
		return order, err
	}
	if order.Customs != nil {
		order.Customs.Incoterm = strings.ToUpper(options.text("incoterm"))
		order.Customs.InvoiceNumber = options.text("invoice_number")
		order.Customs.TaxIdentifiers = taxNumbersOf(d.TaxIdentifiers)
	}
	return order, nil
}

// shipmentKey is where a shipment keeps the id under which its client knows it.
const shipmentKey = "easypost_shipment_id"

// labelFormats are the formats of labels by their names there. A label is bought as
// a PDF file unless a client asks for something else, and rendered as it asks.
var labelFormats = map[string]string{"PDF": "pdf", "ZPL": "zpl", "PNG": "png"}

// options are the extra services that the options ask for.
func (d *draft) options(currency string) (ship.Options, error) {
	given := values(d.Options)
	out := ship.Options{
		SaturdayDelivery: given.flag("saturday_delivery"),
		HoldAtLocation:   given.flag("hold_for_pickup"),
		Alcohol:          given.flag("alcohol"),
		CarbonNeutral:    given.flag("carbon_neutral"),
	}

	switch strings.ToUpper(given.text("delivery_confirmation")) {
	case "", "NO_SIGNATURE", "DO_NOT_REQUIRE_SIGNATURE":
	case "SIGNATURE", "SIGNATURE_RESTRICTED":
		out.Signature = "standard"
	case "DIRECT_SIGNATURE":
		out.Signature = "direct"
	case "INDIRECT_SIGNATURE":
		out.Signature = "indirect"
	case "ADULT_SIGNATURE", "ADULT_SIGNATURE_RESTRICTED":
		out.Signature = "adult"
	default:
		return out, invalid("options/delivery_confirmation", "must be NO_SIGNATURE, SIGNATURE, DIRECT_SIGNATURE, INDIRECT_SIGNATURE or ADULT_SIGNATURE")
	}

	currency = firstOf(given.text("currency"), currency, "USD")
	if insured := firstOf(d.Insurance, given.text("declared_value")); insured != "" {
		amount, ok := moneyOf(insured, currency)
		if !ok {
			return out, invalid("insurance", "must be an amount, such as 249.99")
		}
		out.InsuredValue = amount
	}
	if collect := given.text("cod_amount"); collect != "" {
		amount, ok := moneyOf(collect, currency)
		if !ok {
			return out, invalid("options/cod_amount", "must be an amount, such as 249.99")
		}
		out.COD = ship.COD{Amount: amount, Method: codMethods[strings.ToUpper(given.text("cod_method"))]}
	}
	if weight, ok := given.number("dry_ice_weight"); ok && given.flag("dry_ice") {
		out.DryIce = ship.DryIce{Weight: weight}
	}
	return out, nil
}

var codMethods = map[string]string{"CASH": "cash", "CHECK": "check", "MONEY_ORDER": "guaranteed_funds"}

// moneyOf reads an amount; some clients send more digits than a currency has, all
// of them zero.
func moneyOf(text, currency string) (ship.Money, bool) {
	amount, err := strconv.ParseFloat(text, 64)
	if err != nil || amount < 0 {
		return ship.Money{}, false
	}
	return ship.ParseMoney(strconv.FormatFloat(amount, 'f', ship.Exponent(currency), 64), currency)
}

// billingOf reads who pays the carrier; nil for the account itself.
func billingOf(payment values) (*ship.Billing, error) {
	kinds := map[string]string{"RECEIVER": "recipient", "RECIPIENT": "recipient", "THIRD_PARTY": "third_party"}
	given := strings.ToUpper(payment.text("type"))
	if given == "" || given == "SENDER" && payment.text("account") == "" {
		return nil, nil
	}
	kind, ok := kinds[given]
	if !ok {
		return nil, invalid("options/payment/type", "must be SENDER, RECEIVER or THIRD_PARTY")
	}
	return &ship.Billing{
		Type:    kind,
		Account: payment.text("account"),
		Zip:     payment.text("postal_code"),
		Country: payment.text("country"),
	}, nil
}

// taxNumbersOf reads the tax numbers of the parties.
func taxNumbersOf(list []any) (out []ship.TaxIdentifier) {
	parties := map[string]string{"SENDER": "sender", "RECEIVER": "recipient", "IMPORTER": "importer"}
	for _, item := range list {
		given := objectOf(item)
		kind := strings.ToLower(given.text("tax_id_type"))
		if !slices.Contains(ship.TaxIdentifierTypes, kind) {
			kind = "other"
		}
		out = append(out, ship.TaxIdentifier{
			Type:    kind,
			Number:  given.text("tax_id"),
			Country: given.text("issuing_country"),
			Party:   parties[strings.ToUpper(given.text("entity"))],
		})
	}
	return out
}

// draftFrom reads a shipment that a client describes.
func (d *drafts) draftFrom(ctx context.Context, in values) (out draft, err error) {
	if out.To, err = d.addressFrom(ctx, in["to_address"], "to_address"); err != nil {
		return out, err
	}
	if out.From, err = d.addressFrom(ctx, in["from_address"], "from_address"); err != nil {
		return out, err
	}
	if out.Return, err = d.addressFrom(ctx, in["return_address"], "return_address"); err != nil {
		return out, err
	}
	if out.Buyer, err = d.addressFrom(ctx, in["buyer_address"], "buyer_address"); err != nil {
		return out, err
	}
	if out.Parcel, err = d.parcelFrom(ctx, in["parcel"]); err != nil {
		return out, err
	}
	if out.CustomsInfo, err = d.customsFrom(ctx, in["customs_info"]); err != nil {
		return out, err
	}
	switch {
	case out.To == nil:
		return out, required("to_address")
	case out.Parcel == nil:
		return out, required("parcel")
	}
	if out.Return == nil {
		out.Return = out.From
	}
	if out.Buyer == nil {
		out.Buyer = out.To
	}

	out.IsReturn = in.flag("is_return")
	out.Insurance = in.text("insurance")
	out.TaxIdentifiers = in.list("tax_identifiers")
	out.Accounts = in.names("carrier_accounts")
	out.Options = map[string]any{"currency": "USD", "payment": map[string]any{"type": "SENDER"}, "date_advance": 0}
	for name, given := range in.object("options") {
		if given == nil || textOf(given) == "" && objectOf(given) == nil {
			continue
		}
		out.Options[name] = given
	}
	return out, nil
}

// encode is the draft as it is stored.
func (d *draft) encode(now time.Time) (json.RawMessage, error) {
	d.UpdatedAt = timestamp(now)
	return json.Marshal(d)
}
