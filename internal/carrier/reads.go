package carrier

import (
	"context"

	"github.com/waybillhq/waybill/internal/ship"
)

// A ProofFetcher has proofs of delivery.
type ProofFetcher interface {
	// FetchProof returns the proof that the parcel was delivered, as a document
	// of type "proof_of_delivery", or an error of kind ship.NotFound if there is
	// none.
	FetchProof(ctx context.Context, purchase ship.Purchase) (ship.Document, error)
}

// A PointFinder knows the carrier's service points.
type PointFinder interface {
	// FindPoints returns the points near the place, the nearest first; none if
	// there are none.
	FindPoints(ctx context.Context, query ship.PointQuery) ([]ship.ServicePoint, error)
}

// A DutyEstimator knows what customs will ask for.
type DutyEstimator interface {
	// EstimateDuties estimates duties, taxes and fees of an order that has a
	// customs declaration.
	EstimateDuties(ctx context.Context, order ship.Order) (ship.LandedCost, error)
}

// FetchProof returns the proof that a parcel was delivered, or an error of kind
// ship.NotFound if the carrier has none.
func (c *Carrier) FetchProof(ctx context.Context, purchase ship.Purchase) (_ ship.Document, err error) {
	fetcher, ok := abilityOf[ProofFetcher](c, "proof")
	if !ok {
		return ship.Document{}, c.errorf(ship.Unsupported, "%s does not offer proofs of delivery", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpProof, c.Deadlines.Proof)
	defer func() { done(err) }()
	document, err := fetcher.FetchProof(ctx, purchase)
	if err != nil {
		return ship.Document{}, c.explain(err, ship.Unavailable)
	}
	if len(document.Data) == 0 || document.Format == "" {
		return ship.Document{}, c.errorf(ship.Unavailable, "%s sent an empty proof of delivery", c.spec.Title)
	}
	return document, nil
}

// FindPoints returns service points near a place, the nearest first.
func (c *Carrier) FindPoints(ctx context.Context, query ship.PointQuery) (_ []ship.ServicePoint, err error) {
	finder, ok := abilityOf[PointFinder](c, "points")
	if !ok {
		return nil, c.errorf(ship.Unsupported, "%s does not offer a search for service points", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpPoints, c.Deadlines.Points)
	defer func() { done(err) }()
	points, err := finder.FindPoints(ctx, query)
	if err != nil {
		return nil, c.explainRead(err)
	}

	usable := points[:0]
	for _, point := range points {
		if point.ID != "" && point.Address.Country != "" {
			usable = append(usable, point)
		}
	}
	if len(usable) > query.Limit && query.Limit > 0 {
		usable = usable[:query.Limit]
	}
	return usable, nil
}

// EstimateDuties estimates what customs will ask for an order.
func (c *Carrier) EstimateDuties(ctx context.Context, order ship.Order) (_ ship.LandedCost, err error) {
	estimator, ok := abilityOf[DutyEstimator](c, "duties")
	if !ok {
		return ship.LandedCost{}, c.errorf(ship.Unsupported, "%s does not estimate duties", c.spec.Title)
	}

	ctx, done := c.begin(ctx, OpDuties, c.Deadlines.Duties)
	defer func() { done(err) }()
	cost, err := estimator.EstimateDuties(ctx, order)
	if err != nil {
		return ship.LandedCost{}, c.explainRead(err)
	}
	return cost, nil
}

// explainRead is explain for a read that always finds something: "not found" came
// from a proxy or a wrong URL.
func (c *Carrier) explainRead(err error) error {
	if ship.KindOf(err) == ship.NotFound {
		return c.errorf(ship.Unavailable, "%s does not offer this at the configured URL", c.spec.Title)
	}
	return c.explain(err, ship.Unavailable)
}
