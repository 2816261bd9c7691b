package routing

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// heavyBook has n rules of all sorts, of which only the last matches.
func heavyBook(n int) Book {
	conditions := []string{
		`destination.state in ["AK", "HI", "PR"]`,
		`destination.country == "CA" && parcel.weightKg > 20`,
		`metadata["tier"] == "gold-%d"`,
		`destination.zip.startsWith("99") || origin.zip == "1%04d"`,
		`order.insuredValue >= 500 && order.signature == ""`,
		`quotes.exists(q, q.carrier == "carrier-%d" && q.days <= 2)`,
		`cheapest.amount > 400 || fastest.days > 30`,
		`int(destination.zip) >= 99500`,
		`time.weekday == "sunday" && parcel.longestCm > 120`,
		`parcel.count > 10 && destination.city.lowerAscii() == "x%d"`,
	}
	b := Book{}
	for i := range n {
		when := conditions[i%len(conditions)]
		if i == n-1 {
			when = `destination.country == "US"`
		} else if fmt.Sprintf(when, 1) != when+"%!(EXTRA int=1)" {
			when = fmt.Sprintf(when, i)
		}
		b.Rules = append(b.Rules, Rule{Name: fmt.Sprintf("rule %d", i), When: when, Then: Action{Use: []Target{{Carrier: "ups"}, {Carrier: "carrier-7"}}}})
	}
	return b
}

func twentyRates() []ship.Rate {
	var rates []ship.Rate
	for i := range 20 {
		rates = append(rates, rate([]string{"ups", "fedex", "usps", "dhl_express"}[i%4], fmt.Sprintf("service-%d", i), int64(800+(i*7919)%2000), 1+i%6))
	}
	return rates
}

// BenchmarkDecide is the worst case: no rule matches but the last.
func BenchmarkDecide(b *testing.B) {
	for _, rules := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("rules=%d", rules), func(b *testing.B) {
			c, err := Compile(heavyBook(rules))
			if err != nil {
				b.Fatal(fieldsIn(err))
			}
			in, _ := usual()
			rates := twentyRates()
			b.ReportAllocs()
			for b.Loop() {
				if d := c.Decide(in, rates); d.Refused != "" {
					b.Fatal(d.Refused)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	book := heavyBook(200)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(book); err != nil {
			b.Fatal(err)
		}
	}
}

// TestAccountsShareTheLanguage measures what one more account costs: its own
// rules, and nothing else.
func TestAccountsShareTheLanguage(t *testing.T) {
	if _, err := Compile(heavyBook(10)); err != nil {
		t.Fatal(err)
	}
	in, _ := usual()
	rates := twentyRates()
	kept := make([]*Compiled, 100)
	perBook := make([]float64, 2)
	for half := range perBook {
		before := heap()
		for i := range 50 {
			c, err := Compile(heavyBook(10))
			if err != nil {
				t.Fatal(err)
			}
			kept[half*50+i] = c
			in.Account = ship.AccountID(fmt.Sprintf("acct_%d", i))
			c.Decide(in, rates)
		}
		perBook[half] = float64(heap()-before) / 50
	}
	runtime.KeepAlive(kept)
	t.Logf("%.0f bytes a book of 10 rules", perBook[1])
	if perBook[1] > 60_000 || perBook[1] > perBook[0]*1.5+1000 {
		t.Errorf("a book of 10 rules takes %.0f bytes, then %.0f", perBook[0], perBook[1])
	}

	before := heap()
	for i := range 5_000 {
		in.Account, in.Order.OrderID = ship.AccountID(fmt.Sprintf("acct_%d", i)), fmt.Sprint(i)
		kept[i%len(kept)].Decide(in, rates)
	}
	if grown := int64(heap()) - int64(before); grown > 100_000 {
		t.Errorf("5,000 decisions of as many accounts leave %d bytes", grown)
	}
	runtime.KeepAlive(kept)
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestADecisionAllocatesTheSameForEveryAccount(t *testing.T) {
	c, err := Compile(heavyBook(200))
	if err != nil {
		t.Fatal(fieldsIn(err))
	}
	in, _ := usual()
	rates := twentyRates()
	first := testing.AllocsPerRun(50, func() { c.Decide(in, rates) })
	n := 0
	others := testing.AllocsPerRun(500, func() {
		n++
		in.Account = ship.AccountID([]string{"acct_a", "acct_b", "acct_c", "acct_d"}[n%4])
		c.Decide(in, rates)
	})
	if others > first+1 {
		t.Errorf("%v allocations a decision, then %v", first, others)
	}
}
