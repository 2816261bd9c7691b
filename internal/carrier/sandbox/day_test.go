package sandbox_test

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// both returns the carrier without a network and behind HTTP.
func both(t *testing.T, name string) map[string]*carrier.Carrier {
	t.Helper()
	return map[string]*carrier.Carrier{"direct": open(t, name), "over HTTP": openVia(t, name, sandbox.Service{})}
}

// TestEachCarrierDoesWhatItsRealOneDoes holds the abilities of a shipping day, with
// and without HTTP between.
func TestEachCarrierDoesWhatItsRealOneDoes(t *testing.T) {
	sold := []string{"rates", "buy", "find", "void", "addresses"}
	abilities := map[string][]string{
		"ups":         {"pickups", "find_pickups", "cancel_pickups", "documents", "proof", "points", "duties"},
		"usps":        {"pickups", "cancel_pickups", "manifests", "points"},
		"fedex":       {"pickups", "cancel_pickups", "manifests", "find_manifests", "documents", "proof", "points"},
		"dhl_express": {"pickups", "cancel_pickups", "documents", "find_documents", "proof", "points", "duties"},
	}
	canBookAgain := map[string]bool{"ups": true, "usps": true}
	scopes := map[string]carrier.ManifestScope{"usps": carrier.ListedLabels, "fedex": carrier.AllOfTheDay}
	for name, want := range abilities {
		for via, c := range both(t, name) {
			if got := c.Abilities(); !slices.Equal(got, append(slices.Clone(sold), want...)) {
				t.Errorf("%s %s: %v, want %v and %v", name, via, got, sold, want)
			}
			if c.PickupCertainty().CanBookAgain != canBookAgain[name] || c.ManifestScope() != scopes[name] {
				t.Errorf("%s %s: %+v, manifests of %q", name, via, c.PickupCertainty(), c.ManifestScope())
			}
		}
	}
}

func TestPickupsAreConfirmedAsTheCarrierDoes(t *testing.T) {
	shapes := map[string]string{
		"ups":         `^29[0-9A-Z]{9}$`,
		"usps":        `^WTC\d{8}$`,
		"fedex":       `^\d{4}$`,
		"dhl_express": `^PRG\d{12}$`,
	}
	for name, shape := range shapes {
		var first ship.PickupBooking
		for via, c := range both(t, name) {
			booking, err := c.BookPickup(t.Context(), pickup())
			if err != nil || !regexp.MustCompile(shape).MatchString(booking.Confirmation) {
				t.Errorf("%s %s: %+v, %v", name, via, booking, err)
			}
			if hasPrice := booking.Price == (ship.Money{Minor: 1250, Currency: "USD"}); hasPrice != (name == "ups") {
				t.Errorf("%s %s: the price is %v", name, via, booking.Price)
			}
			if first.Confirmation != "" && !reflect.DeepEqual(booking, first) {
				t.Errorf("%s: %+v direct and over HTTP %+v", name, booking, first)
			}
			first = booking

			other := pickup()
			other.Reference += "2"
			second, err := c.BookPickup(t.Context(), other)
			if err != nil || second.Confirmation == booking.Confirmation {
				t.Errorf("%s %s: another pickup is %+v, %v", name, via, second, err)
			}

			// The carrier asks for all that it gave, so the service must keep it.
			if err := c.CancelPickup(t.Context(), pickup(), booking); err != nil {
				t.Errorf("%s %s: cancel: %v", name, via, err)
			}
			if err := c.CancelPickup(t.Context(), other, booking); ship.KindOf(err) != ship.Invalid {
				t.Errorf("%s %s: cancelled with the number of another pickup: %v", name, via, err)
			}
			booking.Details += "x"
			if err := c.CancelPickup(t.Context(), pickup(), booking); ship.KindOf(err) != ship.Invalid {
				t.Errorf("%s %s: cancelled with other details: %v", name, via, err)
			}
		}
	}
}

// TestAPickupTooLateNamesAWindowThatWorks books in windows that no driver keeps, and
// then in the one that the error names.
func TestAPickupTooLateNamesAWindowThatWorks(t *testing.T) {
	windows := map[string]func(*ship.TimeWindow){
		"too short":    func(w *ship.TimeWindow) { w.CloseAt = w.ReadyAt.Add(59 * time.Minute) },
		"closes first": func(w *ship.TimeWindow) { w.CloseAt = w.ReadyAt.Add(-time.Hour) },
		"three days ago": func(w *ship.TimeWindow) {
			w.ReadyAt, w.CloseAt = w.ReadyAt.AddDate(0, 0, -4), w.CloseAt.AddDate(0, 0, -4)
		},
	}
	for what, change := range windows {
		for _, name := range sandbox.Names {
			for via, c := range both(t, name) {
				request := pickup()
				change(&request.Order.Window)
				_, err := c.BookPickup(t.Context(), request)
				if ship.CodeOf(err) != "pickup_too_late" || ship.ErrorOf(err).Refusal.Code == "" {
					t.Fatalf("%s, %s %s: %v", what, name, via, err)
				}

				next, _ := ship.ErrorOf(err).Details["nextWindow"].(map[string]any)
				again := request
				var errs [2]error
				again.Order.Window.ReadyAt, errs[0] = time.Parse(time.RFC3339, fmt.Sprint(next["readyAt"]))
				again.Order.Window.CloseAt, errs[1] = time.Parse(time.RFC3339, fmt.Sprint(next["closeAt"]))
				if errs != [2]error{} || again.Order.Window.ReadyAt.Format("15:04 -07:00") != request.Order.Window.ReadyAt.Format("15:04 -07:00") {
					t.Fatalf("%s, %s %s: the next window is %v", what, name, via, next)
				}
				if _, err := c.BookPickup(t.Context(), again); err != nil || !again.Order.Window.ReadyAt.After(time.Now()) {
					t.Errorf("%s, %s %s: in the next window %v: %v", what, name, via, next, err)
				}
			}
		}
	}
}

// TestFedExCollectsEachDivisionByItself refuses what FedEx refuses with live credentials.
func TestFedExCollectsEachDivisionByItself(t *testing.T) {
	for via, c := range both(t, "fedex") {
		for _, services := range [][]string{{""}, {"ground", "2day"}} {
			request := pickup()
			request.Order.Parcels = nil
			for _, service := range services {
				request.Order.Parcels = append(request.Order.Parcels, ship.PickupParcels{Service: service, Country: "US", Count: 1})
			}
			if _, err := c.BookPickup(t.Context(), request); ship.KindOf(err) != ship.Invalid {
				t.Errorf("%s: a pickup of %q: %v", via, services, err)
			}
		}
		request := pickup()
		request.Order.Parcels = append(request.Order.Parcels, ship.PickupParcels{Country: "US", Count: 1})
		if _, err := c.BookPickup(t.Context(), request); err != nil {
			t.Errorf("%s: a pickup with other parcels of Ground: %v", via, err)
		}
	}
}

func TestUSPSCollectsOnlyInTheUnitedStates(t *testing.T) {
	request := pickup()
	request.Order.Address.Country = "DE"
	for via, c := range both(t, "usps") {
		if _, err := c.BookPickup(t.Context(), request); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%s: %v", via, err)
		}
	}
	if _, err := open(t, "dhl_express").BookPickup(t.Context(), request); err != nil {
		t.Error(err)
	}
}

// dayOutcome is the kind of error of each operation under a fault: of all carriers,
// but look-ups only where there are any.
type dayOutcome struct{ book, findPickup, cancel, manifest, findManifest ship.Kind }

var dayOutcomes = map[sandbox.Fault]dayOutcome{
	sandbox.FaultRefuse:         {ship.Invalid, ship.NotFound, "", ship.Invalid, ship.NotFound},
	sandbox.FaultUnavailable:    {ship.Unavailable, ship.NotFound, "", ship.Unavailable, ship.NotFound},
	sandbox.FaultLimited:        {ship.Limited, ship.NotFound, "", ship.Limited, ship.NotFound},
	sandbox.FaultTimeout:        {ship.Uncertain, ship.NotFound, "", ship.Uncertain, ship.NotFound},
	sandbox.FaultTimeoutBought:  {ship.Uncertain, "", "", ship.Uncertain, ""},
	sandbox.FaultNoConfirmation: {ship.Uncertain, ship.Unavailable, "", ship.Uncertain, ship.Unavailable},
	sandbox.FaultVoidRefused:    {"", "", ship.Invalid, "", ""},
	sandbox.FaultVoidLost:       {"", "", ship.Uncertain, "", ""},
}

// TestMagicAddressesOfTheDay checks that pickups and manifests fail as documented,
// by name and by zip code, with and without HTTP between, and that no other fault
// touches them.
func TestMagicAddressesOfTheDay(t *testing.T) {
	for _, magic := range sandbox.Magic {
		isListed := slices.ContainsFunc(sandbox.MagicDay, func(d sandbox.DayFault) bool { return d.Fault == magic.Fault })
		want, ok := dayOutcomes[magic.Fault]
		if isListed != (ok || magic.Fault == sandbox.FaultRefuseUPS) {
			t.Errorf("%s is listed: %v", magic.Fault, isListed)
		}

		named, zipped := order().Origin, order().Origin
		named.Name = strings.ToLower(magic.Name)
		zipped.Zip = magic.Zip
		for _, address := range []ship.Address{named, zipped} {
			for _, name := range sandbox.Names {
				expected := want
				if magic.Fault == sandbox.FaultRefuseUPS && name == "ups" {
					expected = dayOutcome{book: ship.Invalid, findPickup: ship.NotFound}
				}
				for via, c := range both(t, name) {
					if got, want := tryDay(t, c, address), supported(c, expected); got != want {
						t.Errorf("%s at %s %s: %+v, want %+v", magic.Fault, name, via, got, want)
					}
				}
			}
		}
	}
}

// tryDay runs every operation of a shipping day at the address.
func tryDay(t *testing.T, c *carrier.Carrier, address ship.Address) dayOutcome {
	t.Helper()
	plain, err := c.BookPickup(t.Context(), pickup())
	if err != nil {
		t.Fatal(err)
	}

	request := pickup()
	request.Order.Address = address
	form := manifest(c.Spec().Name)
	form.Address = address
	_, bookErr := c.BookPickup(t.Context(), request)
	_, findErr := c.FindPickup(t.Context(), request)
	cancelErr := c.CancelPickup(t.Context(), request, plain)
	_, closeErr := c.CloseManifest(t.Context(), form)
	_, closedErr := c.FindManifest(t.Context(), form)
	return dayOutcome{
		book:         ship.KindOf(bookErr),
		findPickup:   ship.KindOf(findErr),
		cancel:       ship.KindOf(cancelErr),
		manifest:     ship.KindOf(closeErr),
		findManifest: ship.KindOf(closedErr),
	}
}

// supported replaces what the carrier cannot do.
func supported(c *carrier.Carrier, outcome dayOutcome) dayOutcome {
	if !c.PickupCertainty().CanFind {
		outcome.findPickup = ship.Unsupported
	}
	if c.ManifestScope() == carrier.NoManifest {
		outcome.manifest = ship.Unsupported
	}
	if !c.CanFindManifest() {
		outcome.findManifest = ship.Unsupported
	}
	return outcome
}

// manifest returns one label of two pieces.
func manifest(name string) ship.ManifestOrder {
	return ship.ManifestOrder{
		Address:  order().Origin,
		ShipDate: "2026-11-16",
		Labels: []ship.ManifestLabel{{
			Shipment: "shp_1",
			Service:  firstService[name],
			Numbers:  []string{"9400111206206406260787", "9400111206206406260794"},
		}},
	}
}

func TestAManifestListsItsLabels(t *testing.T) {
	types := map[string]string{"usps": "scan_form", "fedex": "manifest"}
	digits := map[string]int{"usps": 22, "fedex": 9}
	for name, documentType := range types {
		var first ship.ManifestClosing
		for via, c := range both(t, name) {
			closing, err := c.CloseManifest(t.Context(), manifest(name))
			if err != nil || len(closing.Documents) != 1 || closing.Documents[0].Type != documentType {
				t.Fatalf("%s %s: %+v, %v", name, via, closing, err)
			}
			document := closing.Documents[0]
			if err := label.Check(document.Format, document.Data); err != nil {
				t.Errorf("%s %s: the form is not printable: %v", name, via, err)
			}
			for _, text := range []string{"SAMPLE", "2026-11-16", "Acme", "9400111206206406260787", "9400111206206406260794", closing.Number} {
				if !bytes.Contains(document.Data, []byte(text)) {
					t.Errorf("%s %s: the form does not show %q", name, via, text)
				}
			}
			if len(closing.Number) != digits[name] {
				t.Errorf("%s %s: the number is %q", name, via, closing.Number)
			}
			if first.Documents != nil && !reflect.DeepEqual(closing, first) {
				t.Errorf("%s: the forms differ", name)
			}
			first = closing
		}
	}
}

func TestFedExLeavesExpressLabelsOut(t *testing.T) {
	for via, c := range both(t, "fedex") {
		order := manifest("fedex")
		order.Labels = append(order.Labels, ship.ManifestLabel{Shipment: "shp_2", Service: "two_day", Numbers: []string{"794953535000"}})
		closing, err := c.CloseManifest(t.Context(), order)
		want := []ship.ManifestExclusion{{Shipment: "shp_2", Reason: "FedEx 2Day needs no manifest."}}
		if err != nil || !slices.Equal(closing.Excluded, want) || bytes.Contains(closing.Documents[0].Data, []byte("794953535000")) {
			t.Errorf("%s: %+v, %v", via, closing.Excluded, err)
		}

		order.Labels = order.Labels[1:]
		if _, err := c.CloseManifest(t.Context(), order); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%s: express labels alone: %v", via, err)
		}
	}
}

// TestALongManifestIsPrintable closes more labels than the form has room for, at an
// address in a script that its font lacks.
func TestALongManifestIsPrintable(t *testing.T) {
	order := manifest("usps")
	order.Address.Company = `東京 (O'Brien\)`
	for i := range 20_000 {
		order.Labels[0].Numbers = append(order.Labels[0].Numbers, fmt.Sprintf("94001112062064%08d", i))
	}
	closing, err := open(t, "usps").CloseManifest(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	data := closing.Documents[0].Data
	if err := label.Check("pdf", data); err != nil {
		t.Error(err)
	}
	if sheets, err := label.Sheets(data); err != nil || sheets != 40 {
		t.Errorf("%d sheets, %v", sheets, err)
	}
	if !regexp.MustCompile(`\(and \d+ more\)`).Match(data) {
		t.Error("the form does not say that labels are missing on it")
	}
	if !bytes.Contains(data, []byte(`?? \(O'Brien\\\)`)) {
		t.Error("the address is not written as a PDF string")
	}
}
