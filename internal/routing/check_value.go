package routing

import (
	"fmt"
	"math"
	"strconv"

	"github.com/waybillhq/waybill/internal/ship"
)

// The largest limits of actions and guards.
const (
	maxDays    = 365
	maxPercent = 10_000
)

func (c *checker) targets(list []Target, pointer string) []Target {
	switch {
	case len(list) == 0:
		c.add(pointer, "required", "needs at least one target", "")
	case len(list) > MaxTargets:
		c.add(pointer, "too_long", fmt.Sprintf("has more than %d targets", MaxTargets), "")
	}
	for i, t := range list {
		c.target(t, pointer+"/"+strconv.Itoa(i))
	}
	return list
}

func (c *checker) target(t Target, pointer string) {
	if t.Carrier == "" {
		c.add(pointer+"/carrier", "required", "a target names its carrier", "")
	}
	for _, part := range [][2]string{{"carrier", t.Carrier}, {"service", t.Service}, {"connectionId", string(t.ConnectionID)}} {
		if len(part[1]) > lineSize {
			c.add(pointer+"/"+part[0], "too_long", fmt.Sprintf("is longer than %d characters", lineSize), "")
		}
	}
}

func (c *checker) shares(list []Share, pointer string) []Share {
	switch {
	case len(list) == 0:
		c.add(pointer, "required", "needs at least one share", "")
		return nil
	case len(list) > MaxTargets:
		c.add(pointer, "too_long", fmt.Sprintf("has more than %d shares", MaxTargets), "")
	}
	sum, good := 0, true
	for i, s := range list {
		at := pointer + "/" + strconv.Itoa(i)
		c.target(s.Target, at)
		if s.Percent < 1 || s.Percent > 100 {
			c.add(at+"/percent", "invalid", "must be 1 to 100", "")
			good = false
		}
		sum += s.Percent
	}
	if good && sum != 100 {
		c.add(pointer, "invalid", fmt.Sprintf("the percents add up to %d, and must to 100", sum), "")
	}
	return list
}

func (c *checker) signature(s, pointer string) string {
	if rank[s] == 0 {
		c.add(pointer, "not_allowed", `must be "standard" or "adult"`, ship.Nearest(s, signatures[1:]))
	}
	return s
}

func (c *checker) guard(g Guard, pointer string) guard {
	out := guard{
		percent: c.percent(g.ExtraPercent, pointer+"/extraPercent"),
		amount:  c.amount(g.ExtraAmount, pointer+"/extraAmount"),
		days:    c.days(g.ExtraDays, pointer+"/extraDays"),
		none:    g.None,
	}
	if g.None && (g.ExtraPercent != nil || g.ExtraAmount != "" || g.ExtraDays != nil) {
		c.add(pointer+"/none", "not_allowed", "nothing may follow, so there is nothing else to limit", "")
	}
	return out
}

// days checks a number of days; -1 stands for none.
func (c *checker) days(n *int, pointer string) int64 {
	if n == nil {
		return -1
	}
	if *n < 0 || *n > maxDays {
		c.add(pointer, "invalid", fmt.Sprintf("must be 0 to %d", maxDays), "")
	}
	return int64(*n)
}

// percent checks a percentage and returns it in hundredths; -1 stands for none.
func (c *checker) percent(p *float64, pointer string) int64 {
	if p == nil {
		return -1
	}
	if !(*p >= 0 && *p <= maxPercent) {
		c.add(pointer, "invalid", fmt.Sprintf("must be 0 to %d", maxPercent), "")
		return -1
	}
	hundredths := math.Round(*p * 100)
	if math.Abs(*p*100-hundredths) > 1e-6 {
		c.add(pointer, "invalid", "has more than two decimals", strconv.FormatFloat(hundredths/100, 'f', -1, 64))
	}
	return int64(hundredths)
}

// widest is a currency with as many decimals as any has: an amount of a book
// is kept in its minor unit until the account's currency is known.
const widest = "CLF"

// amount checks an amount; -1 stands for none.
func (c *checker) amount(s, pointer string) int64 {
	if s == "" {
		return -1
	}
	m, ok := ship.ParseMoney(s, widest)
	if !ok {
		c.add(pointer, "invalid", `must be an amount such as "1.50"`, "")
		return -1
	}
	return m.Minor
}

// inCurrency is an amount of a book in the minor unit of a currency, rounded
// down.
func inCurrency(amount int64, currency string) int64 {
	for range ship.Exponent(widest) - ship.Exponent(currency) {
		amount /= 10
	}
	return amount
}
