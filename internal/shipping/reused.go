package shipping

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// reused is the refusal of a request whose idempotency key was used for another
// one. It names the shipment of that one and what differs. It never advises a new
// key: with one, a client that only wants to repeat its purchase would buy again.
func (s *Service) reused(ctx context.Context, in BuyInput, earlier store.IdempotencyRecord) error {
	if earlier.Shipment == "" {
		return keyReused()
	}

	shipment, err := s.store.Shipment(ctx, in.Tenant, earlier.Shipment)
	if err != nil {
		return keyReused() // it is no longer stored
	}
	return s.refuseReuse(ctx, in, shipment, "read that shipment, or repeat its request to get its response")
}

// reusedMissing is reused for a key whose purchase a restore lost.
func (s *Service) reusedMissing(ctx context.Context, in BuyInput, entry restore.Entry) error {
	shipment := ship.Shipment{
		ID:       entry.Shipment,
		Tenant:   entry.Tenant,
		Order:    entry.Order,
		Purchase: entry.Purchase,
	}
	return s.refuseReuse(ctx, in, shipment, "a restore of the database lost that shipment until somebody decides about it, or until its request is repeated")
}

func (s *Service) refuseReuse(ctx context.Context, in BuyInput, shipment ship.Shipment, advice string) error {
	refusal := keyReused()
	refusal.Message = fmt.Sprintf("the idempotency key was already used for shipment %s, and nothing was bought now; %s", shipment.ID, advice)
	refusal.Details = map[string]any{"shipmentId": string(shipment.ID)}
	refusal.Fields = s.differences(ctx, in, shipment)
	return refusal
}

// differences are the parts of a request that are not those of a shipment, as far
// as the client wrote them: what it left out may have come from settings that have
// changed since.
func (s *Service) differences(ctx context.Context, in BuyInput, shipment ship.Shipment) (list []ship.FieldError) {
	differs := func(pointer string, isSame bool) {
		if !isSame {
			list = append(list, ship.FieldError{
				Pointer: pointer,
				Code:    "idempotency_key_reused",
				Detail:  "is not what the shipment was bought with",
			})
		}
	}

	purchase := shipment.Purchase
	if in.RateID != "" {
		rate, isKnown := s.quoting.QuotedRate(in.Tenant, in.RateID)
		differs("/rateId", isKnown && rate.Carrier == purchase.Carrier && rate.Service == purchase.Service && rate.Connection == purchase.Connection)
	}
	differs("/carrier", in.Carrier == "" || in.Carrier == purchase.Carrier)
	differs("/service", in.Service == "" || in.Service == purchase.Service)
	differs("/connectionId", in.Connection == "" || in.Connection == purchase.Connection)

	now := shipment.ID.Raw().Time()
	asked := in.Order
	isLocated := s.quoting.Locate(ctx, in.Tenant, &asked) == nil
	order, err := asked.Normalize(ship.Normalizing{Tenant: in.Tenant, Account: in.Account, OneParcel: in.OneParcel, Now: now})
	if err != nil || !isLocated {
		return list
	}

	bought := shipment.Order
	if raised := purchase.Routing.Raised; raised != nil {
		bought.Options.Signature = raised.From
	}
	wroteOrigin := !isEqual(in.Order.Origin, ship.Address{}) || in.Order.NamesLocation()
	parcels := "/parcels"
	if in.OneParcel {
		parcels = "/parcel"
	}
	differs("/orderId", order.OrderID == bought.OrderID)
	differs("/origin", !wroteOrigin || isEqual(order.Origin, bought.Origin))
	differs("/destination", isEqual(order.Destination, bought.Destination))
	differs(parcels, isEqual(order.Parcels, bought.Parcels))
	differs("/options", isEqual(order.Options, bought.Options))
	differs("/customs", isEqual(order.Customs, bought.Customs))
	differs("/billing", isEqual(order.Billing, bought.Billing))
	differs("/reference", order.Reference == bought.Reference)
	differs("/isReturn", order.IsReturn == bought.IsReturn)
	differs("/shipDate", in.Order.ShipDate == "" || order.ShipDate == bought.ShipDate)
	differs("/deliverBy", order.DeliverBy == bought.DeliverBy)
	differs("/labelFormat", in.Order.LabelFormat == "" || order.LabelFormat == bought.LabelFormat)
	differs("/maxAmount", in.MaxAmount.IsZero() || in.MaxAmount == purchase.Limit || in.RateID != "")
	differs("/metadata", len(order.Metadata) == 0 && len(bought.Metadata) == 0 || isEqual(order.Metadata, bought.Metadata))
	return list
}

// isEqual compares values as they are stored.
func isEqual(a, b any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
