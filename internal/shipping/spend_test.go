package shipping_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// limited has every order of the bench be one of a key that may spend so much.
func (b liveBench) limited(key ship.KeyID, limit ship.Money) func(n int) shipping.BuyInput {
	return func(n int) shipping.BuyInput {
		in := b.order(n)
		in.Key, in.Limits.Daily = key, limit
		return in
	}
}

func TestAKeySpendsNoMoreInADayThanItMay(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	first, err := b.Buy(t.Context(), b.order(0))
	if err != nil {
		t.Fatal(err)
	}
	price := first.Shipment.Purchase.Price
	key := ship.NewKeyID(b.tenant.Shard(), time.Now())
	order := b.limited(key, ship.Money{Minor: price.Minor*3 + price.Minor/2, Currency: price.Currency})

	b.turn(t, emulator.Faults{Refuse: 1})
	if _, err := b.Buy(t.Context(), order(50)); ship.CodeOf(err) != "carrier_rejected" {
		t.Fatalf("refused: %v", err)
	}
	b.turn(t, emulator.Faults{})
	var mu sync.Mutex
	var all sync.WaitGroup
	bought := []int{}
	for n := 1; n <= 12; n++ {
		all.Go(func() {
			_, err := b.Buy(t.Context(), order(n))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				bought = append(bought, n)
			case ship.CodeOf(err) != "spend_limit_reached" || ship.KindOf(err) != ship.Forbidden:
				t.Errorf("order %d: %v", n, err)
			}
		})
	}
	all.Wait()
	if len(bought) != 3 || len(b.alive()) != 4 {
		t.Fatalf("%d were bought, and %d labels with the one before: the limit is for 3", len(bought), len(b.alive()))
	}
	if again, err := b.Buy(t.Context(), order(bought[0])); err != nil || !again.Replayed {
		t.Errorf("a repeat of what was bought: %+v, %v", again, err)
	}
	other := b.limited(ship.NewKeyID(b.tenant.Shard(), time.Now()), price)
	if _, err := b.Buy(t.Context(), other(99)); err != nil {
		t.Errorf("another key: %v", err)
	}
}

// TestAPersonSpendsNoMoreInADayThanTheyMay is about purchases without a key: those
// of one person count together, and neither those of another nor of a key do.
func TestAPersonSpendsNoMoreInADayThanTheyMay(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	first, err := b.Buy(t.Context(), b.order(0))
	if err != nil {
		t.Fatal(err)
	}
	price := first.Shipment.Purchase.Price
	buy := func(person ship.PersonID, n int) error {
		in := b.order(n)
		in.Person = person
		in.Limits.Daily = ship.Money{Minor: price.Minor*2 + price.Minor/2, Currency: price.Currency}
		_, err := b.Buy(t.Context(), in)
		return err
	}

	ada := ship.NewPersonID(time.Now())
	bob := ship.NewPersonID(time.Now())
	for n := 1; n <= 2; n++ {
		if err := buy(ada, n); err != nil {
			t.Fatalf("purchase %d within the limit: %v", n, err)
		}
	}
	err = buy(ada, 3)
	if ship.CodeOf(err) != "spend_limit_reached" || !strings.Contains(err.Error(), "your daily limit") {
		t.Errorf("over the limit: %v", err)
	}
	if err := buy(bob, 4); err != nil {
		t.Errorf("another person: %v", err)
	}
	if _, err := b.Buy(t.Context(), b.limited(ship.NewKeyID(b.tenant.Shard(), time.Now()), price)(5)); err != nil {
		t.Errorf("a key: %v", err)
	}
}

// TestRepeatsOfFailedPurchasesKeepTheLimit has purchases fail because the carrier
// takes no requests, and repeats them all at once: what was reserved for each was free meanwhile.
func TestRepeatsOfFailedPurchasesKeepTheLimit(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", cachedQuotes)
	first, err := b.Buy(t.Context(), b.order(0))
	if err != nil {
		t.Fatal(err)
	}
	price := first.Shipment.Purchase.Price
	key := ship.NewKeyID(b.tenant.Shard(), time.Now())
	order := b.limited(key, ship.Money{Minor: price.Minor*3 + price.Minor/2, Currency: price.Currency})

	b.failOrders(t, order, 12)
	var all sync.WaitGroup
	for n := 1; n <= 12; n++ {
		all.Go(func() {
			if err := b.repeat(t, order(n)); err != nil && ship.CodeOf(err) != "spend_limit_reached" {
				t.Errorf("order %d: %v", n, err)
			}
		})
	}
	all.Wait()
	if n := len(b.alive()) - 1; n != 3 {
		t.Errorf("%d were bought; the limit is for 3", n)
	}
	if spent, err := b.SpentToday(t.Context(), b.tenant, key); err != nil || spent != 3*price.Minor {
		t.Errorf("spent are %d, %v", spent, err)
	}
}

// TestARepeatCountsForTheDayOfItsFirstRequest repeats purchases that failed the day
// before. They must not be free because they are not of today.
func TestARepeatCountsForTheDayOfItsFirstRequest(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", cachedQuotes)
	first, err := b.Buy(t.Context(), b.order(0))
	if err != nil {
		t.Fatal(err)
	}
	price := first.Shipment.Purchase.Price
	key := ship.NewKeyID(b.tenant.Shard(), time.Now())
	order := b.limited(key, ship.Money{Minor: price.Minor + price.Minor/2, Currency: price.Currency})

	b.failOrders(t, order, 3)
	b.moveToYesterday(t, first.Shipment.ID)
	if err := b.repeat(t, order(1)); err != nil {
		t.Fatalf("the first repeat: %v", err)
	}
	for n := 2; n <= 3; n++ {
		if err := b.repeat(t, order(n)); ship.CodeOf(err) != "spend_limit_reached" {
			t.Errorf("repeat %d: %v", n, err)
		}
	}

	// The budget of today is another.
	if err := b.repeat(t, order(4)); err != nil {
		t.Errorf("a purchase of today: %v", err)
	}
	if n := len(b.alive()); n != 3 {
		t.Errorf("%d labels were sold, one of them without a limit", n)
	}
}

// cachedQuotes has purchases get as far as the sale while the carrier takes no requests.
func cachedQuotes(c *settings) { c.quoting.QuoteLife, c.quoting.QuoteLifeToBuy = time.Minute, true }

// failOrders has orders 1 to n fail without being sold.
func (b liveBench) failOrders(t *testing.T, order func(int) shipping.BuyInput, n int) {
	t.Helper()
	b.turn(t, emulator.Faults{Limit: 1})
	for i := 1; i <= n; i++ {
		if got, err := b.Buy(t.Context(), order(i)); ship.CodeOf(err) != "carrier_unavailable" {
			t.Fatalf("while the carrier takes no requests: pending %t, %v", got.Pending, err)
		}
	}
	b.turn(t, emulator.Faults{})
}

// repeat buys until the carrier takes requests again.
func (b liveBench) repeat(t *testing.T, in shipping.BuyInput) error {
	t.Helper()
	for {
		_, err := b.Buy(t.Context(), in)
		if ship.CodeOf(err) != "carrier_unavailable" || t.Context().Err() != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// moveToYesterday gives all shipments but one the ids that they would have had a day
// ago.
func (b liveBench) moveToYesterday(t *testing.T, but ship.ShipmentID) {
	t.Helper()
	conn := storetest.Conn(t, b.url)
	hex := func(id ship.ShipmentID) string { return fmt.Sprintf("%x", [16]byte(id.Raw())) }
	rows, err := conn.Query(t.Context(), "SELECT id::text FROM shipments WHERE id <> $1::text::uuid", hex(but))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		earlier := hex(ship.NewShipmentID(b.tenant.Shard(), time.Now().Add(-24*time.Hour)))
		for _, column := range []string{"shipments.id", "shipment_states.id", "purchase_attempts.shipment_id", "idempotency_keys.shipment_id", "lookup_keys.subject_id"} {
			table, name, _ := strings.Cut(column, ".")
			if _, err := conn.Exec(t.Context(), "UPDATE "+table+" SET "+name+" = $1::text::uuid WHERE "+name+" = $2::text::uuid", earlier, id); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAPurchaseInDoubtCountsUntilItIsKnown(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	b.turn(t, emulator.Faults{Buy: map[string]float64{"hang": 1}})
	first, err := b.Buy(t.Context(), b.order(0))
	if err != nil {
		t.Fatal(err)
	}
	price := first.Shipment.Purchase.Price
	order := b.limited(ship.NewKeyID(b.tenant.Shard(), time.Now()), price)
	if got, err := b.Buy(t.Context(), order(1)); err != nil || !got.Pending {
		t.Fatalf("Buy = %+v, %v", got, err)
	}
	b.turn(t, emulator.Faults{})
	if _, err := b.Buy(t.Context(), order(2)); ship.CodeOf(err) != "spend_limit_reached" {
		t.Errorf("beside one in doubt: %v", err)
	}
}

func TestALimitInAnotherCurrencyBuysNothing(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	order := b.limited(ship.NewKeyID(b.tenant.Shard(), time.Now()), ship.Money{Minor: 1_000_000, Currency: "CHF"})
	if _, err := b.Buy(t.Context(), order(1)); ship.CodeOf(err) != "spend_limit_reached" || len(b.alive()) != 0 {
		t.Errorf("%v, and %d labels", err, len(b.alive()))
	}
}

// TestAKeyBuysNoLabelAboveItsLimit refuses before the carrier is asked to
// sell.
func TestAKeyBuysNoLabelAboveItsLimit(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	first, err := b.Buy(t.Context(), b.order(0))
	if err != nil {
		t.Fatal(err)
	}
	price := first.Shipment.Purchase.Price
	order := func(n int, limit ship.Money) shipping.BuyInput {
		in := b.order(n)
		in.Key = ship.NewKeyID(b.tenant.Shard(), time.Now())
		in.Limits.PerPurchase = limit
		return in
	}

	below := ship.Money{Minor: price.Minor - 1, Currency: price.Currency}
	francs := ship.Money{Minor: 1_000_000, Currency: "CHF"}
	for n, limit := range []ship.Money{below, francs} {
		_, err := b.Buy(t.Context(), order(10+n, limit))
		if ship.CodeOf(err) != "purchase_limit_exceeded" || ship.KindOf(err) != ship.Forbidden || !strings.Contains(err.Error(), "cheaper service") {
			t.Errorf("with a limit of %s: %v", limit, err)
		}
	}
	if n := len(b.alive()); n != 1 {
		t.Fatalf("%d labels were sold", n)
	}

	within := order(20, price)
	if _, err := b.Buy(t.Context(), within); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	within.Limits.PerPurchase = below
	again, err := b.Buy(t.Context(), within)
	if err != nil || !again.Replayed {
		t.Errorf("a repeat under a lower limit: %+v, %v", again, err)
	}
	if limit := again.Shipment.Purchase.Limit; limit != price {
		t.Errorf("the label may cost %s, above which it is voided", limit)
	}
}

// TestAKeyShipsOnlyToItsCountries holds in both modes.
func TestAKeyShipsOnlyToItsCountries(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups")
	in := b.order(1)
	in.Key = ship.NewKeyID(b.tenant.Shard(), time.Now())
	in.Limits.Countries = []string{"CA", "MX"}
	_, err := b.Buy(t.Context(), in)
	if ship.CodeOf(err) != "country_not_allowed" || ship.KindOf(err) != ship.Forbidden || !strings.Contains(err.Error(), "CA, MX") {
		t.Errorf("to the United States: %v", err)
	}
	if len(b.emulator.Ledger.Entries()) != 0 {
		t.Error("something was sold")
	}

	in.Limits.Countries = []string{"CA", "US"}
	if _, err := b.Buy(t.Context(), in); err != nil {
		t.Errorf("to an allowed country: %v", err)
	}

	test := b.order(2)
	test.Tenant.Livemode = false
	test.Limits.Countries = []string{"CA"}
	if _, err := b.Buy(t.Context(), test); ship.CodeOf(err) != "country_not_allowed" {
		t.Errorf("in test mode: %v", err)
	}
}
