package shipping_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// restoredTables are what a restore in these tests puts back.
var restoredTables = []string{
	"shipments", "shipment_states", "labels", "documents", "purchase_attempts", "charges", "idempotency_keys", "lookup_keys", "events",
	"orphaned_labels", "carrier_polls", "connection_lookups", "service_copies", "restore_state", "missing_purchases",
}

// backUp keeps the rows as they are now.
func (b liveBench) backUp(t *testing.T) {
	t.Helper()
	conn := storetest.Conn(t, b.url)
	for _, table := range restoredTables {
		if _, err := conn.Exec(t.Context(), "CREATE TABLE backup_"+table+" AS TABLE "+table); err != nil {
			t.Fatal(err)
		}
	}
}

// putBack restores the rows that backUp has kept.
func (b liveBench) putBack(t *testing.T) {
	t.Helper()
	conn := storetest.Conn(t, b.url)
	for _, table := range restoredTables {
		if _, err := conn.Exec(t.Context(), "TRUNCATE "+table); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), "INSERT INTO "+table+" SELECT * FROM backup_"+table); err != nil {
			t.Fatal(err)
		}
	}
}

// notice has the service compare the database with the disk, as it does every few seconds.
func (b liveBench) notice(t *testing.T) store.RestoreState {
	t.Helper()
	if err := b.NoticeRestore(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b.restores.State()
}

// loseDisk removes what this machine's disk knows.
func (b liveBench) loseDisk(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(b.recoveryLogDir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("on the disk: %v, %v", files, err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

func (b liveBench) buy(t *testing.T, in shipping.BuyInput) ship.Shipment {
	t.Helper()
	got, err := b.Buy(t.Context(), in)
	if err != nil || got.Pending {
		t.Fatalf("Buy = pending %t, %v", got.Pending, err)
	}
	return got.Shipment
}

func (b liveBench) isPending(t *testing.T, in shipping.BuyInput) {
	t.Helper()
	if got, err := b.Buy(t.Context(), in); ship.CodeOf(err) != "restore_pending" || ship.KindOf(err) != ship.Unavailable {
		t.Errorf("Buy = %s, %v; want restore_pending", got.Shipment.ID, err)
	}
}

// decideMissing records what a person decided about a missing purchase.
func (b liveBench) decideMissing(t *testing.T, sh ship.Shipment, state string) {
	t.Helper()
	if _, err := b.store.DecideMissing(t.Context(), store.MissingDecision{MissingChoice: chosen(b.tenant, sh.ID), To: state, By: "test"}); err != nil {
		t.Fatal(err)
	}
}

func chosen(t ship.Tenant, ids ...ship.ShipmentID) store.MissingChoice {
	return store.MissingChoice{Tenant: t, Shipments: ids}
}

// missing lists what is missing and not ended.
func (b liveBench) missing(t *testing.T) []store.MissingPurchase {
	t.Helper()
	list, err := b.store.MissingPurchases(t.Context(), "", false, 100)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// soldOnce fails unless the carrier has sold these labels and voided none.
func (b liveBench) soldOnce(t *testing.T, sold ...ship.Shipment) {
	t.Helper()
	var want, got []string
	for _, shipment := range sold {
		want = append(want, shipment.Purchase.TrackingNumber)
	}
	for _, entry := range b.emulator.Ledger.Entries() {
		if b.controls[entry.Number] {
			continue
		}
		if entry.Kind != "sold" {
			t.Errorf("the carrier was asked for %s of %s", entry.Kind, entry.Number)
		}
		got = append(got, entry.Number)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("sold are %v, want %v", got, want)
	}
}

func asText(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (b liveBench) holds(t *testing.T) {
	t.Helper()
	if list, err := b.store.Violations(t.Context(), time.Now().Add(time.Second)); err != nil || len(list) > 0 {
		t.Errorf("violations %+v, %v", list, err)
	}
}

func TestAfterARestoreARepeatedKeyGetsItsOwnLabel(t *testing.T) {
	t.Parallel()
	for name := range standIns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, name)
			b.backUp(t)
			first := b.buy(t, b.order(1))
			second := b.buy(t, b.order(2))
			options := label.Options{Format: label.PDF, Size: label.Size4x6, DPI: 203}
			before, err := b.Label(t.Context(), b.tenant, first.ID, options)
			if err != nil {
				t.Fatal(err)
			}

			b.putBack(t)
			if state := b.notice(t); state.Number != 1 || state.AsksCarriers || !state.HasMissing {
				t.Errorf("the restore is %+v", state)
			}
			if list := b.missing(t); len(list) != 2 {
				t.Fatalf("missing are %+v", list)
			}

			// The account waits, and its repeats get what they bought.
			b.isPending(t, b.order(3))
			again := b.buy(t, b.order(1))
			b.isPending(t, b.order(3))
			secondAgain := b.buy(t, b.order(2))
			b.soldOnce(t, first, second)

			if again.ID != first.ID || secondAgain.ID != second.ID || asText(t, again.Purchase) != asText(t, first.Purchase) {
				t.Errorf("again it is %s %s, was %s %s", again.ID, asText(t, again.Purchase), first.ID, asText(t, first.Purchase))
			}
			after, err := b.Label(t.Context(), b.tenant, first.ID, options)
			if err != nil || !bytes.Equal(after.Data, before.Data) {
				t.Errorf("the label has %d bytes, had %d, %v", len(after.Data), len(before.Data), err)
			}
			other := b.order(1)
			other.Fingerprint[0]++
			if _, err := b.Buy(t.Context(), other); ship.CodeOf(err) != "idempotency_key_reused" {
				t.Errorf("another request under the key: %v", err)
			}

			third := b.buy(t, b.order(3))
			b.soldOnce(t, first, second, third)
			b.holds(t)
		})
	}
}

func TestARepeatOfAnotherRequestUnderALostKeyIsRefused(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.backUp(t)
	first := b.buy(t, b.order(1))
	b.putBack(t)
	b.notice(t)

	other := b.order(1)
	other.Fingerprint[0]++
	if _, err := b.Buy(t.Context(), other); ship.CodeOf(err) != "idempotency_key_reused" {
		t.Errorf("another request under the lost key: %v", err)
	}
	b.soldOnce(t, first)
}

// byRate is the purchase of an order by a rate id. Its fingerprints are those that the API
// makes: of the whole request, and of the request without the rate id.
func (b liveBench) byRate(n int, rate quoting.Quote) shipping.BuyInput {
	in := b.order(n)
	in.RateID = rate.ID
	in.WithoutRate = in.Fingerprint
	in.Fingerprint = sha256.Sum256([]byte(rate.ID))
	return in
}

func (b liveBench) rates(t *testing.T, n int) []quoting.Quote {
	t.Helper()
	in := b.order(n)
	quote, err := b.quotes.Quote(t.Context(), quoting.Input{Tenant: in.Tenant, Account: in.Account, Order: in.Order, OneParcel: in.OneParcel})
	if err != nil {
		t.Fatal(err)
	}
	return quote.Rates
}

func TestAfterARestoreAKeyIsAnsweredAfterANewQuote(t *testing.T) {
	t.Parallel()
	for name, adoptedBy := range map[string]string{"by the repeat": "", "by a person": store.PurchaseAdopting} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, "ups")
			b.backUp(t)
			rates := b.rates(t, 1)
			request := b.byRate(1, rates[0])
			bought := b.buy(t, request)
			b.putBack(t)
			b.notice(t)

			// Another offer under the key is refused, and the answer names the shipment.
			_, err := b.Buy(t.Context(), b.byRate(1, rates[len(rates)-1]))
			refusal := ship.ErrorOf(err)
			if refusal.Code != "idempotency_key_reused" || refusal.Details["shipmentId"] != string(bought.ID) || len(refusal.Fields) != 1 || refusal.Fields[0].Pointer != "/rateId" {
				t.Errorf("another offer under the lost key: %+v", refusal)
			}

			if adoptedBy != "" {
				b.decideMissing(t, bought, adoptedBy)
				if ended, err := b.CarryOutDecisions(t.Context()); err != nil || ended != 1 {
					t.Fatalf("%d decisions, %v", ended, err)
				}
			}

			// The client quotes again: another rate id names the same offer.
			requoted := request
			requoted.Fingerprint = sha256.Sum256([]byte("another rate id"))
			for range 2 {
				again := b.buy(t, requoted)
				if again.ID != bought.ID || again.Purchase.TrackingNumber != bought.Purchase.TrackingNumber {
					t.Errorf("after a new quote it is %s %s, was %s %s", again.ID, again.Purchase.TrackingNumber, bought.ID, bought.Purchase.TrackingNumber)
				}
			}
			if again := b.buy(t, request); again.ID != bought.ID {
				t.Errorf("the request itself is answered with %s, was %s", again.ID, bought.ID)
			}
			b.soldOnce(t, bought)
			b.holds(t)
		})
	}
}

// logAsBefore replaces the recovery log by the request of a purchase, as older releases
// wrote it: without a fingerprint, and without an entry of the sale.
func (b liveBench) logAsBefore(t *testing.T, bought ship.Shipment, edit func(*restore.Entry)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(b.recoveryLogDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "database-") {
			continue
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}

	entry := restore.Entry{
		At:        time.Now(),
		Tenant:    b.tenant,
		Shipment:  bought.ID,
		Attempt:   1,
		Reference: ship.Reference([]byte("test"), b.tenant, bought.Purchase.Key, 1),
		Order:     bought.Order,
		Purchase:  bought.Purchase,
		Version:   bought.Version,
	}
	entry.Purchase.TrackingNumber = ""
	edit(&entry)
	data, err := json.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.New(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	log, err := seal.OpenRecoveryLog(b.recoveryLogDir, box, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(time.Now(), data); err != nil {
		t.Fatal(err)
	}
}

func TestARequestIsComparedWithALostOneThatHasNoFingerprint(t *testing.T) {
	t.Parallel()
	for name, isAdopted := range map[string]bool{"missing": false, "adopted by a person": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, "ups")
			b.backUp(t)
			bought := b.buy(t, b.order(1))
			b.logAsBefore(t, bought, func(*restore.Entry) {})
			b.putBack(t)
			b.notice(t)
			if isAdopted {
				b.decideMissing(t, bought, store.PurchaseAdopting)
				if ended, err := b.CarryOutDecisions(t.Context()); err != nil || ended != 1 {
					t.Fatalf("%d decisions, %v", ended, err)
				}
			}

			other := b.order(1)
			other.Order.Destination.Name = "Grace Hopper"
			other.Fingerprint[0]++
			_, err := b.Buy(t.Context(), other)
			refusal := ship.ErrorOf(err)
			if refusal.Code != "idempotency_key_reused" || len(refusal.Fields) != 1 || refusal.Fields[0].Pointer != "/destination" {
				t.Errorf("another request under the lost key: %+v", refusal)
			}

			for range 2 {
				if again := b.buy(t, b.order(1)); again.ID != bought.ID || again.Purchase.TrackingNumber != bought.Purchase.TrackingNumber {
					t.Errorf("again it is %s %s, was %s %s", again.ID, again.Purchase.TrackingNumber, bought.ID, bought.Purchase.TrackingNumber)
				}
			}
			if _, err := b.Buy(t.Context(), other); ship.CodeOf(err) != "idempotency_key_reused" {
				t.Errorf("another request after the repeat: %v", err)
			}
			b.soldOnce(t, bought)
			b.holds(t)
		})
	}
}

func TestARequestThatCannotBeComparedWaitsForAPerson(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*restore.Entry){
		"no request": func(entry *restore.Entry) { entry.Order = ship.Order{} },
		"a destination that was corrected": func(entry *restore.Entry) {
			entry.Order.Destination.Address1 = "351 5th Avenue"
			entry.Purchase.Warnings = []string{"UPS corrected the destination: address1 350 5th Avenue to 351 5th Avenue"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, "ups")
			b.backUp(t)
			bought := b.buy(t, b.order(1))
			b.logAsBefore(t, bought, edit)
			b.putBack(t)
			b.notice(t)

			repeat := b.order(1)
			repeat.AddressValidation = shipping.ValidationCorrect
			b.isPending(t, repeat)
			list := b.missing(t)
			if len(list) != 1 || list[0].State != store.PurchaseMissing || !strings.Contains(list[0].Message, "cannot be compared") {
				t.Errorf("missing are %+v", list)
			}
			b.soldOnce(t, bought)
		})
	}
}

func TestAnAccountWithoutMissingPurchasesGoesOnAfterARestore(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	other := b
	added, err := account.New(b.store).Create(t.Context(), account.Settings{Name: new("Another shop")})
	if err != nil {
		t.Fatal(err)
	}
	other.account = added
	other.tenant = ship.Tenant{Account: added.ID, Livemode: true}
	b.backUp(t)
	lost := b.buy(t, b.order(1))
	b.putBack(t)
	b.notice(t)

	b.isPending(t, b.order(2))
	b.isPending(t, unnamed(b.order(3)))
	bought := other.buy(t, other.order(2))

	sandbox := other.order(4)
	sandbox.Tenant = ship.Tenant{Account: b.account.ID}
	if _, err := b.Buy(t.Context(), sandbox); ship.CodeOf(err) == "restore_pending" {
		t.Error("the sandbox of the held account waits")
	}
	held, err := b.store.HeldAccounts(t.Context())
	if err != nil || len(held) != 1 || held[0].Account != b.account.ID || held[0].Missing != 1 {
		t.Errorf("held are %+v, %v", held, err)
	}
	for _, entry := range b.emulator.Ledger.Entries() {
		if entry.Kind != "sold" {
			t.Errorf("the carrier was asked for %s", entry.Kind)
		}
	}
	if lost.Purchase.TrackingNumber == bought.Purchase.TrackingNumber {
		t.Error("two accounts have one label")
	}
}

func TestNothingThatARestoreLostIsVoidedByItself(t *testing.T) {
	t.Parallel()
	for name := range standIns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, name)
			b.backUp(t)
			named := b.buy(t, b.order(1))
			nameless := b.buy(t, unnamed(b.order(2)))
			b.putBack(t)

			for range 3 {
				b.notice(t)
				if _, err := b.Replay(t.Context()); err != nil {
					t.Fatal(err)
				}
				if ended, err := b.CarryOutDecisions(t.Context()); err != nil || ended > 0 {
					t.Fatalf("%d decisions, %v", ended, err)
				}
				if _, err := b.SweepAttempts(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}

			b.soldOnce(t, named, nameless)
			orphans, err := b.store.OrphanedLabels(t.Context(), b.tenant, 10, 0)
			if err != nil || len(orphans) > 0 {
				t.Errorf("orphaned are %+v, %v", orphans, err)
			}
			if list := b.missing(t); len(list) != 2 {
				t.Errorf("missing are %+v", list)
			}
		})
	}
}

func TestAPersonAdoptsHoldsAndVoidsWhatARestoreLost(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.backUp(t)
	adopted := b.buy(t, unnamed(b.order(1)))
	held := b.buy(t, b.order(2))
	voided := b.buy(t, b.order(3))
	b.putBack(t)
	b.notice(t)

	b.decideMissing(t, adopted, store.PurchaseAdopting)
	b.decideMissing(t, held, store.PurchaseHeld)
	b.isPending(t, b.order(4)) // one is not decided
	b.decideMissing(t, voided, store.PurchaseVoiding)
	if ended, err := b.CarryOutDecisions(t.Context()); err != nil || ended != 2 {
		t.Fatalf("%d decisions, %v", ended, err)
	}
	if _, err := b.VoidOrphanedLabel(t.Context(), b.tenant, "ups", voided.Purchase.TrackingNumber); err != nil {
		t.Fatal(err)
	}

	again, err := b.Shipment(t.Context(), b.tenant, adopted.ID)
	if err != nil || again.State != ship.StatePurchased || again.Purchase.TrackingNumber != adopted.Purchase.TrackingNumber {
		t.Errorf("adopted is %s %s, %v", again.State, again.Purchase.TrackingNumber, err)
	}
	b.expectEvents(t, adopted.ID, "[1 shipment.created purchased 2 label.generated purchased]")
	fourth := b.buy(t, b.order(4))

	// The held one is still found by its key, and the voided one is bought anew.
	if repeated := b.buy(t, b.order(2)); repeated.Purchase.TrackingNumber != held.Purchase.TrackingNumber {
		t.Errorf("the held one is %s, was %s", repeated.Purchase.TrackingNumber, held.Purchase.TrackingNumber)
	}
	anew := b.buy(t, b.order(3))
	want := []string{adopted.Purchase.TrackingNumber, held.Purchase.TrackingNumber, fourth.Purchase.TrackingNumber, anew.Purchase.TrackingNumber}
	alive := b.alive()
	slices.Sort(want)
	slices.Sort(alive)
	if !slices.Equal(alive, want) || slices.Contains(alive, voided.Purchase.TrackingNumber) {
		t.Errorf("alive are %v, want %v", alive, want)
	}
	b.holds(t)
}

// TestOldDecisionsAreForgotten: what was decided is forgotten with the keys of purchases, and
// what nobody has decided stays.
func TestOldDecisionsAreForgotten(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.backUp(t)
	held := b.buy(t, b.order(1))
	undecided := b.buy(t, b.order(2))
	b.putBack(t)
	b.notice(t)
	b.decideMissing(t, held, store.PurchaseHeld)

	day := 24 * time.Hour
	for _, test := range []struct {
		after time.Duration
		want  int64
	}{{399 * day, 0}, {401 * day, 1}} {
		if n, err := b.store.DeleteOldMissingPurchases(t.Context(), time.Now().Add(test.after)); err != nil || n != test.want {
			t.Errorf("after %s %d are forgotten, %v; want %d", test.after, n, err, test.want)
		}
	}
	list, err := b.store.MissingPurchases(t.Context(), "", true, 10)
	if err != nil || len(list) != 1 || list[0].Shipment != undecided.ID {
		t.Errorf("kept are %+v, %v", list, err)
	}
}

func TestContinuingReleasesAllAccounts(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.backUp(t)
	lost := b.buy(t, b.order(1))
	b.putBack(t)
	b.notice(t)
	b.isPending(t, b.order(2))

	if err := b.store.Continue(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	b.notice(t)

	second := b.buy(t, b.order(2))
	if again := b.buy(t, b.order(1)); again.Purchase.TrackingNumber != lost.Purchase.TrackingNumber {
		t.Errorf("the held one is %s, was %s", again.Purchase.TrackingNumber, lost.Purchase.TrackingNumber)
	}
	b.soldOnce(t, lost, second)
}

// TestAPromotionThatLostNothingChangesNothing lets the disk know another timeline.
func TestAPromotionThatLostNothingChangesNothing(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	first := b.buy(t, b.order(1))
	b.notice(t)
	b.editDisk(t, func(known map[string]any) { known["server"].(map[string]any)["timeline"] = 77 })

	if state := b.notice(t); state.Number != 0 || state.HasMissing {
		t.Errorf("the restore is %+v", state)
	}
	second := b.buy(t, b.order(2))
	b.soldOnce(t, first, second)
}

// editDisk changes what the disk knows of the database.
func (b liveBench) editDisk(t *testing.T, edit func(map[string]any)) {
	t.Helper()
	name := filepath.Join(b.recoveryLogDir, "database-test.json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var known map[string]any
	if err := json.Unmarshal(data, &known); err != nil {
		t.Fatal(err)
	}
	edit(known)
	if data, err = json.Marshal(known); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestEntriesOfAnotherInstallationDoNotCount(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	box, err := seal.New(bytes.Repeat([]byte("k"), 32))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := seal.OpenRecoveryLog(b.recoveryLogDir, box, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	other := &restore.Log{RecoveryLog: opened, Installation: "other"}
	entry := restore.Entry{
		At:       time.Now(),
		Tenant:   b.tenant,
		Shipment: ship.NewShipmentID(b.tenant.Shard(), time.Now()),
		Attempt:  1,
		Order:    b.order(1).Order,
		Purchase: ship.Purchase{Carrier: "ups", Connection: b.carrier.Connection, Key: "key-1"},
	}
	if err := other.Append(entry); err != nil {
		t.Fatal(err)
	}
	b.editDisk(t, func(known map[string]any) { known["server"].(map[string]any)["system"] = "1" })

	if state := b.notice(t); state.Number != 1 || state.HasMissing {
		t.Errorf("the restore is %+v", state)
	}
	b.buy(t, b.order(1))
}

// TestWithoutItsDiskACopyAsksTheCarrierForAKey loses the disk too, so that only a person
// can say that there was a restore.
func TestWithoutItsDiskACopyAsksTheCarrierForAKey(t *testing.T) {
	t.Parallel()
	for name := range standIns {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, name)
			control := b.buy(t, b.order(0))
			b.backUp(t)
			first := b.buy(t, b.order(1))
			b.putBack(t)
			b.loseDisk(t)
			if _, err := b.store.NoticeRestore(t.Context(), store.NoticedRestore{By: "command", MayHaveLost: true}); err != nil {
				t.Fatal(err)
			}
			if state := b.notice(t); !state.AsksCarriers || state.HasMissing {
				t.Fatalf("the restore is %+v", state)
			}

			again, err := b.Buy(t.Context(), b.order(1))
			if err != nil || again.Shipment.Purchase.TrackingNumber != first.Purchase.TrackingNumber && name != "fedex" && name != "dhl_express" {
				t.Errorf("again it is %s, was %s, %v", again.Shipment.Purchase.TrackingNumber, first.Purchase.TrackingNumber, err)
			}
			b.soldOnce(t, control, first)

			// A key that bought nothing is sold after one look, with the control.
			second := b.buy(t, b.order(2))
			b.soldOnce(t, control, first, second)
		})
	}
}

func TestWithoutAControlAKeyWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", cachedQuotes)
	b.notice(t)
	b.loseDisk(t)
	if _, err := b.store.NoticeRestore(t.Context(), store.NoticedRestore{By: "command", MayHaveLost: true}); err != nil {
		t.Fatal(err)
	}
	b.notice(t)

	b.isPending(t, b.order(1))
	b.isPending(t, b.order(1))
	b.soldOnce(t)
	nameless := b.buy(t, unnamed(b.order(2)))

	if err := b.store.Continue(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	b.notice(t)
	bought := b.buy(t, b.order(1))
	b.soldOnce(t, nameless, bought)
}

// TestAPurchaseWhoseSaleIsNotLoggedIsLookedUp has the carrier sell and not answer.
func TestAPurchaseWhoseSaleIsNotLoggedIsLookedUp(t *testing.T) {
	t.Parallel()
	for name, labelStatus := range map[string]string{"ups": "ready", "fedex": "needs_review"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, name)
			b.backUp(t)
			b.turn(t, emulator.Faults{Buy: map[string]float64{"hang": 1}})
			if got, err := b.Buy(t.Context(), b.order(1)); err != nil || !got.Pending {
				t.Fatalf("Buy = pending %t, %v", got.Pending, err)
			}
			b.turn(t, emulator.Faults{})
			sold := b.alive()
			b.putBack(t)
			b.notice(t)

			list := b.missing(t)
			if len(list) != 1 || list[0].Number != "" {
				t.Fatalf("missing are %+v", list)
			}
			if _, err := b.store.DecideMissing(t.Context(), store.MissingDecision{MissingChoice: chosen(b.tenant, list[0].Shipment), To: store.PurchaseAdopting, By: "test"}); err != nil {
				t.Fatal(err)
			}
			if ended, err := b.CarryOutDecisions(t.Context()); err != nil || ended != 1 {
				t.Fatalf("%d decisions, %v; %+v", ended, err, b.missing(t))
			}

			sh, err := b.Shipment(t.Context(), b.tenant, list[0].Shipment)
			if err != nil || sh.State.LabelStatus() != labelStatus || !slices.Equal(sold, []string{sh.Purchase.TrackingNumber}) {
				t.Errorf("adopted is %s %s, %v; sold were %v", sh.State, sh.Purchase.TrackingNumber, err, sold)
			}
			b.holds(t)

			// A person can void it, with its label or without.
			if _, err := b.Void(t.Context(), b.tenant, sh.ID); err != nil {
				t.Fatal(err)
			}
			if alive := b.alive(); len(alive) > 0 {
				t.Errorf("alive are %v", alive)
			}
			b.holds(t)
		})
	}
}

func TestWhatWasRefusedOrVoidedIsNotMissing(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.backUp(t)
	bought := b.buy(t, b.order(1))
	if _, err := b.Void(t.Context(), b.tenant, bought.ID); err != nil {
		t.Fatal(err)
	}
	b.putBack(t)
	b.notice(t)

	if list := b.missing(t); len(list) > 0 {
		t.Errorf("missing are %+v", list)
	}
	b.buy(t, b.order(2))
}

// TestAnErasureReachesWhatARestoreLost: an erasure waits for a missing purchase that nobody
// has decided about, and takes the person out of one that is held.
func TestAnErasureReachesWhatARestoreLost(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.backUp(t)
	in := b.order(1)
	in.Order.Destination.Email = "grace@example.com"
	held := b.buy(t, in)
	other := b.buy(t, b.order(2))
	b.putBack(t)
	b.notice(t)
	b.decideMissing(t, other, store.PurchaseHeld)

	people := privacy.New(privacy.Config{
		Store:       b.store,
		Box:         b.restores.Box,
		Log:         slog.New(slog.DiscardHandler),
		RedactCells: func(_ json.RawMessage, cells []string) []string { return cells },
	})
	erasure, err := people.RequestErasure(t.Context(), b.tenant, ship.Person{Email: "grace@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	eraseNow := func() store.Erasure {
		if _, err := people.WorkErasure(t.Context(), b.tenant, erasure.ID); err != nil {
			t.Fatal(err)
		}
		got, err := b.store.Erasure(t.Context(), b.tenant, erasure.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	if got := eraseNow(); got.State != store.ErasureWaiting || got.Counts[store.CountOpen] != 1 {
		t.Fatalf("before the decision the erasure is %s %v", got.State, got.Counts)
	}
	b.decideMissing(t, held, store.PurchaseHeld)
	if got := eraseNow(); got.State != store.ErasureDone || got.Counts["missing_purchases"] != 1 {
		t.Fatalf("after the decision the erasure is %s %v", got.State, got.Counts)
	}

	// The other purchase keeps its people.
	views, _, err := b.MissingPurchases(t.Context(), chosen(b.tenant, held.ID, other.ID), 10, 0)
	if err != nil || len(views) != 2 {
		t.Fatalf("%d are missing, %v", len(views), err)
	}
	for _, view := range views {
		entry, err := b.restores.Open(view.MissingPurchase)
		if err != nil {
			t.Fatal(err)
		}
		isErased := view.Shipment == held.ID
		hasPeople := strings.Contains(asText(t, entry), "grace@example.com") || entry.Sale != nil || entry.Order.Destination.Name != ""
		if entry.Erased != isErased || hasPeople == isErased {
			t.Errorf("the entry of %s is erased %t and has people %t", view.Shipment, entry.Erased, hasPeople)
		}
	}

	// It can be voided, and not recorded.
	b.decideMissing(t, held, store.PurchaseAdopting)
	if ended, err := b.CarryOutDecisions(t.Context()); err != nil || ended != 0 {
		t.Errorf("%d erased purchases were adopted, %v", ended, err)
	}
	b.decideMissing(t, held, store.PurchaseVoiding)
	if ended, err := b.CarryOutDecisions(t.Context()); err != nil || ended != 1 {
		t.Errorf("%d erased purchases were voided, %v", ended, err)
	}
	if _, err := b.VoidOrphanedLabel(t.Context(), b.tenant, "ups", held.Purchase.TrackingNumber); err != nil {
		t.Error(err)
	}
	if alive := b.alive(); slices.Contains(alive, held.Purchase.TrackingNumber) {
		t.Errorf("alive are %v", alive)
	}
}

// TestASaleThatIsAddedKeepsItsRequest: the spool has what was sold, and the log had what was
// asked for.
func TestASaleThatIsAddedKeepsItsRequest(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.backUp(t)
	lost := b.buy(t, b.order(1))
	b.putBack(t)
	b.notice(t)
	if _, err := storetest.Conn(t, b.url).Exec(t.Context(), "UPDATE missing_purchases SET tracking_number = NULL"); err != nil {
		t.Fatal(err)
	}

	err := b.restores.AddSale(t.Context(), restore.Entry{
		At:       lost.Purchase.BoughtAt,
		Tenant:   b.tenant,
		Shipment: lost.ID,
		Attempt:  1,
		Purchase: lost.Purchase,
		Sale:     &ship.Sale{TrackingNumber: lost.Purchase.TrackingNumber},
	})
	if err != nil {
		t.Fatal(err)
	}
	list, err := b.store.MissingPage(t.Context(), chosen(b.tenant, lost.ID), 1, 0)
	if err != nil || len(list) != 1 || list[0].Number != lost.Purchase.TrackingNumber {
		t.Fatalf("missing are %+v, %v", list, err)
	}
	entry, err := b.restores.Open(list[0])
	if err != nil || entry.Sale == nil || len(entry.Order.Parcels) != 1 || len(entry.Fingerprint) == 0 {
		t.Errorf("the entry has the order %+v, fingerprint %x, %v", entry.Order, entry.Fingerprint, err)
	}
}
