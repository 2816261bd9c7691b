package easypost

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/compat"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/wire"
)

// The prefixes of ids. The official clients choose the class of an object by them.
const (
	prefixAddress     = "adr_"
	prefixParcel      = "prcl_"
	prefixCustomsInfo = "cstinfo_"
	prefixCustomsItem = "cstitem_"
	prefixShipment    = "shp_"
	prefixRate        = "rate_"
	prefixLabel       = "pl_"
	prefixTracker     = "trk_"
	prefixEvent       = "evt_"
	prefixWebhook     = "hook_"
	prefixRefund      = "rfnd_"
	prefixBatch       = "batch_"
	prefixScanForm    = "sf_"
	prefixPickup      = "pickup_"
	prefixPickupRate  = "pickuprate_"
)

// The kinds of objects that are stored, beside shipments.
const (
	kindAddress     = "address"
	kindParcel      = "parcel"
	kindCustomsInfo = "customs_info"
	kindCustomsItem = "customs_item"
)

// head is what every object begins with.
type head struct {
	ID        string  `json:"id"`
	Object    string  `json:"object"`
	Mode      string  `json:"mode"`
	CreatedAt string  `json:"created_at"`
	UpdatedAt *string `json:"updated_at"`
}

func headOf(t ship.Tenant, object, prefix string, id ship.RawID) head {
	at := timestamp(id.Time())
	return head{
		ID:        id.IDWithPrefix(prefix),
		Object:    object,
		Mode:      mode(t),
		CreatedAt: at,
		UpdatedAt: &at,
	}
}

// parseID reads an id: one that was made here, or one of EasyPost's own, which is 32
// hexadecimal digits, of an object that was imported.
func parseID(text, prefix string) (ship.RawID, bool) {
	if id, ok := ship.ParseIDWithPrefix(text, prefix); ok {
		return id, true
	}
	digits, ok := strings.CutPrefix(text, prefix)
	if !ok || len(digits) != 32 {
		return ship.RawID{}, false
	}
	var id ship.RawID
	_, err := hex.Decode(id[:], []byte(digits))
	return id, err == nil
}

// drafts collect the objects that one request creates, so that they are stored
// together or not at all.
type drafts struct {
	server  *server
	tenant  ship.Tenant
	now     time.Time
	created []compat.Object
}

func (s *server) newDrafts(t ship.Tenant) *drafts {
	return &drafts{server: s, tenant: t, now: time.Now().UTC().Truncate(time.Millisecond)}
}

// add makes an object of the kind. The function writes its body, which has the id.
func (d *drafts) add(kind string, body func(ship.RawID) any) error {
	object := compat.NewObject(d.tenant, kind, d.now)
	text, err := wire.Marshal(body(object.ID))
	if err != nil {
		return err
	}
	if len(text) > maxObject {
		return invalid(kind, "is too large: "+strconv.Itoa(maxObject>>10)+" KiB is the most")
	}
	object.Body = text
	d.created = append(d.created, object)
	return nil
}

// maxObject bounds what is stored of one object, in bytes: a list has up to a
// hundred of them. A declaration of a hundred items fits.
const maxObject = 64 << 10

// store writes the objects.
func (d *drafts) store(ctx context.Context) error {
	if len(d.created) == 0 {
		return nil
	}
	return d.server.Compat.Add(ctx, d.tenant, d.created...)
}

// stored reads an object into its shape.
func (s *server) stored(ctx context.Context, t ship.Tenant, kind, prefix, id string, shape any) error {
	raw, ok := parseID(id, prefix)
	if !ok {
		return notFound()
	}
	object, err := s.Compat.Object(ctx, t, kind, raw)
	if ship.KindOf(err) == ship.NotFound {
		return notFound()
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(object.Body, shape)
}

// addressObject is an address.
type addressObject struct {
	head
	Name            *string        `json:"name"`
	Company         *string        `json:"company"`
	Street1         *string        `json:"street1"`
	Street2         *string        `json:"street2"`
	City            *string        `json:"city"`
	State           *string        `json:"state"`
	Zip             *string        `json:"zip"`
	Country         *string        `json:"country"`
	Phone           *string        `json:"phone"`
	Email           *string        `json:"email"`
	CarrierFacility *string        `json:"carrier_facility"`
	Residential     *bool          `json:"residential"`
	FederalTaxID    *string        `json:"federal_tax_id"`
	StateTaxID      *string        `json:"state_tax_id"`
	Verifications   *verifications `json:"verifications"`
}

// verifications say what became of the checks that a client asked for; they are
// empty if it asked for none.
type verifications struct {
	Zip4     *verification `json:"zip4,omitempty"`
	Delivery *verification `json:"delivery,omitempty"`
}

type verification struct {
	Success bool                `json:"success"`
	Errors  []verificationError `json:"errors"`
	Details *struct{}           `json:"details"`
}

type verificationError struct {
	Code       string  `json:"code"`
	Field      string  `json:"field"`
	Message    string  `json:"message"`
	Suggestion *string `json:"suggestion"`
}

// addressOf reads an address that a client wrote.
func addressOf(in values) addressObject {
	country := in.text("country")
	if country == "" {
		country = "US" // as there
	}
	out := addressObject{
		Name:            orNull(in.text("name")),
		Company:         orNull(in.text("company")),
		Street1:         orNull(in.text("street1")),
		Street2:         orNull(in.text("street2")),
		City:            orNull(in.text("city")),
		State:           orNull(in.text("state")),
		Zip:             orNull(in.text("zip")),
		Country:         orNull(country),
		Phone:           orNull(in.text("phone")),
		Email:           orNull(in.text("email")),
		CarrierFacility: orNull(in.text("carrier_facility")),
		FederalTaxID:    orNull(in.text("federal_tax_id")),
		StateTaxID:      orNull(in.text("state_tax_id")),
		Verifications:   &verifications{},
	}
	if in.text("residential") != "" {
		out.Residential = new(in.flag("residential"))
	}
	return out
}

// address is the address as the services take it. A label needs a name; there, the
// company alone will do.
func (a *addressObject) address() ship.Address {
	if a == nil {
		return ship.Address{}
	}
	out := ship.Address{
		Name:        value(a.Name),
		Company:     value(a.Company),
		Address1:    value(a.Street1),
		Address2:    value(a.Street2),
		City:        value(a.City),
		State:       value(a.State),
		Zip:         value(a.Zip),
		Country:     value(a.Country),
		Phone:       value(a.Phone),
		Email:       value(a.Email),
		Residential: a.Residential,
	}
	if out.Name == "" {
		out.Name = out.Company
	}
	return out
}

func value[T any](pointer *T) (zero T) {
	if pointer == nil {
		return zero
	}
	return *pointer
}

// addressFrom returns the address that a parameter gives in full or by id; nil for
// none. One in full becomes an object of its own.
func (d *drafts) addressFrom(ctx context.Context, given any, name string) (*addressObject, error) {
	in := objectOf(given)
	id := textOf(given)
	if in != nil {
		id = in.text("id")
	}
	if id != "" && (in == nil || in.text("street1") == "") {
		var out addressObject
		err := d.server.stored(ctx, d.tenant, kindAddress, prefixAddress, id, &out)
		if ship.KindOf(err) == ship.NotFound {
			return nil, invalid(name+"/id", "is not an address of this account")
		}
		return &out, err
	}
	if in == nil {
		return nil, nil
	}

	out := addressOf(in)
	if isAsked(in["verify"]) || isAsked(in["verify_strict"]) {
		if err := d.server.verify(ctx, d.tenant, &out, isAsked(in["verify_strict"])); err != nil {
			return nil, err
		}
	}
	err := d.add(kindAddress, func(id ship.RawID) any {
		out.head = headOf(d.tenant, "Address", prefixAddress, id)
		return &out
	})
	return &out, err
}

// isAsked reports whether a client asks for a verification: true, or a list of its
// parts.
func isAsked(given any) bool {
	if list, ok := given.([]any); ok {
		return len(list) > 0
	}
	text := textOf(given)
	return text != "" && !strings.EqualFold(text, "false") && text != "0"
}

// verify has the address checked by the account's carriers, and corrects it if they
// do. A check that is strict fails unless the address is known to be right.
func (s *server) verify(ctx context.Context, t ship.Tenant, address *addressObject, isStrict bool) error {
	check, err := s.check(ctx, t, address.address())
	if ship.CodeOf(err) == "validation_failed" {
		// What lacks a street or a city is no address at all.
		check = ship.AddressCheck{Verdict: ship.AddressInvalid}
		for _, field := range ship.ErrorOf(err).Fields {
			check.Messages = append(check.Messages, fieldName(field.Pointer)+" "+field.Detail+".")
		}
	} else if err != nil {
		return err
	}

	isValid := check.Verdict == ship.AddressValid || check.Verdict == ship.AddressCorrected
	if isValid {
		found := check.Address
		address.Street1 = orNull(found.Address1)
		address.Street2 = orNull(found.Address2)
		address.City = orNull(found.City)
		address.State = orNull(found.State)
		address.Zip = orNull(found.Zip)
		address.Country = orNull(found.Country)
		if check.Residential != nil {
			address.Residential = check.Residential
		}
		address.Verifications = verificationsOf(true, []verificationError{})
		return nil
	}

	// The first error is the one that programs compare; the others say more.
	reasons := []verificationError{{Code: "E.ADDRESS.NOT_FOUND", Field: "address", Message: "Address not found"}}
	if check.Verdict == ship.AddressUnknown {
		reasons[0] = verificationError{Code: "E.ADDRESS.NOT_CHECKED", Field: "address", Message: "No connected carrier could check the address"}
	}
	for _, message := range check.Messages {
		reasons = append(reasons, verificationError{Code: reasons[0].Code, Field: "address", Message: message})
	}
	if isStrict {
		failed := ship.Coded(ship.Invalid, "address_not_verified", "unable to verify address.")
		for _, reason := range reasons {
			failed.Fields = append(failed.Fields, ship.FieldError{Pointer: "/address", Code: "invalid", Detail: reason.Message})
		}
		return failed
	}
	address.Verifications = verificationsOf(false, reasons)
	return nil
}

// verificationsOf are the two checks of EasyPost with one result: here there is one
// check.
func verificationsOf(passed bool, reasons []verificationError) *verifications {
	return &verifications{
		Zip4:     &verification{Success: passed, Errors: reasons},
		Delivery: &verification{Success: passed, Errors: reasons, Details: &struct{}{}},
	}
}

func (s *server) createAddress(ctx context.Context, in *request) (answer, error) {
	return s.saveAddress(ctx, in, isAsked(in.body["verify"]), isAsked(in.body["verify_strict"]))
}

func (s *server) saveAddress(ctx context.Context, in *request, verify, isStrict bool) (answer, error) {
	given := in.body.object("address")
	if given == nil {
		return answer{}, required("address")
	}

	// An address with an id is one of EasyPost's that is imported: it keeps its id,
	// and importing it again changes nothing.
	imported, isImport := parseID(given.text("id"), prefixAddress)
	if isImport {
		var known addressObject
		err := s.stored(ctx, in.tenant, kindAddress, prefixAddress, given.text("id"), &known)
		if ship.KindOf(err) != ship.NotFound {
			return answer{status: http.StatusOK, body: &known}, err
		}
	}

	out := addressOf(given)
	if verify || isStrict || isAsked(given["verify"]) || isAsked(given["verify_strict"]) {
		if err := s.verify(ctx, in.tenant, &out, isStrict || isAsked(given["verify_strict"])); err != nil {
			return answer{}, err
		}
	}

	created := s.newDrafts(in.tenant)
	err := created.add(kindAddress, func(id ship.RawID) any {
		out.head = headOf(in.tenant, "Address", prefixAddress, id)
		if isImport {
			out.ID = given.text("id")
		}
		return &out
	})
	if err != nil {
		return answer{}, err
	}
	if isImport {
		created.created[0].ID = imported
	}
	return answer{status: http.StatusCreated, body: &out}, created.store(ctx)
}

// wrappedAddress is how two of the calls answer.
type wrappedAddress struct {
	Address *addressObject `json:"address"`
}

func (s *server) createAndVerifyAddress(ctx context.Context, in *request) (answer, error) {
	// The address may stand in the body itself.
	if in.body.object("address") == nil {
		in.body = values{"address": map[string]any(in.body)}
	}
	out, err := s.saveAddress(ctx, in, true, false)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: wrappedAddress{out.body.(*addressObject)}}, nil
}

func (s *server) verifyAddress(ctx context.Context, in *request) (answer, error) {
	var out addressObject
	if err := s.stored(ctx, in.tenant, kindAddress, prefixAddress, in.id, &out); err != nil {
		return answer{}, err
	}
	if err := s.verify(ctx, in.tenant, &out, true); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: wrappedAddress{&out}}, nil
}

func (s *server) getAddress(ctx context.Context, in *request) (answer, error) {
	var out addressObject
	err := s.stored(ctx, in.tenant, kindAddress, prefixAddress, in.id, &out)
	return answer{status: http.StatusOK, body: &out}, err
}

func (s *server) listAddresses(ctx context.Context, in *request) (answer, error) {
	list, more, err := listStored[addressObject](ctx, s, in, kindAddress, prefixAddress)
	return answer{status: http.StatusOK, body: map[string]any{"addresses": list, "has_more": more}}, err
}

// listStored is a page of stored objects, newest first.
func listStored[T any](ctx context.Context, s *server, in *request, kind, prefix string) ([]*T, bool, error) {
	filter, err := filterOf(in, kind, prefix)
	if err != nil {
		return nil, false, err
	}
	objects, more, err := s.Compat.Objects(ctx, in.tenant, filter)
	if err != nil {
		return nil, false, err
	}
	list := make([]*T, len(objects))
	for i, object := range objects {
		list[i] = new(T)
		if err := json.Unmarshal(object.Body, list[i]); err != nil {
			return nil, false, err
		}
	}
	return list, more, nil
}

// filterOf reads the parameters of a page.
func filterOf(in *request, kind, prefix string) (compat.Filter, error) {
	filter := compat.Filter{Kind: kind}
	var err error
	if filter.Limit, err = pageSize(in); err != nil {
		return filter, err
	}
	for name, id := range map[string]*ship.RawID{"before_id": &filter.Before, "after_id": &filter.After} {
		given := in.query.Get(name)
		if given == "" {
			continue
		}
		var ok bool
		if *id, ok = parseID(given, prefix); !ok {
			return filter, invalid(name, "is not the id of an object of this list")
		}
	}
	for name, at := range map[string]*time.Time{"start_datetime": &filter.From, "end_datetime": &filter.Until} {
		given := in.query.Get(name)
		if given == "" {
			continue
		}
		if *at, err = parseTime(given); err != nil {
			return filter, invalid(name, "must be a time, such as 2026-03-31T12:00:00Z")
		}
	}
	return filter, nil
}

// parcelObject is a parcel. Weights there are always in ounces, sides in inches.
type parcelObject struct {
	head
	Length            *decimal `json:"length"`
	Width             *decimal `json:"width"`
	Height            *decimal `json:"height"`
	PredefinedPackage *string  `json:"predefined_package"`
	Weight            *decimal `json:"weight"`
}

func parcelOf(in values) parcelObject {
	return parcelObject{
		Length:            in.decimalOf("length"),
		Width:             in.decimalOf("width"),
		Height:            in.decimalOf("height"),
		PredefinedPackage: orNull(in.text("predefined_package")),
		Weight:            in.decimalOf("weight"),
	}
}

// parcel is the parcel as the services take it.
func (p *parcelObject) parcel() (ship.Parcel, error) {
	out := ship.Parcel{Weight: float64(value(p.Weight)), WeightUnit: ship.Ounce}
	if p.Length != nil && p.Width != nil && p.Height != nil {
		out.Dimensions = &ship.Dimensions{
			Length: float64(*p.Length),
			Width:  float64(*p.Width),
			Height: float64(*p.Height),
			Unit:   ship.Inch,
		}
	}
	code, known := ownPackage(value(p.PredefinedPackage))
	if !known {
		return out, invalid("parcel/predefined_package", "is not a package that a connected carrier has; give length, width and height instead")
	}
	out.Packaging = code
	return out, nil
}

// parcelFrom returns the parcel that a parameter gives in full or by id.
func (d *drafts) parcelFrom(ctx context.Context, given any) (*parcelObject, error) {
	in := objectOf(given)
	id := textOf(given)
	if in != nil {
		id = in.text("id")
	}
	switch {
	case id != "" && (in == nil || in.text("weight") == ""):
		var out parcelObject
		err := d.server.stored(ctx, d.tenant, kindParcel, prefixParcel, id, &out)
		if ship.KindOf(err) == ship.NotFound {
			return nil, invalid("parcel/id", "is not a parcel of this account")
		}
		return &out, err
	case in == nil:
		return nil, nil
	}

	out := parcelOf(in)
	err := d.add(kindParcel, func(id ship.RawID) any {
		out.head = headOf(d.tenant, "Parcel", prefixParcel, id)
		return &out
	})
	return &out, err
}

func (s *server) createParcel(ctx context.Context, in *request) (answer, error) {
	given := in.body.object("parcel")
	if given == nil {
		return answer{}, required("parcel")
	}
	if given.text("weight") == "" {
		return answer{}, required("weight")
	}
	delete(given, "id")
	created := s.newDrafts(in.tenant)
	out, err := created.parcelFrom(ctx, map[string]any(given))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: out}, created.store(ctx)
}

func (s *server) getParcel(ctx context.Context, in *request) (answer, error) {
	var out parcelObject
	err := s.stored(ctx, in.tenant, kindParcel, prefixParcel, in.id, &out)
	return answer{status: http.StatusOK, body: &out}, err
}
