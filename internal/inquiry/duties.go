package inquiry

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// DutiesInput is an order that crosses a border.
type DutiesInput struct {
	Tenant    ship.Tenant
	Account   ship.Account
	Order     ship.Order // as the client wrote it: not yet normalized, OrderID may be empty
	OneParcel bool       // the client wrote "parcel", not "parcels": errors point there
	Carrier   string     // that alone is asked; empty for all
}

// A DutyEstimate is what a carrier estimates.
type DutyEstimate struct {
	Carrier string
	ship.LandedCost
}

// Duties are the estimates of carriers. They are not combined: carriers disagree, and
// one estimate can have several currencies.
type Duties struct {
	Estimates []DutyEstimate
	Errors    []Failure
}

// Duties asks the tenant's carriers what customs will ask for an order. The
// destination need not be a whole address.
func (s *Service) Duties(ctx context.Context, in DutiesInput) (Duties, error) {
	if err := s.locate(ctx, in.Tenant, &in.Order); err != nil {
		return Duties{}, err
	}
	order, err := in.Order.Normalize(ship.Normalizing{
		Tenant:    in.Tenant,
		Account:   in.Account,
		OneParcel: in.OneParcel,
		Quote:     true,
		Estimate:  in.Order.Destination.IsPartial(),
		Now:       time.Now().UTC(),
	})
	if err != nil {
		return Duties{}, err
	}
	if err := checkDeclared(order); err != nil {
		return Duties{}, err
	}

	carriers, err := s.ableTo(ctx, in.Tenant, "duties", in.Carrier, "estimates of duties")
	if err != nil {
		return Duties{}, err
	}
	answers := askAll(ctx, carriers, func(ctx context.Context, c *carrier.Carrier) (ship.LandedCost, error) {
		return c.EstimateDuties(ctx, order)
	})
	var out Duties
	if out.Errors, err = failuresOf(s, answers, carrier.OneParcel(in.OneParcel)); err != nil {
		return Duties{}, err
	}
	for _, a := range answers {
		if a.err == nil {
			out.Estimates = append(out.Estimates, DutyEstimate{Carrier: a.carrier, LandedCost: a.value})
		}
	}
	return out, nil
}

// checkDeclared refuses an order that no customs office would charge for.
func checkDeclared(order ship.Order) error {
	if !carrierkit.NeedsCustoms(order.Origin, order.Destination) {
		return ship.InvalidFields([]ship.FieldError{{
			Pointer: "/destination/country",
			Code:    "invalid",
			Detail:  "the shipment crosses no customs border, so there are no duties",
		}})
	}
	if order.Customs == nil {
		return ship.InvalidFields([]ship.FieldError{{
			Pointer: "/customs",
			Code:    "required",
			Detail:  "is required: duties depend on the goods",
		}})
	}
	return nil
}
