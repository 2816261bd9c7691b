package easypost

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/tracking"
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

// A draftRate is a rate with what buys it. Tokens are longer than the columns in
// which clients keep rate ids, so a rate has a short id here.
type draftRate struct {
	ID    string     `json:"id"`
	Token string     `json:"token"`
	At    time.Time  `json:"at"`
	Rate  ship.Rate  `json:"rate"`
	List  ship.Money `json:"list"` // the published price; zero if the carrier does not say it
}

// rateObject is a carrier's offer.
type rateObject struct {
	head
	Service                string  `json:"service"`
	Carrier                string  `json:"carrier"`
	CarrierAccountID       string  `json:"carrier_account_id"`
	ShipmentID             string  `json:"shipment_id"`
	Rate                   string  `json:"rate"`
	Currency               string  `json:"currency"`
	ListRate               string  `json:"list_rate"`
	ListCurrency           string  `json:"list_currency"`
	RetailRate             string  `json:"retail_rate"`
	RetailCurrency         string  `json:"retail_currency"`
	DeliveryDays           *int    `json:"delivery_days"`
	EstDeliveryDays        *int    `json:"est_delivery_days"`
	DeliveryDate           *string `json:"delivery_date"`
	DeliveryDateGuaranteed bool    `json:"delivery_date_guaranteed"`
	BillingType            string  `json:"billing_type"`
}

// messageObject says why a carrier gave no rate, or what was not used.
type messageObject struct {
	Carrier          string  `json:"carrier"`
	CarrierAccountID *string `json:"carrier_account_id"`
	Type             string  `json:"type"`
	Message          string  `json:"message"`
}

// feeObject is a part of what was charged.
type feeObject struct {
	Object   string `json:"object"`
	Type     string `json:"type"`
	Amount   string `json:"amount"`
	Charged  bool   `json:"charged"`
	Refunded bool   `json:"refunded"`
}

// labelObject is a label.
type labelObject struct {
	head
	DateAdvance     int     `json:"date_advance"`
	IntegratedForm  string  `json:"integrated_form"`
	LabelDate       *string `json:"label_date"`
	LabelResolution int     `json:"label_resolution"`
	LabelSize       string  `json:"label_size"`
	LabelType       string  `json:"label_type"`
	LabelFileType   string  `json:"label_file_type"`
	LabelURL        *string `json:"label_url"`
	LabelPDFURL     *string `json:"label_pdf_url"`
	LabelZPLURL     *string `json:"label_zpl_url"`
	LabelEPL2URL    *string `json:"label_epl2_url"`
}

// shipmentObject is a shipment.
type shipmentObject struct {
	head
	Reference      *string            `json:"reference"`
	IsReturn       bool               `json:"is_return"`
	ToAddress      *addressObject     `json:"to_address"`
	FromAddress    *addressObject     `json:"from_address"`
	ReturnAddress  *addressObject     `json:"return_address"`
	BuyerAddress   *addressObject     `json:"buyer_address"`
	Parcel         *parcelObject      `json:"parcel"`
	CustomsInfo    *customsInfoObject `json:"customs_info"`
	Options        map[string]any     `json:"options"`
	Rates          []rateObject       `json:"rates"`
	SelectedRate   *rateObject        `json:"selected_rate"`
	PostageLabel   *labelObject       `json:"postage_label"`
	TrackingCode   *string            `json:"tracking_code"`
	Tracker        *trackerObject     `json:"tracker"`
	Status         string             `json:"status"`
	RefundStatus   *string            `json:"refund_status"`
	Insurance      *string            `json:"insurance"`
	Messages       []messageObject    `json:"messages"`
	Fees           []feeObject        `json:"fees"`
	Forms          []any              `json:"forms"`
	Zone           *int               `json:"usps_zone"`
	ScanForm       any                `json:"scan_form"`
	OrderID        *string            `json:"order_id"`
	BatchID        *string            `json:"batch_id"`
	BatchStatus    *string            `json:"batch_status"`
	BatchMessage   *string            `json:"batch_message"`
	TaxIdentifiers []any              `json:"tax_identifiers"`
}

// rateOf is a rate as clients see it.
func rateOf(t ship.Tenant, shipment string, quoted draftRate) rateObject {
	rate := quoted.Rate
	list := rate.Price
	if !quoted.List.IsZero() {
		list = quoted.List
	}
	at := timestamp(quoted.At)
	out := rateObject{
		head:                   head{ID: quoted.ID, Object: "Rate", Mode: mode(t), CreatedAt: at, UpdatedAt: &at},
		Service:                theirService(rate.Carrier, rate.Service),
		Carrier:                theirCarrier(rate.Carrier),
		CarrierAccountID:       carrierAccountID(rate),
		ShipmentID:             shipment,
		Rate:                   rate.Price.Amount(),
		Currency:               rate.Price.Currency,
		ListRate:               list.Amount(),
		ListCurrency:           list.Currency,
		RetailRate:             list.Amount(),
		RetailCurrency:         list.Currency,
		DeliveryDate:           timeOrNull(rate.DeliveryAt),
		DeliveryDateGuaranteed: rate.Guaranteed,
		BillingType:            "carrier",
	}
	days := rate.TransitDays
	if days == 0 && !rate.DeliveryAt.IsZero() {
		days = max(int(rate.DeliveryAt.Sub(quoted.At).Hours()/24), 1)
	}
	if days > 0 {
		out.DeliveryDays = &days
		out.EstDeliveryDays = &days
	}
	return out
}

// usedOptions are the options of EasyPost that are carried out. Others are kept and
// shown, and a message says that they are not used.
var usedOptions = []string{
	"label_format", "label_size", "label_date", "delivery_confirmation", "saturday_delivery", "invoice_number",
	"print_custom_1", "incoterm", "payment", "hold_for_pickup", "currency", "date_advance", "alcohol", "dry_ice",
	"dry_ice_weight", "cod_amount", "cod_method", "carbon_neutral", "declared_value", "third_party_account",
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
		order.ShipDate = ship.DateOf(at)
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

// quote asks carriers for rates and puts them into the draft. A carrier that gives
// none is named in the messages: a shipment without rates is not an error there.
func (s *server) quote(ctx context.Context, in *request, d *draft, id, reference string) error {
	order, err := d.order(in.tenant, in.caller.Account, id, reference)
	if err != nil {
		return err
	}

	d.Rates = []draftRate{}
	d.Messages = []messageObject{}
	for name := range d.Options {
		if !slices.Contains(usedOptions, name) {
			d.Messages = append(d.Messages, messageObject{Type: "option_not_used", Message: "The option " + name + " is kept but not used."})
		}
	}
	if format := values(d.Options).text("label_format"); format != "" && labelFormats[strings.ToUpper(format)] == "" {
		d.Messages = append(d.Messages, messageObject{Type: "option_not_used", Message: "Labels are PDF, PNG or ZPL, not " + format + "."})
	}
	slices.SortFunc(d.Messages, func(a, b messageObject) int { return strings.Compare(a.Message, b.Message) })

	quotes, err := s.Quoting.Quote(ctx, quoting.Input{
		Tenant:    in.tenant,
		Account:   in.caller.Account,
		Order:     order,
		OneParcel: true,
	})
	if err != nil {
		problem := ship.ErrorOf(err)
		switch problem.Code {
		case "no_rate", "no_carrier", "carrier_rejected", "carrier_unavailable":
			d.Messages = append(d.Messages, messageObject{
				Carrier: theirCarrier(problem.Carrier),
				Type:    "rate_error",
				Message: firstOf(problem.Refusal.Message, sentence(problem.Message)),
			})
			return nil
		}
		return err
	}

	now := time.Now().UTC().Truncate(time.Millisecond)
	d.Quotes++
	for _, quoted := range quotes.Rates {
		if !d.allows(quoted.Rate) {
			continue
		}
		d.Rates = append(d.Rates, draftRate{
			ID:    rateID(id, d.Quotes, len(d.Rates)+1),
			Token: quoted.ID,
			At:    now,
			Rate:  quoted.Rate,
			List:  quoted.ListPrice,
		})
	}
	for _, failed := range quotes.Errors {
		d.Messages = append(d.Messages, messageObject{
			Carrier: theirCarrier(failed.Carrier),
			Type:    "rate_error",
			Message: firstOf(failed.Refusal.Message, sentence(failed.Message)),
		})
	}
	return nil
}

// rateID returns the id of a rate: that of its shipment, which of its quotes it is
// from, and its place among them. So a rate is found by its id, and a new quote
// never gives an old id another price.
func rateID(shipment string, quote, place int) string {
	return prefixRate + strings.TrimPrefix(shipment, prefixShipment) + fmt.Sprintf("%02d%02d", quote%100, place%100)
}

// shipmentOfRate returns the id of the shipment that a rate belongs to.
func shipmentOfRate(rate string) (string, bool) {
	text, ok := strings.CutPrefix(rate, prefixRate)
	if !ok || len(text) != 30 {
		return "", false
	}
	return prefixShipment + text[:26], true
}

// allows reports whether the client's choice of carrier accounts has the rate's.
func (d *draft) allows(rate ship.Rate) bool {
	return len(d.Accounts) == 0 || slices.Contains(d.Accounts, carrierAccountID(rate))
}

func (s *server) createShipment(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("shipment")
	if given == nil {
		return answer{}, required("shipment")
	}
	service := given.text("service")
	if service != "" && !in.caller.Can("shipments:write") {
		return answer{}, ship.Coded(ship.Forbidden, "insufficient_scope", "the key lacks the scope shipments:write; use a key that has it")
	}

	if service == "" {
		object, d, err := s.newShipment(ctx, in, given, nil)
		if err != nil {
			return answer{}, err
		}
		shown, err := s.shipment(ctx, in, object, d)
		return answer{status: http.StatusCreated, body: shown}, err
	}

	// The client names the service: the shipment is bought in the same call. If the
	// client repeats it because the answer was lost, the first shipment is bought.
	pending := compat.NewPending(in.tenant, in.caller.Key, in.raw, time.Now().UTC())
	object, d, err := s.pendingShipment(ctx, in, pending)
	if ship.KindOf(err) == ship.NotFound {
		object, d, err = s.newShipment(ctx, in, given, &pending)
		if ship.KindOf(err) == ship.Conflict {
			object, d, err = s.pendingShipment(ctx, in, pending)
		}
	}
	if err != nil {
		return answer{}, err
	}

	carrier := ownCarrier(given.text("carrier"))
	i := slices.IndexFunc(d.Rates, func(quoted draftRate) bool {
		return isService(service, quoted.Rate.Carrier, quoted.Rate.Service) && (carrier == "" || carrier == quoted.Rate.Carrier)
	})
	if i < 0 {
		return answer{}, ship.Coded(ship.Invalid, "no_rate", "no connected carrier account offers this service for this shipment")
	}
	object, d, err = s.buy(ctx, in, object, d, d.Rates[i].ID, "")
	if err != nil {
		return answer{}, err
	}
	shown, err := s.shipment(ctx, in, object, d)
	return answer{status: http.StatusCreated, body: shown, after: func(ctx context.Context) {
		if err := s.Compat.Forget(ctx, in.tenant, pending); err != nil {
			s.Log.WarnContext(ctx, "purchase answered but left open for its retry", "error", err)
		}
	}}, err
}

// pendingShipment returns the shipment of an earlier request to create and buy whose
// answer may have been lost; ship.NotFound if there was none.
func (s *server) pendingShipment(ctx context.Context, in *request, pending compat.Object) (compat.Object, draft, error) {
	first, err := s.Compat.Object(ctx, in.tenant, pending.Kind, pending.ID)
	if err != nil {
		return first, draft{}, err
	}
	var id string
	if err := json.Unmarshal(first.Body, &id); err != nil {
		return first, draft{}, err
	}
	return s.find(ctx, in, id)
}

// newShipment stores a shipment with its rates, and the objects that it is made of.
// A request to create and buy is stored with it.
func (s *server) newShipment(ctx context.Context, in *request, given values, pending *compat.Object) (compat.Object, draft, error) {
	created := s.newDrafts(in.tenant)
	d, err := created.draftFrom(ctx, given)
	if err != nil {
		return compat.Object{}, d, err
	}

	object := compat.NewObject(in.tenant, compat.Shipment, created.now)
	object.Reference = given.text("reference")
	if len(object.Reference) > 200 {
		return object, d, invalid("reference", "must have at most 200 characters")
	}
	if err := s.quote(ctx, in, &d, object.ID.IDWithPrefix(prefixShipment), object.Reference); err != nil {
		return object, d, err
	}
	if object.Body, err = d.encode(created.now); err != nil {
		return object, d, err
	}
	if len(object.Body) > 2*maxObject {
		return object, d, invalid("shipment", "is too large: "+strconv.Itoa(2*maxObject>>10)+" KiB is the most, with its rates")
	}
	created.created = append(created.created, object)
	if pending != nil {
		if pending.Body, err = json.Marshal(object.ID.IDWithPrefix(prefixShipment)); err != nil {
			return object, d, err
		}
		created.created = append(created.created, *pending)
	}
	return object, d, created.store(ctx)
}

// encode is the draft as it is stored.
func (d *draft) encode(now time.Time) (json.RawMessage, error) {
	d.UpdatedAt = timestamp(now)
	return json.Marshal(d)
}

// find returns a shipment by its id or its reference.
func (s *server) find(ctx context.Context, in *request, name string) (compat.Object, draft, error) {
	var object compat.Object
	var err error
	if id, ok := parseID(name, prefixShipment); ok {
		object, err = s.Compat.Object(ctx, in.tenant, compat.Shipment, id)
	} else {
		object, err = s.Compat.ByReference(ctx, in.tenant, compat.Shipment, name)
	}
	if ship.KindOf(err) == ship.NotFound {
		return object, draft{}, notFound()
	}
	if err != nil {
		return object, draft{}, err
	}
	var d draft
	err = json.Unmarshal(object.Body, &d)
	return object, d, err
}

func (s *server) getShipment(ctx context.Context, in *request) (answer, error) {
	object, d, err := s.find(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	shown, err := s.shipment(ctx, in, object, d)
	return answer{status: http.StatusOK, body: shown}, err
}

func (s *server) listShipments(ctx context.Context, in *request) (answer, error) {
	filter, err := filterOf(in, compat.Shipment, prefixShipment)
	if err != nil {
		return answer{}, err
	}
	// There, a list shows what was bought unless the client says otherwise.
	filter.Bought = new(true)
	if given := in.query.Get("purchased"); given != "" && !isAsked(given) {
		filter.Bought = nil
	}

	objects, more, err := s.Compat.Objects(ctx, in.tenant, filter)
	if err != nil {
		return answer{}, err
	}
	list := make([]*shipmentObject, len(objects))
	for i, object := range objects {
		var d draft
		if err := json.Unmarshal(object.Body, &d); err != nil {
			return answer{}, err
		}
		if list[i], err = s.shipment(ctx, in, object, d); err != nil {
			return answer{}, err
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{"shipments": list, "has_more": more}}, nil
}

func (s *server) rerate(ctx context.Context, in *request) (answer, error) {
	object, d, err := s.find(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	id := object.ID.IDWithPrefix(prefixShipment)
	if object.Shipment == "" {
		if err := s.quote(ctx, in, &d, id, object.Reference); err != nil {
			return answer{}, err
		}
		if object.Body, err = d.encode(time.Now()); err != nil {
			return answer{}, err
		}
		if err := s.Compat.Save(ctx, in.tenant, object); err != nil {
			return answer{}, err
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{"rates": ratesOf(in.tenant, id, d.Rates)}}, nil
}

func ratesOf(t ship.Tenant, id string, quoted []draftRate) []rateObject {
	list := make([]rateObject, len(quoted))
	for i, rate := range quoted {
		list[i] = rateOf(t, id, rate)
	}
	return list
}

// shipment is a shipment as clients see it.
func (s *server) shipment(ctx context.Context, in *request, object compat.Object, d draft) (*shipmentObject, error) {
	id := object.ID.IDWithPrefix(prefixShipment)
	out := &shipmentObject{
		head:           headOf(in.tenant, "Shipment", prefixShipment, object.ID),
		Reference:      orNull(object.Reference),
		IsReturn:       d.IsReturn,
		ToAddress:      d.To,
		FromAddress:    d.From,
		ReturnAddress:  d.Return,
		BuyerAddress:   d.Buyer,
		Parcel:         d.Parcel,
		CustomsInfo:    d.CustomsInfo,
		Options:        d.Options,
		Rates:          ratesOf(in.tenant, id, d.Rates),
		Status:         "unknown",
		Insurance:      orNull(d.Insurance),
		Messages:       d.Messages,
		Fees:           []feeObject{},
		Forms:          []any{},
		TaxIdentifiers: d.TaxIdentifiers,
	}
	out.UpdatedAt = orNull(d.UpdatedAt)
	if out.TaxIdentifiers == nil {
		out.TaxIdentifiers = []any{}
	}
	if object.Shipment == "" {
		return out, nil
	}

	bought, err := s.Shipping.Shipment(ctx, in.tenant, object.Shipment)
	if err != nil {
		return nil, err
	}
	return out, s.showPurchase(ctx, in, out, d, bought)
}

// showPurchase adds what was bought.
func (s *server) showPurchase(ctx context.Context, in *request, out *shipmentObject, d draft, bought ship.Shipment) error {
	purchase := bought.Purchase
	out.TrackingCode = orNull(purchase.TrackingNumber)
	out.RefundStatus = orNull(refundStatuses[bought.State])
	out.SelectedRate = selectedRate(in.tenant, out.ID, d, bought)
	out.Fees = []feeObject{{
		Object:   "Fee",
		Type:     "PostageFee",
		Amount:   purchase.Price.Amount(),
		Charged:  true,
		Refunded: bought.State == ship.StateVoided,
	}}
	for i, kind := range purchase.Documents {
		out.Forms = append(out.Forms, map[string]any{
			"object":    "Form",
			"form_type": kind,
			"form_url":  s.BaseURL + "/v1/shipments/" + string(bought.ID) + "/documents/" + strconv.Itoa(i+1),
		})
	}

	tracked, err := s.Tracking.Track(ctx, in.tenant, string(bought.ID), "")
	if ship.KindOf(err) == ship.NotFound {
		tracked = tracking.Tracked{TrackingNumber: purchase.TrackingNumber, Carrier: purchase.Carrier, Shipment: bought.ID, Progress: bought.Progress}
	} else if err != nil {
		return err
	}
	if out.Tracker, err = s.tracker(ctx, in.tenant, tracked, &bought); err != nil {
		return err
	}
	out.Status = out.Tracker.Status

	if bought.State != ship.StatePurchased {
		return nil
	}
	out.PostageLabel, err = s.postageLabel(ctx, in, bought, strings.ToUpper(values(d.Options).text("label_format")))
	return err
}

// refundStatuses are the states of a label that was given back.
var refundStatuses = map[ship.State]string{
	ship.StateVoiding:       "submitted",
	ship.StateRefundPending: "submitted",
	ship.StateVoided:        "refunded",
}

// selectedRate is the rate that was bought, at the price that was paid. It need not
// be among the rates any more.
func selectedRate(t ship.Tenant, id string, d draft, bought ship.Shipment) *rateObject {
	purchase := bought.Purchase
	quoted := draftRate{ID: rateID(id, 0, 0), At: bought.CreatedAt(), Rate: ship.Rate{
		Carrier:    purchase.Carrier,
		Connection: purchase.Connection,
		Service:    purchase.Service,
	}}
	for _, rate := range d.Rates {
		if rate.Rate.Carrier == purchase.Carrier && rate.Rate.Service == purchase.Service && rate.Rate.Connection == purchase.Connection {
			quoted = rate
		}
	}
	quoted.Rate.Price = purchase.Price
	return new(rateOf(t, id, quoted))
}

// The formats of a label: PNG unless the client asks for another.
var (
	labelFileTypes = map[string]string{"PNG": "image/png", "PDF": "application/pdf", "ZPL": "application/zpl"}
	labelKinds     = map[string]label.Format{"PNG": label.PNG, "PDF": label.PDF, "ZPL": label.ZPL}
)

// labelLife is how long the link to a label works: the longest that the service
// gives out. Reading the shipment again makes another.
const labelLife = 7 * 24 * time.Hour

// postageLabel is the label of a shipment. Its links need no key, so they are given
// only to keys that may make them.
func (s *server) postageLabel(ctx context.Context, in *request, bought ship.Shipment, format string) (*labelObject, error) {
	if _, ok := labelKinds[format]; !ok {
		format = "PNG"
	}
	out := &labelObject{
		head:            headOf(in.tenant, "PostageLabel", prefixLabel, bought.ID.Raw()),
		IntegratedForm:  "none",
		LabelDate:       timeOrNull(bought.Purchase.BoughtAt),
		LabelResolution: 300,
		LabelSize:       "4x6",
		LabelType:       "default",
		LabelFileType:   labelFileTypes[format],
	}
	if !in.caller.Can("shipments:write") {
		return out, nil
	}

	link, err := s.labelLink(ctx, in, bought, format)
	if err != nil {
		return nil, err
	}
	out.LabelURL = link
	switch format {
	case "PDF":
		out.LabelPDFURL = link
	case "ZPL":
		out.LabelZPLURL = link
	}
	in.note("label_link.made", bought.ID)
	return out, nil
}

func (s *server) getLabel(ctx context.Context, in *request) (answer, error) {
	object, d, err := s.find(ctx, in, in.id)
	if err != nil {
		return answer{}, err
	}
	format := strings.ToUpper(firstOf(in.query.Get("file_format"), in.query.Get("format"), "PDF"))
	if _, ok := labelKinds[format]; !ok {
		return answer{}, invalid("file_format", "must be PDF, PNG or ZPL")
	}

	shown, err := s.shipment(ctx, in, object, d)
	if err != nil {
		return answer{}, err
	}
	if shown.PostageLabel == nil {
		return answer{}, ship.Coded(ship.Invalid, "label_not_ready", "the shipment has no label")
	}
	bought, err := s.Shipping.Shipment(ctx, in.tenant, object.Shipment)
	if err != nil {
		return answer{}, err
	}
	link, err := s.labelLink(ctx, in, bought, format)
	if err != nil {
		return answer{}, err
	}
	switch format {
	case "PDF":
		shown.PostageLabel.LabelPDFURL = link
	case "ZPL":
		shown.PostageLabel.LabelZPLURL = link
	default:
		shown.PostageLabel.LabelURL = link
	}
	return answer{status: http.StatusOK, body: shown}, nil
}

func (s *server) getRate(ctx context.Context, in *request) (answer, error) {
	id, ok := shipmentOfRate(in.id)
	if !ok {
		return answer{}, notFound()
	}
	_, d, err := s.find(ctx, in, id)
	if err != nil {
		return answer{}, err
	}
	for _, rate := range d.Rates {
		if rate.ID == in.id {
			return answer{status: http.StatusOK, body: rateOf(in.tenant, id, rate)}, nil
		}
	}
	return answer{}, notFound()
}

// statelessRates quotes without storing a shipment.
func (s *server) statelessRates(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("shipment")
	if given == nil {
		return answer{}, required("shipment")
	}
	unstored := s.newDrafts(in.tenant)
	d, err := unstored.draftFrom(ctx, given)
	if err != nil {
		return answer{}, err
	}
	if err := s.quote(ctx, in, &d, "", ""); err != nil {
		return answer{}, err
	}
	list := ratesOf(in.tenant, "", d.Rates)
	out := make([]statelessRate, len(list))
	for i, rate := range list {
		out[i] = statelessRate{
			Object: "Rate", Service: rate.Service, Carrier: rate.Carrier, CarrierAccountID: rate.CarrierAccountID,
			Rate: rate.Rate, Currency: rate.Currency, ListRate: rate.ListRate, ListCurrency: rate.ListCurrency,
			RetailRate: rate.RetailRate, RetailCurrency: rate.RetailCurrency, DeliveryDays: rate.DeliveryDays,
			EstDeliveryDays: rate.EstDeliveryDays, DeliveryDate: rate.DeliveryDate,
			DeliveryDateGuaranteed: rate.DeliveryDateGuaranteed, BillingType: rate.BillingType,
		}
	}
	return answer{status: http.StatusOK, body: map[string]any{"rates": out, "messages": d.Messages}}, nil
}

// statelessRate is a rate that cannot be bought: it has no id and no shipment.
type statelessRate struct {
	Object                 string  `json:"object"`
	Service                string  `json:"service"`
	Carrier                string  `json:"carrier"`
	CarrierAccountID       string  `json:"carrier_account_id"`
	Rate                   string  `json:"rate"`
	Currency               string  `json:"currency"`
	ListRate               string  `json:"list_rate"`
	ListCurrency           string  `json:"list_currency"`
	RetailRate             string  `json:"retail_rate"`
	RetailCurrency         string  `json:"retail_currency"`
	DeliveryDays           *int    `json:"delivery_days"`
	EstDeliveryDays        *int    `json:"est_delivery_days"`
	DeliveryDate           *string `json:"delivery_date"`
	DeliveryDateGuaranteed bool    `json:"delivery_date_guaranteed"`
	BillingType            string  `json:"billing_type"`
}
