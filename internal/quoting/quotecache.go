package quoting

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

// recentQuote is how old a quote may be for a person who fills in an order: as
// old as a person takes for it. Every field that they change asks again, and a
// carrier with 60 calls an hour must not be asked what it just answered.
const recentQuote = 5 * time.Minute

// quoteCache answers the same question to the same carrier account from memory
// for a while. Programs get such answers only if the operator turns that on;
// the dashboard's form always does.
type quoteCache struct {
	answers   *otter.Cache[[32]byte, *keptQuote]
	life      time.Duration // how old a quote for a program may be; 0 asks the carrier every time
	lifeToBuy time.Duration // how old a quote may be by which a purchase is decided; 0 likewise
}

// A keptQuote is what a carrier answered, and when.
type keptQuote struct {
	rates []ship.Rate
	at    time.Time
}

func newQuoteCache(life, lifeToBuy time.Duration) quoteCache {
	longest := max(life, recentQuote)
	return quoteCache{
		life:      max(life, 0),
		lifeToBuy: max(lifeToBuy, 0),
		answers: otter.Must(&otter.Options[[32]byte, *keptQuote]{
			MaximumSize:      mostQuotes,
			ExpiryCalculator: otter.ExpiryWriting[[32]byte, *keptQuote](longest),
		}),
	}
}

// lifeInForm is how old a quote may be for the dashboard's form.
func (q quoteCache) lifeInForm() time.Duration { return max(q.life, recentQuote) }

// rates are the carrier's, now or a while ago. Simulated carriers compute
// theirs and are not remembered; nor is what failed. Several who ask the same
// at once are one call.
func (q quoteCache) rates(ctx context.Context, c *carrier.Carrier, of inquiry) ([]ship.Rate, error) {
	if c.Simulated() || q.life == 0 && of.acceptAge == 0 {
		return c.Rates(ctx, of.order)
	}

	key := quoteKey(c, of)
	kept, known := q.answers.GetIfPresent(key)
	if known && time.Since(kept.at) <= of.acceptAge {
		rates := slices.Clone(kept.rates)
		for i := range rates {
			rates[i].Source = "cache"
		}
		return rates, nil
	}

	load := func(ctx context.Context, _ [32]byte) (*keptQuote, error) {
		rates, err := c.Rates(ctx, of.order)
		return &keptQuote{rates: rates, at: time.Now()}, err
	}
	if of.acceptAge == 0 || known {
		// An answer is there and too old for this caller: it is replaced.
		fresh, err := load(ctx, key)
		if err == nil {
			q.answers.Set(key, fresh)
		}
		return slices.Clone(fresh.rates), err
	}

	fresh, err := q.answers.Get(ctx, key, otter.LoaderFunc[[32]byte, *keptQuote](load))
	if err != nil {
		return nil, err
	}
	return slices.Clone(fresh.rates), nil
}

// quoteKey names a question: two orders have the same key only if no carrier
// can price them differently. Names and streets do not count; weights and sides
// count by the steps that carriers price by.
func quoteKey(c *carrier.Carrier, of inquiry) [32]byte {
	type place struct {
		Country, State, City, Zip string
		Residential               *bool
	}
	placeOf := func(a ship.Address) place {
		return place{a.Country, a.State, a.City, a.Zip, a.Residential}
	}

	order := of.order
	parcels := make([]parcelStep, len(order.Parcels))
	for i, parcel := range order.Parcels {
		parcels[i] = stepOf(parcel)
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
	}{
		Tenant:     of.tenant,
		Carrier:    c.Spec().Name,
		Connection: c.Connection,
		From:       placeOf(order.Origin),
		To:         placeOf(order.Destination),
		Parcels:    parcels,
		ShipDate:   order.ShipDate,
		IsReturn:   order.IsReturn,
		Options:    order.Options,
		Billing:    order.Billing,
		Customs:    order.Customs,
	})
	if err != nil {
		// JSON does not know NaN and infinity, which were refused before.
		return [32]byte{}
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
