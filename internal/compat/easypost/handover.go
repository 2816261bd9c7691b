package easypost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/handover"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
)

// purchases returns the shipments that a client names by id, as they were bought.
func (s *server) purchases(ctx context.Context, in *request, names []string) ([]ship.Shipment, error) {
	if len(names) == 0 {
		return nil, required("shipments")
	}
	if len(names) > maxHandedOver {
		return nil, invalid("shipments", "must have at most "+strconv.Itoa(maxHandedOver)+" shipments")
	}
	var out []ship.Shipment
	for _, name := range names {
		object, _, err := s.find(ctx, in, name)
		if err != nil {
			return nil, err
		}
		if object.Shipment == "" {
			return nil, invalid("shipments", "has a shipment without postage; buy it first")
		}
		shipment, err := s.Shipping.Shipment(ctx, in.tenant, object.Shipment)
		if err != nil {
			return nil, err
		}
		out = append(out, shipment)
	}
	return out, nil
}

// maxHandedOver is how many shipments one request hands over.
const maxHandedOver = 500

// sellerOf returns the carrier account that shipments were bought with. There, they
// must be of one carrier.
func sellerOf(list []ship.Shipment) (handover.Seller, error) {
	first := list[0].Purchase
	for _, shipment := range list {
		if shipment.Purchase.Carrier != first.Carrier || shipment.Purchase.Connection != first.Connection {
			return handover.Seller{}, invalid("shipments", "must all be bought with the same carrier account")
		}
	}
	return handover.Seller{Carrier: first.Carrier, Connection: first.Connection}, nil
}

func idsOf(list []ship.Shipment) []ship.ShipmentID {
	ids := make([]ship.ShipmentID, len(list))
	for i, shipment := range list {
		ids[i] = shipment.ID
	}
	return ids
}

// scanFormObject is a form that hands parcels over.
type scanFormObject struct {
	head
	Status        string         `json:"status"`
	Message       *string        `json:"message"`
	Address       *addressObject `json:"address"`
	TrackingCodes []string       `json:"tracking_codes"`
	FormURL       *string        `json:"form_url"`
	FormFileType  *string        `json:"form_file_type"`
	BatchID       *string        `json:"batch_id"`
	Confirmation  *string        `json:"confirmation"`
}

var scanFormStatuses = map[effect.State]string{
	effect.Pending:     "creating",
	effect.Uncertain:   "creating",
	effect.Succeeded:   "created",
	effect.Failed:      "failed",
	effect.NeedsReview: "creating",
}

// scanForm is a manifest as clients see it.
func (s *server) scanForm(t ship.Tenant, manifest store.Manifest) *scanFormObject {
	out := &scanFormObject{
		head:          headOf(t, "ScanForm", prefixScanForm, manifest.ID.Raw()),
		Status:        scanFormStatuses[manifest.State],
		Message:       orNull(manifest.Message),
		TrackingCodes: []string{},
		Confirmation:  orNull(manifest.Number),
	}

	for _, label := range manifest.Order.Labels {
		out.TrackingCodes = append(out.TrackingCodes, label.Numbers...)
	}
	if len(handover.Documents(manifest)) > 0 {
		out.FormURL = new(s.BaseURL + "/v1/manifests/" + string(manifest.ID) + ".pdf")
		out.FormFileType = new("application/pdf")
	}

	address := addressOf(values{})
	origin := manifest.Order.Address
	address.Name = orNull(origin.Name)
	address.Company = orNull(origin.Company)
	address.Street1 = orNull(origin.Address1)
	address.Street2 = orNull(origin.Address2)
	address.City = orNull(origin.City)
	address.State = orNull(origin.State)
	address.Zip = orNull(origin.Zip)
	address.Country = orNull(origin.Country)
	address.head = headOf(t, "Address", prefixAddress, manifest.ID.Raw())
	out.Address = &address
	return out
}

// closeManifest hands shipments over. A repeat for the same shipments finds the
// first form.
func (s *server) closeManifest(ctx context.Context, in *request, list []ship.Shipment) (store.Manifest, error) {
	seller, err := sellerOf(list)
	if err != nil {
		return store.Manifest{}, err
	}
	ids := idsOf(list)
	slices.Sort(ids)
	hash := sha256.New()
	for _, id := range ids {
		hash.Write([]byte(id))
	}
	digest := hex.EncodeToString(hash.Sum(nil)[:16])
	closed, err := s.Handover.CloseManifest(ctx, handover.ManifestInput{
		Tenant:    in.tenant,
		Account:   in.caller.Account,
		Seller:    seller,
		Shipments: ids,
		Name:      ship.NameOf(ship.ServiceKey(ship.KeyOfScanForm, digest)),
	})
	return closed.Manifest, err
}

func (s *server) createScanForm(ctx context.Context, in *request) (answer, error) {
	given := in.body
	if wrapped := given.object("scan_form"); wrapped != nil {
		given = wrapped
	}
	names := given.names("shipments")
	if names == nil {
		names = given.names("shipment") // as one of the official suites has it
	}
	list, err := s.purchases(ctx, in, names)
	if err != nil {
		return answer{}, err
	}
	manifest, err := s.closeManifest(ctx, in, list)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: s.scanForm(in.tenant, manifest)}, nil
}

func (s *server) getScanForm(ctx context.Context, in *request) (answer, error) {
	id, ok := parseID(in.id, prefixScanForm)
	if !ok {
		return answer{}, notFound()
	}
	manifest, err := s.Handover.Manifest(ctx, in.tenant, ship.ManifestIDOf(id))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: s.scanForm(in.tenant, manifest)}, nil
}

func (s *server) listScanForms(ctx context.Context, in *request) (answer, error) {
	limit, err := pageSize(in)
	if err != nil {
		return answer{}, err
	}

	page := ship.Page{Limit: limit + 1} // one more says whether there are more
	if given := in.query.Get("before_id"); given != "" {
		id, ok := parseID(given, prefixScanForm)
		if !ok {
			return answer{}, invalid("before_id", "is not the id of a scan form")
		}
		page.Before = id
	}
	list, err := s.Handover.Manifests(ctx, in.tenant, page)
	if err != nil {
		return answer{}, err
	}

	out := []*scanFormObject{}
	for _, listed := range list[:min(len(list), limit)] {
		manifest, err := s.Handover.Manifest(ctx, in.tenant, listed.ID) // the list has no labels
		if err != nil {
			return answer{}, err
		}
		out = append(out, s.scanForm(in.tenant, manifest))
	}
	return answer{status: http.StatusOK, body: map[string]any{"scan_forms": out, "has_more": len(list) > limit}}, nil
}

const kindPickup = "pickup"

// A pickupDraft is a pickup as it is stored: what the client asks for, and the
// booking once there is one.
type pickupDraft struct {
	Reference    string         `json:"reference"`
	Address      *addressObject `json:"address"`
	From         string         `json:"min_datetime"` // with the offset that the client wrote
	Until        string         `json:"max_datetime"`
	Instructions string         `json:"instructions"`
	AtAccount    bool           `json:"is_account_address"`
	Shipments    []string       `json:"shipments"` // ids of ours
	Carrier      string         `json:"carrier"`
	Connection   string         `json:"connection"`
	Booked       string         `json:"booked"` // id of the pickup; empty until it is bought
}

// pickupObject is a pickup.
type pickupObject struct {
	head
	Reference        *string         `json:"reference"`
	Status           string          `json:"status"`
	MinDatetime      string          `json:"min_datetime"`
	MaxDatetime      string          `json:"max_datetime"`
	IsAccountAddress bool            `json:"is_account_address"`
	Instructions     *string         `json:"instructions"`
	Messages         []messageObject `json:"messages"`
	Confirmation     *string         `json:"confirmation"`
	Address          *addressObject  `json:"address"`
	CarrierAccounts  []any           `json:"carrier_accounts"`
	PickupRates      []pickupRate    `json:"pickup_rates"`
}

type pickupRate struct {
	head
	Service  string `json:"service"`
	Carrier  string `json:"carrier"`
	Rate     string `json:"rate"`
	Currency string `json:"currency"`
	PickupID string `json:"pickup_id"`
}

// pickupService is the only service of pickups here: carriers have their own rules
// for the day.
const pickupService = "FutureDay"

var pickupStatuses = map[effect.State]string{
	effect.Pending:         "unknown",
	effect.Uncertain:       "unknown",
	effect.NeedsReview:     "unknown",
	effect.Failed:          "unknown",
	effect.Succeeded:       "scheduled",
	store.PickupCancelling: "scheduled",
	store.PickupCancelled:  "canceled",
}

func (s *server) createPickup(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("pickup")
	if given == nil {
		return answer{}, required("pickup")
	}
	names := given.names("shipments")
	if one := given["shipment"]; one != nil {
		names = append(names, cmp.Or(objectOf(one).text("id"), textOf(one)))
	}
	if batch := cmp.Or(given.object("batch").text("id"), given.text("batch")); batch != "" {
		b, err := s.findBatch(ctx, in, batch)
		if err != nil {
			return answer{}, err
		}
		names = append(names, b.draft.ids()...)
	}
	list, err := s.purchases(ctx, in, names)
	if err != nil {
		return answer{}, err
	}
	seller, err := sellerOf(list)
	if err != nil {
		return answer{}, err
	}

	created := s.newDrafts(in.tenant)
	draft := pickupDraft{
		Reference:    given.text("reference"),
		Instructions: given.text("instructions"),
		AtAccount:    given.flag("is_account_address"),
		Carrier:      seller.Carrier,
		Connection:   string(seller.Connection),
	}
	for _, id := range idsOf(list) {
		draft.Shipments = append(draft.Shipments, string(id))
	}
	if draft.Address, err = created.addressFrom(ctx, given["address"], "address"); err != nil {
		return answer{}, err
	}
	for name, field := range map[string]*string{"min_datetime": &draft.From, "max_datetime": &draft.Until} {
		at, err := parseTime(given.text(name))
		if err != nil {
			return answer{}, invalid(name, "must be a time, such as 2026-03-31T12:00:00Z")
		}
		*field = at.Format(time.RFC3339)
	}

	object := compat.NewObject(in.tenant, kindPickup, created.now)
	if object.Body, err = json.Marshal(draft); err != nil {
		return answer{}, err
	}
	created.created = append(created.created, object)
	if err := created.store(ctx); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: pickupOf(in.tenant, object.ID, draft, nil)}, nil
}

// pickupOf is a pickup as clients see it; booked is nil until it is bought.
func pickupOf(t ship.Tenant, id ship.RawID, draft pickupDraft, booked *store.Pickup) *pickupObject {
	out := &pickupObject{
		head:             headOf(t, "Pickup", prefixPickup, id),
		Reference:        orNull(draft.Reference),
		Status:           "unknown",
		MinDatetime:      inUTC(draft.From),
		MaxDatetime:      inUTC(draft.Until),
		IsAccountAddress: draft.AtAccount,
		Instructions:     orNull(draft.Instructions),
		Messages:         []messageObject{},
		Address:          draft.Address,
		CarrierAccounts:  []any{},
	}

	price := ship.Money{Currency: "USD"}
	if booked != nil {
		out.Status = pickupStatuses[booked.State]
		out.Confirmation = orNull(booked.Booking.Confirmation)
		if !booked.Booking.Price.IsZero() {
			price = booked.Booking.Price
		}
		if booked.Message != "" {
			out.Messages = append(out.Messages, messageObject{Carrier: theirCarrier(booked.Carrier), Type: "pickup_error", Message: booked.Message})
		}
	}

	out.PickupRates = []pickupRate{{
		head:     headOf(t, "PickupRate", prefixPickupRate, id),
		Service:  pickupService,
		Carrier:  theirCarrier(draft.Carrier),
		Rate:     price.Amount(),
		Currency: price.Currency,
		PickupID: out.ID,
	}}
	return out
}

// inUTC is a stored time as clients see it.
func inUTC(stored string) string {
	at, err := time.Parse(time.RFC3339, stored)
	if err != nil {
		return stored
	}
	return timestamp(at)
}

// findPickup returns a pickup by its id, and its booking if there is one.
func (s *server) findPickup(ctx context.Context, in *request) (compat.Object, pickupDraft, *store.Pickup, error) {
	var draft pickupDraft
	id, ok := parseID(in.id, prefixPickup)
	if !ok {
		return compat.Object{}, draft, nil, notFound()
	}
	object, err := s.Compat.Object(ctx, in.tenant, kindPickup, id)
	if ship.KindOf(err) == ship.NotFound {
		return object, draft, nil, notFound()
	}
	if err == nil {
		err = json.Unmarshal(object.Body, &draft)
	}
	if err != nil || draft.Booked == "" {
		return object, draft, nil, err
	}
	booked, err := s.Handover.Pickup(ctx, in.tenant, ship.PickupID(draft.Booked))
	return object, draft, &booked, err
}

func (s *server) getPickup(ctx context.Context, in *request) (answer, error) {
	object, draft, booked, err := s.findPickup(ctx, in)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: pickupOf(in.tenant, object.ID, draft, booked)}, nil
}

func (s *server) listPickups(ctx context.Context, in *request) (answer, error) {
	filter, err := filterOf(in, kindPickup, prefixPickup)
	if err != nil {
		return answer{}, err
	}
	objects, more, err := s.Compat.Objects(ctx, in.tenant, filter)
	if err != nil {
		return answer{}, err
	}
	out := []*pickupObject{}
	for _, object := range objects {
		one := *in
		one.id = object.ID.IDWithPrefix(prefixPickup)
		object, draft, booked, err := s.findPickup(ctx, &one)
		if err != nil {
			return answer{}, err
		}
		out = append(out, pickupOf(in.tenant, object.ID, draft, booked))
	}
	return answer{status: http.StatusOK, body: map[string]any{"pickups": out, "has_more": more}}, nil
}

// buyPickup books the pickup. There is one pickup of a carrier account, a place and
// a day, so a repeat finds the first.
func (s *server) buyPickup(ctx context.Context, in *request) (answer, error) {
	object, draft, booked, err := s.findPickup(ctx, in)
	if err != nil {
		return answer{}, err
	}
	if carrier := ownCarrier(in.body.text("carrier")); carrier != "" && carrier != draft.Carrier {
		return answer{}, invalid("carrier", "is not the carrier of the pickup's rates")
	}

	if booked == nil {
		input := handover.PickupInput{
			Tenant:       in.tenant,
			Account:      in.caller.Account,
			Seller:       handover.Seller{Carrier: draft.Carrier, Connection: ship.ConnectionID(draft.Connection)},
			Instructions: draft.Instructions,
		}
		if draft.Address != nil {
			input.Address = draft.Address.address()
		}
		for _, id := range draft.Shipments {
			input.Shipments = append(input.Shipments, ship.ShipmentID(id))
		}
		if input.Window.ReadyAt, err = time.Parse(time.RFC3339, draft.From); err != nil {
			return answer{}, err
		}
		if input.Window.CloseAt, err = time.Parse(time.RFC3339, draft.Until); err != nil {
			return answer{}, err
		}
		made, err := s.Handover.BookPickup(ctx, input)
		if err != nil {
			return answer{}, err
		}

		// The client may have left; the booking must be found by its next try.
		draft.Booked = string(made.ID)
		if object.Body, err = json.Marshal(draft); err != nil {
			return answer{}, err
		}
		if err := s.Compat.Save(context.WithoutCancel(ctx), in.tenant, object); err != nil {
			return answer{}, err
		}
		booked = &made.Pickup
	}
	return answer{status: http.StatusOK, body: pickupOf(in.tenant, object.ID, draft, booked)}, nil
}

func (s *server) cancelPickup(ctx context.Context, in *request) (answer, error) {
	object, draft, booked, err := s.findPickup(ctx, in)
	if err != nil {
		return answer{}, err
	}
	if booked == nil {
		return answer{}, ship.Coded(ship.Invalid, "conflict", "the pickup was not bought, so there is nothing to cancel")
	}
	cancelled, err := s.Handover.CancelPickup(ctx, in.tenant, booked.ID)
	if err != nil {
		return answer{}, err
	}
	out := pickupOf(in.tenant, object.ID, draft, &cancelled)
	if cancelled.State == store.PickupCancelling {
		out.Status = "canceled"
	}
	return answer{status: http.StatusOK, body: out}, nil
}

// carrierAccountObject is a carrier account.
type carrierAccountObject struct {
	head
	Type        string    `json:"type"`
	Fields      *struct{} `json:"fields"`
	Clone       bool      `json:"clone"`
	Description *string   `json:"description"`
	Reference   *string   `json:"reference"`
	BillingType string    `json:"billing_type"`
	Readable    string    `json:"readable"`
	Logo        *string   `json:"logo"`
	Credentials struct{}  `json:"credentials"`
}

// listCarrierAccounts lists the connected carriers: a bare array, as there.
func (s *server) listCarrierAccounts(ctx context.Context, in *request) (answer, error) {
	list, err := s.Shipping.Carriers(ctx, in.tenant)
	if err != nil {
		return answer{}, err
	}
	out := []carrierAccountObject{}
	for _, info := range list {
		connections := info.Connections
		if info.Simulated {
			connections = []shipping.Connection{{Name: info.Title}}
		}
		for _, connection := range connections {
			rate := ship.Rate{Carrier: info.Name, Connection: connection.ID}
			out = append(out, carrierAccountObject{
				head:        head{ID: carrierAccountID(rate), Object: "CarrierAccount", Mode: mode(in.tenant), CreatedAt: timestamp(connection.ID.Raw().Time())},
				Type:        theirCarrier(info.Name) + "Account",
				Description: orNull(connection.Name),
				BillingType: "carrier",
				Readable:    info.Title,
			})
		}
	}
	return answer{status: http.StatusOK, body: out}, nil
}
