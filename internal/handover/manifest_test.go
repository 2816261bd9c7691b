package handover

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

func TestAManifestHasEverythingThatIsNotHandedOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.buy("usps")
	second := b.buy("usps")
	b.buy("ups")
	voided := b.buy("usps")
	if err := b.Store.Move(t.Context(), voided, ship.StateVoiding); err != nil {
		t.Fatal(err)
	}

	closed, err := b.CloseManifest(t.Context(), b.manifest("usps"))
	if err != nil || !closed.IsNew || closed.State != effect.Succeeded || closed.Number != "M1" {
		t.Fatalf("%+v %v", closed, err)
	}
	if got := Shipments(closed.Manifest); !slices.Equal(got, []ship.ShipmentID{first.ID, second.ID}) || closed.Count != 2 {
		t.Errorf("shipments %v", got)
	}
	document, err := b.ManifestDocument(t.Context(), b.tenant, closed.ID, 1)
	if err != nil || document.Type != "scan_form" || string(document.Data) != "%PDF-form" {
		t.Errorf("%v %v", document.Type, err)
	}
	if _, err := b.ManifestDocument(t.Context(), b.tenant, closed.ID, 2); ship.KindOf(err) != ship.NotFound {
		t.Errorf("a second document: %v", err)
	}

	if _, err := b.CloseManifest(t.Context(), b.manifest("usps")); ship.CodeOf(err) != "nothing_to_manifest" {
		t.Errorf("a second manifest: %v", err)
	}
	third := b.buy("usps")
	named, err := b.CloseManifest(t.Context(), b.manifest("usps", first.ID, voided.ID, third.ID))
	if err != nil || !slices.Equal(Shipments(named.Manifest), []ship.ShipmentID{third.ID}) || len(named.Excluded) != 2 {
		t.Fatalf("%+v %v", named.Manifest, err)
	}
	for i, want := range []string{string(closed.ID), "voided"} {
		if !strings.Contains(named.Excluded[i].Reason, want) {
			t.Errorf("excluded because %q", named.Excluded[i].Reason)
		}
	}
	if list, err := b.Manifests(t.Context(), b.tenant, ship.Page{Limit: 10}); err != nil || len(list) != 2 || list[1].Count != 2 {
		t.Errorf("%+v %v", list, err)
	}
}

// TestReturnsAreLeftToTheirSenders has a return as the newest label: it is neither
// closed with the others nor does it make the customer's home the place of the manifest.
func TestReturnsAreLeftToTheirSenders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sent := b.buy("usps")
	back := b.buyChanged(b.tenant, "usps", func(shipment *ship.Shipment) {
		shipment.Order.IsReturn = true
		shipment.Order.Origin = shipment.Order.Destination
	})

	groups, err := b.Waiting(t.Context(), b.tenant)
	if err != nil || len(groups) != 1 || !slices.Equal(groups[0].Shipments, []ship.ShipmentID{sent.ID}) {
		t.Errorf("waiting are %+v, %v", groups, err)
	}
	closed, err := b.CloseManifest(t.Context(), b.manifest("usps"))
	if err != nil || !slices.Equal(Shipments(closed.Manifest), []ship.ShipmentID{sent.ID}) || len(closed.Excluded) != 0 {
		t.Errorf("%+v %v", closed.Manifest, err)
	}
	if _, err := b.CloseManifest(t.Context(), b.manifest("usps", back.ID)); ship.CodeOf(err) != "nothing_to_manifest" {
		t.Errorf("a return that is named: %v", err)
	}
}

func TestACarrierWithoutManifestsGetsAHandoverSheet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buy("ups")
	closed, err := b.CloseManifest(t.Context(), b.manifest("ups"))
	if err != nil || closed.State != effect.Succeeded || Documents(closed.Manifest)[0].Type != HandoverSheet {
		t.Fatalf("%+v %v", closed, err)
	}
	sheet, err := b.ManifestDocument(t.Context(), b.tenant, closed.ID, 1)
	if err != nil || sheet.Format != "pdf" || !bytes.HasPrefix(sheet.Data, []byte("%PDF-")) {
		t.Errorf("%v %.20q", err, sheet.Data)
	}
	if _, err := b.CloseManifest(t.Context(), b.manifest("ups")); ship.CodeOf(err) != "nothing_to_manifest" {
		t.Errorf("a second sheet: %v", err)
	}
}

func TestAShipmentIsOnOneManifestHoweverManyAreClosedAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 6 {
		b.buy("usps")
	}
	var mu sync.Mutex
	seen := map[ship.ShipmentID]int{}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			closed, err := b.CloseManifest(t.Context(), b.manifest("usps"))
			if err != nil && ship.CodeOf(err) != "nothing_to_manifest" {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range Shipments(closed.Manifest) {
				seen[id]++
			}
		})
	}
	group.Wait()

	onForms := 0
	for _, form := range b.stands["usps"].manifests {
		onForms += len(form.Labels)
	}
	if len(seen) != 6 || onForms != 6 {
		t.Errorf("%d shipments on manifests, %d on forms of the carrier; want 6: %v", len(seen), onForms, seen)
	}
}

func TestWhatTheCarrierLeavesOutCanGoOnTheNextManifest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.buy("usps")
	second := b.buy("usps")
	b.stands["usps"].excludes = []ship.ManifestExclusion{{Shipment: second.ID, Reason: "Its weight is missing."}}
	closed, err := b.CloseManifest(t.Context(), b.manifest("usps"))
	if err != nil || closed.Count != 1 || !slices.Equal(Shipments(closed.Manifest), []ship.ShipmentID{first.ID}) || len(closed.Excluded) != 1 {
		t.Fatalf("%+v %v", closed.Manifest, err)
	}

	b.stands["usps"].excludes = nil
	next, err := b.CloseManifest(t.Context(), b.manifest("usps"))
	if err != nil || !slices.Equal(Shipments(next.Manifest), []ship.ShipmentID{second.ID}) {
		t.Errorf("%+v %v", next.Manifest, err)
	}
}

func TestARefusedManifestFreesItsLabels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buy("usps")
	b.stands["usps"].fail = ship.Errorf(ship.Invalid, "the account is blocked")
	if _, err := b.CloseManifest(t.Context(), b.manifest("usps")); ship.CodeOf(err) != "carrier_rejected" {
		t.Errorf("refused: %v", err)
	}
	b.stands["usps"].fail = nil
	if closed, err := b.CloseManifest(t.Context(), b.manifest("usps")); err != nil || closed.Count != 1 {
		t.Errorf("after a refusal: %v", err)
	}
}

func TestLostManifests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buy("usps")
	b.stands["usps"].lose = 1
	in := b.manifest("usps")
	in.Name = ship.NameOf("k1")
	closed, err := b.CloseManifest(t.Context(), in)
	if err != nil || closed.State != effect.Uncertain {
		t.Fatalf("%s %v", closed.State, err)
	}
	if again, err := b.CloseManifest(t.Context(), in); err != nil || again.ID != closed.ID || again.IsNew {
		t.Errorf("under the same key: %+v %v", again, err)
	}

	other := in
	other.Name.Fingerprint = [32]byte{1}
	if _, err := b.CloseManifest(t.Context(), other); ship.CodeOf(err) != "idempotency_key_reused" {
		t.Errorf("another request under the same key: %v", err)
	}

	// Closing again shows that it was closed. The form is lost, so a sheet of our
	// own stands in for it.
	got := b.settleManifest(closed.ID)
	if got.State != effect.Succeeded || got.Number != "M1" || Documents(got)[0].Type != HandoverSheet || len(b.stands["usps"].manifests) != 1 {
		t.Errorf("%s %q %v", got.State, got.Number, Documents(got))
	}

	// At a carrier that closes days it is looked up, with its form.
	b.buy("fedex")
	b.stands["fedex"].lose = 1
	day, err := b.CloseManifest(t.Context(), b.manifest("fedex"))
	if err != nil || day.State != effect.Uncertain {
		t.Fatalf("%s %v", day.State, err)
	}
	if got := b.settleManifest(day.ID); got.State != effect.Succeeded || len(got.Documents) != 1 || len(b.stands["fedex"].manifests) != 1 {
		t.Errorf("%s %v", got.State, got.Documents)
	}

	// The second of a day cannot be told from the first.
	b.buy("fedex")
	b.stands["fedex"].lose = 1
	second, err := b.CloseManifest(t.Context(), b.manifest("fedex"))
	if err != nil || second.State != effect.NeedsReview || len(b.stands["fedex"].manifests) != 2 {
		t.Errorf("%s %v", second.State, err)
	}
}

func TestAPersonResolvesAManifestInReview(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	inReview := func() ClosedManifest {
		t.Helper()
		b.buy("fedex")
		b.stands["fedex"].lose = 1
		closed, err := b.CloseManifest(t.Context(), b.manifest("fedex"))
		if err != nil {
			t.Fatal(err)
		}
		if closed.State.IsOpen() {
			if _, err := b.ResolveManifest(t.Context(), b.tenant, closed.ID, Finding{Done: true}); ship.CodeOf(err) != "not_in_review" {
				t.Errorf("resolved while the carrier is asked: %v", err)
			}
			b.settleManifest(closed.ID)
			return ClosedManifest{}
		}
		return closed
	}
	inReview() // the first of the day can be looked up

	// One that was not closed gives its labels back.
	first := inReview()
	if first.State != effect.NeedsReview {
		t.Fatal(first.State)
	}
	if _, err := b.ResolveManifest(t.Context(), b.tenant, first.ID, Finding{Number: "M9"}); ship.KindOf(err) != ship.Invalid {
		t.Errorf("not closed, with a number: %v", err)
	}
	other := ship.Tenant{Account: b.tenant.Account, Livemode: !b.tenant.Livemode}
	if _, err := b.ResolveManifest(t.Context(), other, first.ID, Finding{}); ship.KindOf(err) != ship.NotFound {
		t.Errorf("by another tenant: %v", err)
	}
	failed, err := b.ResolveManifest(t.Context(), b.tenant, first.ID, Finding{})
	if err != nil || failed.State != effect.Failed || failed.Message == "" {
		t.Errorf("%s %v", failed.State, err)
	}
	if _, err := b.ResolveManifest(t.Context(), b.tenant, first.ID, Finding{Done: true}); ship.CodeOf(err) != "not_in_review" {
		t.Errorf("resolved twice: %v", err)
	}

	// The next one has them too.
	second := inReview()
	if len(Shipments(second.Manifest)) != 2 {
		t.Errorf("labels %v", Shipments(second.Manifest))
	}
	closed, err := b.ResolveManifest(t.Context(), b.tenant, second.ID, Finding{Done: true, Number: " M9 "})
	if err != nil || closed.State != effect.Succeeded || closed.Number != "M9" || closed.ClosedAt.IsZero() || closed.Message != "" {
		t.Errorf("%+v %v", closed, err)
	}
}

func TestADayIsClosedAsAWhole(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.buy("fedex")
	second := b.buy("fedex")
	_, err := b.CloseManifest(t.Context(), b.manifest("fedex", first.ID))
	if ship.CodeOf(err) != "manifest_covers_day" || !slices.Equal(ship.ErrorOf(err).Details["missing"].([]string), []string{string(second.ID)}) {
		t.Errorf("narrower than the day: %v", err)
	}

	// Two of one day are not closed at the same time.
	b.stands["fedex"].lose = 1
	open, err := b.CloseManifest(t.Context(), b.manifest("fedex", second.ID, first.ID))
	if err != nil || open.State != effect.Uncertain {
		t.Fatalf("%s %v", open.State, err)
	}
	b.buy("fedex")
	if _, err := b.CloseManifest(t.Context(), b.manifest("fedex")); ship.CodeOf(err) != "manifest_in_progress" {
		t.Errorf("a second one at the same time: %v", err)
	}
	b.settleManifest(open.ID)
	if _, err := b.CloseManifest(t.Context(), b.manifest("fedex")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestEachDayIsListedAndClosedByItself has labels of two days at a carrier that closes
// days, as an American evening has, where UTC is already tomorrow.
func TestEachDayIsListedAndClosedByItself(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	yesterday := ship.DateOf(time.Now().AddDate(0, 0, -1))
	before := b.buyOn(b.tenant, "fedex", yesterday)
	after := b.buy("fedex")

	days := map[ship.Date][]ship.ShipmentID{}
	groups, err := b.Waiting(t.Context(), b.tenant)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		days[group.Day] = group.Shipments
	}
	if len(groups) != 2 || !slices.Equal(days[yesterday], []ship.ShipmentID{before.ID}) {
		t.Errorf("%+v", groups)
	}

	in := b.manifest("fedex")
	in.ShipDate = yesterday
	closed, err := b.CloseManifest(t.Context(), in)
	if err != nil || !slices.Equal(Shipments(closed.Manifest), []ship.ShipmentID{before.ID}) {
		t.Errorf("%v %v", Shipments(closed.Manifest), err)
	}
	if closed, err = b.CloseManifest(t.Context(), b.manifest("fedex")); err != nil || !slices.Equal(Shipments(closed.Manifest), []ship.ShipmentID{after.ID}) {
		t.Errorf("%v %v", Shipments(closed.Manifest), err)
	}
}

// TestTheLastDayIsClosedUnlessOneIsNamed has labels of earlier days, as UTC sees those of
// an American afternoon in the evening.
func TestTheLastDayIsClosedUnlessOneIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ago := func(days int) ship.Date { return ship.DateOf(time.Now().AddDate(0, 0, -days)) }
	older := b.buyOn(b.tenant, "fedex", ago(2))
	last := b.buyOn(b.tenant, "fedex", ago(1))

	closed, err := b.CloseManifest(t.Context(), b.manifest("fedex"))
	if err != nil || !slices.Equal(Shipments(closed.Manifest), []ship.ShipmentID{last.ID}) || closed.Order.ShipDate != ago(1) {
		t.Fatalf("%v of %s, %v", Shipments(closed.Manifest), closed.Order.ShipDate, err)
	}
	if len(closed.Excluded) != 1 || closed.Excluded[0].Shipment != older.ID || !strings.Contains(closed.Excluded[0].Reason, string(ago(2))) {
		t.Errorf("excluded are %+v", closed.Excluded)
	}
}

func TestAManifestSurvivesADeathAtEveryStep(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"usps", "fedex"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for stopAt := 1; stopAt <= 3; stopAt++ { // intend, send, record
				for _, before := range []bool{true, false} {
					b := newBench(t)
					shipment := b.buy(name)
					in := b.manifest(name)
					c, err := b.seller(t.Context(), b.tenant, in.Seller, ship.Location{})
					if err != nil {
						t.Fatal(err)
					}
					picked, err := b.pickLabels(t.Context(), in, ship.Location{}, c)
					if err != nil {
						t.Fatal(err)
					}
					manifest := store.Manifest{ID: ship.NewManifestID(7, b.now()), Tenant: b.tenant, Carrier: name, Scope: scopeOf(c), Order: picked.order}
					manifest.State = effect.Pending
					r, err := b.manifestRun(t.Context(), &manifest, c)
					if err != nil {
						t.Fatal(err)
					}
					b.dyingRun(r, stopAt, before)

					if stopAt == 1 && before {
						if closed, err := b.CloseManifest(t.Context(), in); err != nil || closed.Count != 1 {
							t.Errorf("after a death before anything: %v", err)
						}
						continue
					}
					got := b.settleManifest(manifest.ID)
					on, err := b.Store.ManifestsOf(t.Context(), b.tenant, []ship.ShipmentID{shipment.ID})
					if err != nil || got.State != effect.Succeeded || on[shipment.ID] != manifest.ID || len(b.stands[name].manifests) != 1 {
						t.Errorf("act %d, before %t: it is %s, the carrier has %d, the shipment is on %v (%v)", stopAt, before, got.State, len(b.stands[name].manifests), on, err)
					}
				}
			}
		})
	}
}

func TestFindOpenEnqueuesWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.buy("usps")
	b.stands["usps"].lose = 2
	if _, err := b.CloseManifest(t.Context(), b.manifest("usps")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.book(b.pickup("usps")); err != nil {
		t.Fatal(err)
	}
	before := b.now().Add(DefaultWaits.Settle)
	pickups, err := b.Store.OpenPickups(t.Context(), before)
	if err != nil || len(pickups) != 1 || pickups[0].Tenant != b.tenant {
		t.Errorf("%v %v", pickups, err)
	}
	manifests, err := b.Store.OpenManifests(t.Context(), before)
	if err != nil || len(manifests) != 1 {
		t.Errorf("%v %v", manifests, err)
	}

	// Many whose carrier never answers are older, and do not hide it.
	_, err = b.Store.System().Exec(t.Context(), `
INSERT INTO pickups (account_id, livemode, id, carrier, place_hash, day, state, request, attempt_started_at)
SELECT account_id, livemode, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, carrier, decode(lpad(to_hex(n), 8, '0'), 'hex'), day, 'cancelling',
  request, attempt_started_at
FROM pickups, generate_series(1, 1500) n`)
	if err != nil {
		t.Fatal(err)
	}
	b.clock.pass(2 * DefaultWaits.Settle)
	for range 2 {
		if err := b.FindOpen(t.Context()); err != nil {
			t.Error(err)
		}
	}
	var jobs, newest int
	err = b.Store.System().QueryRow(t.Context(), `
SELECT count(*), count(*) FILTER (WHERE args ->> 'pickup' = $1) FROM river_job WHERE kind = 'settle_pickup'`, string(pickups[0].ID)).Scan(&jobs, &newest)
	if err != nil || jobs != 1501 || newest != 1 {
		t.Errorf("%d jobs, %d of them for the newest pickup, %v", jobs, newest, err)
	}
}

// TestAManifestOfAnOldCopyIsThatOfItsLabels finds a manifest that has no fingerprint
// by its key: only a request for its labels gets it.
func TestAManifestOfAnOldCopyIsThatOfItsLabels(t *testing.T) {
	t.Parallel()
	first := ship.NewShipmentID(7, time.Now())
	second := ship.NewShipmentID(7, time.Now().Add(time.Second))
	existing := store.Manifest{Order: ship.ManifestOrder{Labels: []ship.ManifestLabel{{Shipment: first}}}}

	for name, test := range map[string]struct {
		shipments []ship.ShipmentID
		want      bool
	}{
		"its labels":                    {[]ship.ShipmentID{first}, true},
		"its labels and one left out":   {[]ship.ShipmentID{first, second}, true},
		"another label":                 {[]ship.ShipmentID{second}, false},
		"all of the day, under the key": {nil, true},
	} {
		if got := isSameManifest(ManifestInput{Shipments: test.shipments}, existing, [32]byte{}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestTheDayEndsForServicesWithoutAManifestToo has labels of a carrier that has manifests
// for one of its services: the others get a hand-over sheet, until nothing is left.
func TestTheDayEndsForServicesWithoutAManifestToo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	buy := func(service string) ship.ShipmentID {
		return b.buyChanged(b.tenant, "ground_only", func(s *ship.Shipment) { s.Purchase.Service = service }).ID
	}
	ground, express := buy("ground"), buy("express")

	groups, err := b.Waiting(t.Context(), b.tenant)
	if err != nil || len(groups) != 2 {
		t.Fatalf("waiting are %+v, %v", groups, err)
	}
	for _, group := range groups {
		isGround := slices.Equal(group.Shipments, []ship.ShipmentID{ground})
		if group.HasManifest != isGround || group.CoversDay != isGround {
			t.Errorf("%+v has a manifest: %t", group.Shipments, group.HasManifest)
		}
	}

	manifest, err := b.CloseManifest(t.Context(), b.manifest("ground_only"))
	if err != nil || !slices.Equal(Shipments(manifest.Manifest), []ship.ShipmentID{ground}) || Documents(manifest.Manifest)[0].Type != "ground_manifest" {
		t.Fatalf("%+v %v", manifest.Manifest, err)
	}
	if len(manifest.Excluded) != 1 || !strings.Contains(manifest.Excluded[0].Reason, "hand-over sheet") {
		t.Errorf("left out are %+v", manifest.Excluded)
	}
	sheet, err := b.CloseManifest(t.Context(), b.manifest("ground_only"))
	if err != nil || !slices.Equal(Shipments(sheet.Manifest), []ship.ShipmentID{express}) || Documents(sheet.Manifest)[0].Type != HandoverSheet {
		t.Fatalf("%+v %v", sheet.Manifest, err)
	}

	if n := len(b.stands["ground_only"].manifests); n != 1 {
		t.Errorf("the carrier closed %d manifests, want 1", n)
	}
	if left, err := b.Waiting(t.Context(), b.tenant); err != nil || len(left) != 0 {
		t.Errorf("left are %+v, %v", left, err)
	}
}

// TestServicesOfBothKindsAreDividedWhereTheyAreNamed names labels of which only one needs
// a manifest, and then the other one alone.
func TestServicesOfBothKindsAreDividedWhereTheyAreNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	buy := func(service string) ship.ShipmentID {
		return b.buyChanged(b.tenant, "ground_only", func(s *ship.Shipment) { s.Purchase.Service = service }).ID
	}
	ground, express := buy("ground"), buy("express")

	both, err := b.CloseManifest(t.Context(), b.manifest("ground_only", express, ground))
	if err != nil || !slices.Equal(Shipments(both.Manifest), []ship.ShipmentID{ground}) {
		t.Fatalf("%+v %v", both.Manifest, err)
	}
	alone, err := b.CloseManifest(t.Context(), b.manifest("ground_only", express))
	if err != nil || Documents(alone.Manifest)[0].Type != HandoverSheet {
		t.Fatalf("%+v %v", alone.Manifest, err)
	}
}

// TestWhatWasVoidedIsNotCollected: labels may be voided between the manifest and the driver.
func TestWhatWasVoidedIsNotCollected(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	voided := b.buy("usps")
	kept := b.buy("usps")
	closed, err := b.CloseManifest(t.Context(), b.manifest("usps"))
	if err != nil {
		t.Fatal(err)
	}

	if err := b.Store.Move(t.Context(), voided, ship.StateVoiding); err != nil {
		t.Fatal(err)
	}
	groups, err := b.Collectable(t.Context(), b.tenant, closed.ID)
	if err != nil || len(groups) != 1 || !slices.Equal(groups[0].Shipments, []ship.ShipmentID{kept.ID}) {
		t.Errorf("of two labels, one of them voided, %+v are collected, %v", groups, err)
	}

	if err := b.Store.Move(t.Context(), kept, ship.StateVoiding); err != nil {
		t.Fatal(err)
	}
	if groups, err := b.Collectable(t.Context(), b.tenant, closed.ID); ship.KindOf(err) != ship.Conflict {
		t.Errorf("of two voided labels, %+v are collected, %v", groups, err)
	}
}
