package shipping

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// mostQuotes bounds the memory that quotes take.
const mostQuotes = 20_000

// quoteCache answers the same question to the same carrier account from memory
// for a while. It is off unless the operator turns it on.
type quoteCache struct {
	answers   *otter.Cache[[32]byte, []ship.Rate] // nil if it is off
	purchases bool                                // also when a label is bought
}

func newQuoteCache(life time.Duration, purchases bool) quoteCache {
	if life <= 0 {
		return quoteCache{}
	}
	return quoteCache{purchases: purchases, answers: otter.Must(&otter.Options[[32]byte, []ship.Rate]{
		MaximumSize: mostQuotes, ExpiryCalculator: otter.ExpiryWriting[[32]byte, []ship.Rate](life),
	})}
}

// rates are the carrier's, now or a while ago. Simulated carriers compute
// theirs and are not remembered; nor is what failed.
func (q quoteCache) rates(ctx context.Context, c *carrier.Carrier, of inquiry) ([]ship.Rate, error) {
	if q.answers == nil || c.Connection == "" {
		return c.Rates(ctx, of.order)
	}
	key := quoteKey(c, of)
	if of.remember {
		if kept, ok := q.answers.GetIfPresent(key); ok {
			rates := slices.Clone(kept)
			for i := range rates {
				rates[i].Source = "cache"
			}
			return rates, nil
		}
	}
	rates, err := c.Rates(ctx, of.order)
	if err == nil {
		q.answers.Set(key, slices.Clone(rates))
	}
	return rates, err
}

// quoteKey names a question: two orders have the same key only if no carrier
// can price them differently. Names and streets do not count; weights and sides
// count by the steps that carriers price by.
func quoteKey(c *carrier.Carrier, of inquiry) [32]byte {
	o := of.order
	type place struct {
		Country, State, City, Zip string
		Residential               *bool
	}
	at := func(a ship.Address) place { return place{a.Country, a.State, a.City, a.Zip, a.Residential} }
	parcels := make([]parcelStep, len(o.Parcels))
	for i, p := range o.Parcels {
		parcels[i] = stepOf(p)
	}
	text, err := json.Marshal(struct {
		Tenant     ship.Tenant
		Carrier    string
		Connection ship.ConnectionID
		From, To   place
		Parcels    []parcelStep
		ShipDate   ship.Date
		IsReturn   bool
		Options    ship.Options
		Billing    *ship.Billing
		Customs    *ship.Customs
	}{of.tenant, c.Spec().Name, c.Connection, at(o.Origin), at(o.Destination), parcels, o.ShipDate, o.IsReturn, o.Options, o.Billing, o.Customs})
	if err != nil {
		return [32]byte{} // numbers that JSON does not know were refused before
	}
	return sha256.Sum256(text)
}

// A parcelStep is a parcel as carriers price it: by the ounce below a pound, by
// the pound and by the half kilogram, its sides by the inch and the centimetre.
type parcelStep struct {
	Ounces, Pounds, HalfKilos int64
	Inches, Centimetres       [3]int64
	Packaging                 string
}

func stepOf(p ship.Parcel) parcelStep {
	const ounce, pound, inch = 28.349523125, 453.59237, 25.4
	up := func(n int64, step float64) int64 { return int64(math.Ceil(float64(n)/step - 1e-9)) }
	s := parcelStep{Pounds: up(p.WeightGrams, pound), HalfKilos: up(p.WeightGrams, 500), Packaging: p.Packaging}
	if s.Pounds <= 1 {
		s.Ounces = up(p.WeightGrams, ounce)
	}
	if d := p.Dimensions; d != nil {
		for i, side := range []int64{d.LengthMM, d.WidthMM, d.HeightMM} {
			s.Inches[i], s.Centimetres[i] = up(side, inch), up(side, 10)
		}
	}
	return s
}
