package routing

import (
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/ship"
)

var (
	someCarriers = rapid.SampledFrom([]string{"ups", "usps", "fedex", "dhl_express", "canpar"})
	someServices = rapid.SampledFrom([]string{"", "ground", "2day", "next_day"})
)

func drawRates(t *rapid.T) []ship.Rate {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ship.Rate {
		r := rate(someCarriers.Draw(t, "carrier"), rapid.SampledFrom([]string{"ground", "2day", "next_day"}).Draw(t, "service"), rapid.Int64Range(0, 10_000).Draw(t, "cents"), rapid.IntRange(0, 9).Draw(t, "days"))
		r.Price.Currency = rapid.SampledFrom([]string{"USD", "USD", "USD", "EUR", "JPY"}).Draw(t, "currency")
		if rapid.IntRange(0, 4).Draw(t, "vague") == 0 {
			r.DeliveryAt = time.Time{}
		}
		return r
	}), 0, 12).Draw(t, "rates")
}

func drawInput(t *rapid.T) Input {
	in, _ := usual()
	in.Order.OrderID = rapid.StringMatching(`[A-Z]-[0-9]{1,6}`).Draw(t, "order")
	in.Order.Destination.State = rapid.SampledFrom([]string{"TX", "AK", "CA"}).Draw(t, "state")
	in.Order.Destination.Zip = rapid.SampledFrom([]string{"78701", "99501", "SW1A 1AA", ""}).Draw(t, "zip")
	in.Order.Parcels[0].WeightGrams = rapid.Int64Range(1, 40_000).Draw(t, "grams")
	in.Order.DeliverBy = rapid.SampledFrom([]ship.Date{"", "", "2026-03-06", "2026-03-08"}).Draw(t, "by")
	if rapid.Bool().Draw(t, "limited") {
		in.MaxAmount = ship.Money{Minor: rapid.Int64Range(1, 10_000).Draw(t, "limit"), Currency: "USD"}
	}
	return in
}

// drawCondition makes a condition of the language's parts.
func drawCondition(t *rapid.T, depth int) string {
	if depth > 0 {
		a, b := func() string { return drawCondition(t, depth-1) }, func() string { return drawCondition(t, depth-1) }
		switch rapid.IntRange(0, 5).Draw(t, "join") {
		case 0:
			return "(" + a() + " && " + b() + ")"
		case 1:
			return "(" + a() + " || " + b() + ")"
		case 2:
			return "!(" + a() + ")"
		case 3:
			return "(" + a() + " ? " + b() + " : " + a() + ")"
		case 4:
			return "quotes.exists(q, q.days <= 3 && " + a() + ")"
		}
	}
	compare := rapid.SampledFrom([]string{"==", "!=", "<", "<=", ">", ">="}).Draw(t, "compare")
	text := rapid.SampledFrom([]string{"destination.state", "destination.zip", "cheapest.carrier", "order.deliverBy", `metadata["x"]`, "destination.city.lowerAscii()"}).Draw(t, "text")
	number := rapid.SampledFrom([]string{"parcel.weightKg", "cheapest.amount", "fastest.days", "parcel.count", "int(destination.zip)", "parcel.weightGrams / parcel.count", "cheapest.amount * 1.5"}).Draw(t, "number")
	switch rapid.IntRange(0, 4).Draw(t, "leaf") {
	case 0:
		return text + " " + compare + ` "` + rapid.SampledFrom([]string{"AK", "TX", "ups", "99501", ""}).Draw(t, "word") + `"`
	case 1:
		return text + ` in ["AK", "CA", "fedex"]`
	case 2:
		return number + " " + compare + " " + fmt.Sprint(rapid.IntRange(0, 50).Draw(t, "constant"))
	case 3:
		return `quotes.` + rapid.SampledFrom([]string{"all", "exists"}).Draw(t, "loop") + `(q, q.amount ` + compare + ` 20 || q.carrier == "ups")`
	}
	return rapid.SampledFrom([]string{"order.international", "destination.residential", "true", "!order.isReturn"}).Draw(t, "truth")
}

func drawTargets(t *rapid.T) []Target {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Target {
		return Target{Carrier: someCarriers.Draw(t, "carrier"), Service: someServices.Draw(t, "service")}
	}), 1, 3).Draw(t, "targets")
}

func drawAction(t *rapid.T, kinds int) Action {
	percent := rapid.Map(rapid.IntRange(0, 20_000), func(n int) float64 { return float64(n) / 100 })
	switch rapid.IntRange(0, kinds).Draw(t, "action") {
	case 0:
		return Action{Use: drawTargets(t)}
	case 1:
		a := Action{Choose: rapid.SampledFrom([]string{"cheapest", "fastest"}).Draw(t, "choose")}
		switch rapid.IntRange(0, 4).Draw(t, "limit") {
		case 0:
			a.WithinDays = new(rapid.IntRange(0, 6).Draw(t, "days"))
		case 1:
			a.WithinDaysOfFastest = new(rapid.IntRange(0, 3).Draw(t, "days"))
		case 2:
			a.WithinPercentOfCheapest = new(percent.Draw(t, "percent"))
		case 3:
			a.By, a.Only = "2026-03-07", drawTargets(t)
		}
		return a
	case 2:
		return Action{Prefer: drawTargets(t), TolerancePercent: new(percent.Draw(t, "percent"))}
	case 3:
		return Action{Split: []Share{{Target{Carrier: "ups"}, 60}, {Target{Carrier: someCarriers.Draw(t, "carrier")}, 40}}}
	case 4:
		return Action{Forbid: drawTargets(t)}
	}
	return Action{Require: &Requirement{Signature: "standard"}}
}

func drawBook(t *rapid.T) Book {
	var b Book
	for i := range rapid.IntRange(0, 5).Draw(t, "rules") {
		r := Rule{Name: fmt.Sprint("R", i), When: drawCondition(t, rapid.IntRange(0, 2).Draw(t, "depth")), Then: drawAction(t, 5)}
		if r.Then.Require != nil {
			r.When = `destination.state != "CA"`
		}
		if r.Then.Require == nil && r.Then.Forbid == nil {
			r.Otherwise = rapid.SampledFrom([]string{"", "next", "refuse"}).Draw(t, "otherwise")
			switch rapid.IntRange(0, 3).Draw(t, "guard") {
			case 0:
				r.Guard.ExtraPercent = new(float64(rapid.IntRange(0, 100).Draw(t, "extra")))
			case 1:
				r.Guard.ExtraDays, r.Guard.ExtraAmount = new(rapid.IntRange(0, 3).Draw(t, "extra")), "10.00"
			case 2:
				r.Guard.None = true
			}
		}
		b.Rules = append(b.Rules, r)
	}
	if rapid.Bool().Draw(t, "default") {
		b.Default = drawAction(t, 3)
	}
	return b
}

func TestEveryDecisionKeepsItsPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := drawBook(t)
		c, err := Compile(b)
		if fields := fieldsIn(err); len(fields) > 0 && strings.Contains(fields[0].Detail, "too complex") {
			return // loops inside each other
		} else if err != nil {
			t.Fatalf("%+v: %+v", b, fields)
		}
		in, rates := c.Prepare(drawInput(t)), drawRates(t)
		kept := slices.Clone(rates)
		d := c.Decide(in, rates)
		if !reflect.DeepEqual(rates, kept) {
			t.Fatal("the rates were changed")
		}
		shuffled := rapid.Permutation(rates).Draw(t, "shuffled")
		again := c.Decide(in, shuffled)
		if len(rates) > 0 && distinct(rates) && !reflect.DeepEqual(d, again) {
			t.Fatalf("the order of the rates changes the decision:\n%+v\n%+v", d, again)
		}
		if !reflect.DeepEqual(d, c.Decide(in, kept)) {
			t.Fatal("the same input gives another decision")
		}
		promises(t, b, in, rates, d)
	})
}

// distinct reports whether no two rates are ranked the same.
func distinct(rates []ship.Rate) bool {
	for i := range rates {
		for j := range rates[:i] {
			if compareRates(&rates[i], &rates[j], "USD") == 0 {
				return false
			}
		}
	}
	return true
}

func promises(t *rapid.T, b Book, in Input, rates []ship.Rate, d Decision) {
	if (d.Refused == "") == (len(d.Offers) == 0) || d.Routing.Why == "" || d.Routing.Considered != len(rates) || len(d.Routing.Seen) != len(rates) {
		t.Fatalf("%+v", d)
	}
	left := slices.Clone(rates)
	for _, o := range d.Offers {
		i := slices.IndexFunc(left, func(r ship.Rate) bool { return reflect.DeepEqual(r, o) })
		if i < 0 {
			t.Fatalf("%+v was not offered, or not twice", o)
		}
		left = slices.Delete(left, i, i+1)
		if in.Order.DeliverBy != "" && (o.DeliveryAt.IsZero() || ship.DateOf(o.DeliveryAt) > in.Order.DeliverBy) {
			t.Fatalf("%+v is late", o)
		}
		if !in.MaxAmount.IsZero() && o.Price.Exceeds(in.MaxAmount, 0) {
			t.Fatalf("%+v is dear", o)
		}
		for _, r := range b.Rules {
			if r.Then.Forbid != nil && slices.Contains(d.Routing.Also, r.Name) && slices.ContainsFunc(r.Then.Forbid, func(f Target) bool { return f.match(offer{rate: &o}) }) {
				t.Fatalf("%+v is forbidden by %s", o, r.Name)
			}
		}
	}
	if len(d.Offers)+len(d.Routing.Dropped) > len(rates) {
		t.Fatalf("%d offers and %d dropped of %d", len(d.Offers), len(d.Routing.Dropped), len(rates))
	}
	chose := b.Default
	i := slices.IndexFunc(b.Rules, func(r Rule) bool { return r.Name == d.Routing.Rule })
	if i >= 0 {
		chose = b.Rules[i].Then
	}
	byPrice := chose.Use == nil && chose.Split == nil
	if byPrice && !slices.IsSortedFunc(d.Offers, func(x, y ship.Rate) int { return -compareBool(x.Price.Currency == "USD", y.Price.Currency == "USD") }) {
		t.Fatal("another currency is not last")
	}
	if i >= 0 && d.Refused == "" {
		guardHolds(t, b.Rules[i].Guard, d.Offers)
	}
}

// guardHolds says what a guard promises in another way than the code does.
func guardHolds(t *rapid.T, g Guard, offers []ship.Rate) {
	if g.None && len(offers) > 1 {
		t.Fatal("something follows")
	}
	first := offers[0]
	for _, o := range offers[1:] {
		if (g.ExtraPercent != nil || g.ExtraAmount != "") && o.Price.Currency != first.Price.Currency {
			t.Fatalf("%+v cannot be compared with %+v", o, first)
		}
		if g.ExtraPercent != nil {
			limit := new(big.Rat).Mul(big.NewRat(first.Price.Minor, 1), new(big.Rat).Add(big.NewRat(1, 1), big.NewRat(int64(*g.ExtraPercent), 100)))
			if big.NewRat(o.Price.Minor, 1).Cmp(limit) > 0 {
				t.Fatalf("%+v is over the guard of %+v", o, first)
			}
		}
		if extra, ok := ship.ParseMoney(g.ExtraAmount, first.Price.Currency); ok && o.Price.Minor > first.Price.Minor+extra.Minor {
			t.Fatalf("%+v is over the guard of %+v", o, first)
		}
	}
}

func TestConditionsOfAllShapesFailOnlyByValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		when := drawCondition(r, 3)
		c, wrong := compileCondition(when)
		if wrong != nil {
			if strings.Contains(wrong.detail, "too complex") {
				return
			}
			r.Fatalf("%s: %s", when, wrong)
		}
		failsOnlyByValues(t, when, c)
	})
}

func TestASplitSharesOrdersOut(t *testing.T) {
	t.Parallel()
	c := bookOf(t, `{"rules": [{"name": "Shared", "then": {"split": [{"carrier": "ups", "percent": 50}, {"carrier": "fedex", "percent": 30}, {"carrier": "usps", "percent": 19}, {"carrier": "dhl_express", "percent": 1}]}}]}`)
	in, rates := usual()
	const orders = 10_000
	for _, account := range []ship.AccountID{"acct_1", "acct_2"} {
		got := map[string]int{}
		for i := range orders {
			in.Account, in.Order.OrderID = account, fmt.Sprint("A-", i)
			d := c.Decide(in, rates)
			got[d.Offers[0].Carrier]++
			if i%1000 == 0 && !reflect.DeepEqual(c.Decide(in, rates).Offers[0], d.Offers[0]) {
				t.Error("the same order falls to another share")
			}
		}
		for carrier, percent := range map[string]int{"ups": 50, "fedex": 30, "usps": 19, "dhl_express": 1} {
			if off := got[carrier] - percent*orders/100; off > 150 || off < -150 {
				t.Errorf("%s: %s has %d of %d orders, want %d %%", account, carrier, got[carrier], orders, percent)
			}
		}
	}
	// A changed hash would send orders elsewhere when they are replayed.
	shares := []Share{{Percent: 50}, {Percent: 30}, {Percent: 20}}
	var falls []int
	for i := range 16 {
		falls = append(falls, shareOf(shares, "acct_1", fmt.Sprint("A-", i), "Shared"))
	}
	if want := []int{0, 0, 0, 0, 1, 2, 0, 1, 0, 0, 1, 2, 1, 0, 2, 2}; !slices.Equal(falls, want) {
		t.Errorf("orders fall to %v, want %v", falls, want)
	}
}
