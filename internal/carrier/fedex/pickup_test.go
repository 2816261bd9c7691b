package fedex_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
)

// pickupReference is shaped like those of the service.
const pickupReference = "P0123456789ABCDEFGHJKMNPQR"

// pickup returns a booking of two parcels of FedEx 2Day in Los Angeles.
func pickup() carrier.PickupRequest {
	zone := time.FixedZone("", -8*60*60)
	return carrier.PickupRequest{
		Reference: pickupReference,
		Order: ship.PickupOrder{
			Address: order().Origin,
			Window: ship.TimeWindow{
				ReadyAt: time.Date(2099, 11, 17, 10, 0, 0, 0, zone),
				CloseAt: time.Date(2099, 11, 17, 17, 30, 0, 0, zone),
			},
			Parcels:     []ship.PickupParcels{{Service: "two_day", Country: "US", Count: 2}},
			WeightGrams: 2268,
		},
	}
}

func groundPickup() carrier.PickupRequest {
	ground := pickup()
	ground.Order.Parcels = []ship.PickupParcels{
		{Service: "ground", Country: "US", Count: 3},
		{Service: "home_delivery", Country: "US", Count: 1},
		{Count: 1},
	}
	ground.Order.Instructions = "Ring at the loading dock"
	ground.Order.WeightGrams = 0
	return ground
}

// TestPickupsAreWrittenAsTheGoldenFiles also checks every exchange against FedEx's
// file.
func TestPickupsAreWrittenAsTheGoldenFiles(t *testing.T) {
	contract := newContractOf(t, "openapi", []carriertest.Departure{{
		Operation: "POST /pickup/v1/pickups",
		Contains:  "stateOrProvinceCode",
		Reason:    "the file requires a state everywhere; most countries have none, and FedEx's other files require it only in some",
	}})

	london := pickup()
	london.Order.Address = abroad().Order.Destination
	london.Order.Parcels = []ship.PickupParcels{
		{Service: "international_priority", Country: "US", Count: 1},
		{Service: "priority", Country: "GB", Count: 1},
	}
	for name, request := range map[string]carrier.PickupRequest{
		"pickup-express": pickup(),
		"pickup-ground":  groundPickup(),
		"pickup-london":  london,
	} {
		wire := &overheard{via: contract.Checked(carriertest.Server(t, newServer(t)))}
		c := open(t, credentials(), wire)
		booked, err := c.BookPickup(t.Context(), request)
		if err != nil {
			t.Fatal(name, err)
		}
		if err := c.CancelPickup(t.Context(), request, booked); err != nil {
			t.Fatal(name, err)
		}
		golden(t, name, wire.bodies)
	}
}

func TestPickupsThatFedExCannotTakeAreNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		pointer string
		words   string
		change  func(*ship.PickupOrder)
	}{
		"two companies": {"/parcels", "book two pickups", func(o *ship.PickupOrder) {
			o.Parcels = []ship.PickupParcels{{Service: "ground", Count: 1}, {Service: "two_day", Count: 1}}
		}},
		"no service":                  {"/parcels", "send shipmentIds", func(o *ship.PickupOrder) { o.Parcels = []ship.PickupParcels{{Count: 1}} }},
		"another's service":           {"/parcels", "no service", func(o *ship.PickupOrder) { o.Parcels[0].Service = "ups_ground" }},
		"no phone":                    {"/address/phone", "phone number", func(o *ship.PickupOrder) { o.Address.Phone = "" }},
		"long phone":                  {"/address/phone", "8 to 13 digits", func(o *ship.PickupOrder) { o.Address.Country, o.Address.Phone = "DE", "+49301234567890" }},
		"past midnight":               {"/window/closeAt", "same day", func(o *ship.PickupOrder) { o.Window.CloseAt = o.Window.CloseAt.Add(8 * time.Hour) }},
		"long instructions":           {"/instructions", "60 characters", func(o *ship.PickupOrder) { o.Instructions = strings.Repeat("bell ", 13) }},
		"unprintable":                 {"/instructions", "Latin letters", func(o *ship.PickupOrder) { o.Instructions = "请按铃" }},
		"an address that is too long": {"/address/city", "", func(o *ship.PickupOrder) { o.Address.City = strings.Repeat("Llanfair", 5) }},
	} {
		request := pickup()
		c.change(&request.Order)
		_, err := open(t, credentials(), silent{}).BookPickup(t.Context(), request)
		e, ok := errors.AsType[*ship.Error](err)
		if !ok || e.Kind != ship.Invalid || len(e.Fields) != 1 || e.Fields[0].Pointer != c.pointer || !strings.Contains(e.Message, c.words) {
			t.Errorf("%s: %v %+v, want %s with %q", name, err, e, c.pointer, c.words)
		}
	}
}

func TestInstructionsKeepTheReferenceIfThereIsRoom(t *testing.T) {
	for instructions, want := range map[string]string{
		"":                                     pickupReference,
		"Ring twice":                           "Ring twice, " + pickupReference,
		"Ask for Ada at the second gate, left": "Ask for Ada at the second gate, left",
	} {
		wire := &overheard{via: carriertest.Server(t, newServer(t))}
		request := pickup()
		request.Order.Instructions = instructions
		if _, err := open(t, credentials(), wire).BookPickup(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(wire.bodies[0]), `"remarks":"`+want+`"`) {
			t.Errorf("%q is sent as %s", instructions, wire.bodies[0])
		}
	}
}

func TestRefusedPickupsAreExplained(t *testing.T) {
	refusal := func(code, message string) string {
		return `{"transactionId":"1","errors":[{"code":"` + code + `","message":"` + message + `"}]}`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		kind   ship.Kind
		code   string
		words  string
	}{
		"a day that has passed":      {400, refusal("PICKUP.REQUESTED.PREVIOUS.DAY", "Cannot schedule a pickup requested for a previous day."), ship.Invalid, "pickup_too_late", ""},
		"a window that is too short": {400, refusal("FDSDMINIMUM.HOUR.REQUIRED", "x"), ship.Invalid, "pickup_too_late", ""},
		"after the cut-off":          {400, refusal("UNABLE.TO.PICKUP", "Unable To Pickup before Close time."), ship.Invalid, "pickup_too_late", ""},
		"too far ahead":              {400, refusal("PICKUPDATE.TOO.FAR", "Pickup Date too far in future."), ship.Invalid, "", "FedEx declined to book the pickup"},
		"another reason":             {400, refusal("ORIGIN.POSTALCODE.INVALID", "no"), ship.Invalid, "", "FedEx declined to book the pickup"},
		"no permission":              {403, refusal("FORBIDDEN.ERROR", "no"), ship.Forbidden, "", "Pickup Request API"},
		"not recorded":               {400, refusal("REQUEST.MISMATCH", "no"), ship.Unsupported, "not_testable", ""},
		"no code":                    {200, `{"output":{"message":"Courier on the way"}}`, ship.Uncertain, "", ""},
	} {
		_, err := open(t, credentials(), canned{c.status, c.body}).BookPickup(t.Context(), pickup())
		e, ok := errors.AsType[*ship.Error](err)
		if !ok || e.Kind != c.kind || e.Code != c.code || len(e.Fields) != 0 || !strings.Contains(e.Message, c.words) {
			t.Errorf("%s: %v %+v", name, err, e)
		}
	}

	details := `{"carrierCode":"FDXE","scheduledDate":"2099-11-17","location":"COSA"}`
	for name, c := range map[string]struct {
		details string
		status  int
		body    string
		kind    ship.Kind
	}{
		"cancelled":              {details, 200, `{"output":{"pickupConfirmationCode":"COSA3001","cancelConfirmationMessage":"Success"}}`, ""},
		"not known":              {details, 404, refusal("NOT.FOUND.ERROR", "no longer available"), ship.Invalid},
		"cancelled before":       {details, 400, refusal("DUPLICATE.REQUEST.CANCEL", "Duplicate cancel request"), ""},
		"picked up already":      {details, 400, refusal("PICKUPCONFIRMATION.CODE.ALREADYEXIST", "Pickup already made, cannot cancel or update."), ship.Invalid},
		"over already":           {details, 400, refusal("PICKUP.CANCELLATION.NOTALLOWED", "Pickup cancellation requested for an already completed/past date pickup is not allowed."), ship.Invalid},
		"no driver":              {details, 400, refusal("NO.DISPATCH.FOUND", "No Dispatch found for this account."), ship.Invalid},
		"a proxy":                {details, 404, "<html>Not Found</html>", ship.Unavailable},
		"too late":               {details, 400, refusal("PICKUP.NUMBER.EXPIRED", "PREVIOUS DAY PICKUP, CANNOT CANCEL OR UPDATE"), ship.Invalid},
		"not confirmed":          {details, 200, `{"output":{}}`, ship.Uncertain},
		"no permission":          {details, 403, refusal("FORBIDDEN.ERROR", "no"), ship.Forbidden},
		"without a location":     {`{"carrierCode":"FDXE","scheduledDate":"2099-11-17"}`, 200, `{}`, ship.Unsupported},
		"without its details":    {"", 200, `{}`, ship.Unsupported},
		"Ground has no location": {`{"carrierCode":"FDXG","scheduledDate":"2099-11-17"}`, 200, `{"output":{"pickupConfirmationCode":"CPU1"}}`, ""},
	} {
		booking := ship.PickupBooking{Confirmation: "3001", Details: c.details}
		err := open(t, credentials(), canned{c.status, c.body}).CancelPickup(t.Context(), pickup(), booking)
		if ship.KindOf(err) != c.kind {
			t.Errorf("%s: %v, want %q", name, err, c.kind)
		}
	}
}

// TestPickupsAreInTheLedger compares what the driver answers with what FedEx did.
func TestPickupsAreInTheLedger(t *testing.T) {
	server := newServer(t)
	c := open(t, credentials(), carriertest.Server(t, server))

	first, err := c.BookPickup(t.Context(), pickup())
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.BookPickup(t.Context(), groundPickup())
	if err != nil {
		t.Fatal(err)
	}
	booked := server.Ledger.Pickups()
	if len(booked) != 2 || booked[0].Number != first.Confirmation || booked[1].Number != second.Confirmation ||
		booked[0].Service != "FDXE" || booked[1].Service != "FDXG" || booked[0].Reference != pickupReference {
		t.Fatalf("booked %+v and %+v, the ledger has %+v", first, second, booked)
	}
	if err := c.CancelPickup(t.Context(), pickup(), first); err != nil {
		t.Fatal(err)
	}
	if left := server.Ledger.Pickups(); len(left) != 1 || left[0].Number != second.Confirmation {
		t.Errorf("after the cancellation the ledger has %+v", left)
	}

	// A lost answer is uncertain and the pickup is booked; a refusal books nothing.
	if err := server.Turn(emulator.Faults{Day: map[string]float64{"reset": 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.BookPickup(t.Context(), pickup()); ship.KindOf(err) != ship.Uncertain {
		t.Errorf("a lost answer: %v, want uncertain", err)
	}
	if n := len(server.Ledger.Pickups()); n != 2 {
		t.Errorf("%d pickups after the lost answer, want 2", n)
	}
	if err := server.Turn(emulator.Faults{Day: map[string]float64{"refuse": 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.BookPickup(t.Context(), pickup()); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a refusal: %v, want invalid", err)
	}
	if err := c.CancelPickup(t.Context(), groundPickup(), second); ship.KindOf(err) != ship.Invalid {
		t.Errorf("a refused cancellation: %v, want invalid", err)
	}
	if n := len(server.Ledger.Pickups()); n != 2 {
		t.Errorf("%d pickups after the refusals, want 2", n)
	}
}
