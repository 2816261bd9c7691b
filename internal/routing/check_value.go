package routing

import (
	"fmt"
	"math"
	"slices"
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
	for i, target := range list {
		c.target(target, pointer+"/"+strconv.Itoa(i))
	}
	return list
}

func (c *checker) target(target Target, pointer string) {
	if target.Carrier == "" {
		c.add(pointer+"/carrier", "required", "is required: every target needs a carrier", "")
	}
	for _, part := range [][2]string{{"carrier", target.Carrier}, {"service", target.Service}, {"connectionId", string(target.ConnectionID)}} {
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

	sum := 0
	allValid := true
	for i, share := range list {
		sharePointer := pointer + "/" + strconv.Itoa(i)
		c.target(share.Target, sharePointer)
		if share.Percent < 1 || share.Percent > 100 {
			c.add(sharePointer+"/percent", "invalid", "must be 1 to 100", "")
			allValid = false
		}
		sum += share.Percent
	}
	if allValid && sum != 100 {
		c.add(pointer, "invalid", fmt.Sprintf("the percentages add up to %d; they must add up to 100", sum), "")
	}
	return list
}

func (c *checker) signature(signature, pointer string) string {
	required := []string{"standard", "adult"}
	if !slices.Contains(required, signature) {
		c.add(pointer, "not_allowed", `must be "standard" or "adult"`, ship.Nearest(signature, required))
	}
	return signature
}

func (c *checker) guard(given Guard, pointer string) guard {
	out := guard{
		percent: c.percent(given.ExtraPercent, pointer+"/extraPercent"),
		amount:  c.amount(given.ExtraAmount, pointer+"/extraAmount"),
		days:    c.days(given.ExtraDays, pointer+"/extraDays"),
		none:    given.None,
	}
	if given.None && (given.ExtraPercent != nil || given.ExtraAmount != "" || given.ExtraDays != nil) {
		c.add(pointer+"/none", "not_allowed", "cannot be combined with other limits: no other offer is tried anyway", "")
	}
	return out
}

// days checks a number of days; -1 means no limit.
func (c *checker) days(n *int, pointer string) int64 {
	if n == nil {
		return -1
	}
	if *n < 0 || *n > maxDays {
		c.add(pointer, "invalid", fmt.Sprintf("must be 0 to %d", maxDays), "")
	}
	return int64(*n)
}

// percent checks a percentage and returns it in hundredths; -1 means no limit.
func (c *checker) percent(given *float64, pointer string) int64 {
	if given == nil {
		return -1
	}

	// Written so that NaN is rejected, too.
	percent := *given
	if !(percent >= 0 && percent <= maxPercent) {
		c.add(pointer, "invalid", fmt.Sprintf("must be 0 to %d", maxPercent), "")
		return -1
	}

	// Integers from here on: prices are compared exactly.
	hundredths := math.Round(percent * 100)
	if math.Abs(percent*100-hundredths) > 1e-6 {
		c.add(pointer, "invalid", "must have at most two decimals", strconv.FormatFloat(hundredths/100, 'f', -1, 64))
	}
	return int64(hundredths)
}

// widestCurrency is a currency with as many decimals as any has. An amount of a
// book is kept in its minor unit until the account's currency is known.
const widestCurrency = "CLF"

// amount checks an amount; -1 means no limit.
func (c *checker) amount(text, pointer string) int64 {
	if text == "" {
		return -1
	}
	amount, ok := ship.ParseMoney(text, widestCurrency)
	if !ok {
		c.add(pointer, "invalid", `must be an amount such as "1.50"`, "")
		return -1
	}
	return amount.Minor
}

// inCurrency converts an amount of a book to the minor unit of a currency,
// rounded down.
func inCurrency(amount int64, currency string) int64 {
	for range ship.Exponent(widestCurrency) - ship.Exponent(currency) {
		amount /= 10
	}
	return amount
}
