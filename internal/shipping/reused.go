package shipping

import (
	"bytes"
	"cmp"
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
	return s.refuseReuse(ctx, in, shipmentOf(entry), "a restore of the database lost that shipment until somebody decides about it, or until its request is repeated")
}

// shipmentOf is the shipment of an entry, as far as requests are compared with it.
func shipmentOf(entry restore.Entry) ship.Shipment {
	return ship.Shipment{
		ID:       entry.Shipment,
		Tenant:   entry.Tenant,
		Order:    entry.Order,
		Purchase: entry.Purchase,
	}
}

// repeatsAdopted reports whether the request is the one of a purchase that was adopted
// without a fingerprint, from an entry of an older release.
func (s *Service) repeatsAdopted(ctx context.Context, in BuyInput, earlier store.IdempotencyRecord) bool {
	if earlier.Shipment == "" || earlier.Fingerprint != [32]byte{} {
		return false
	}
	shipment, err := s.store.Shipment(ctx, in.Tenant, earlier.Shipment)
	if err != nil {
		return false
	}
	compared := s.compare(ctx, in, shipment)
	return len(compared.differing) == 0 && !compared.isPartial
}

func (s *Service) refuseReuse(ctx context.Context, in BuyInput, shipment ship.Shipment, advice string) error {
	refusal := keyReused()
	refusal.Message = fmt.Sprintf("the idempotency key was already used for shipment %s, and nothing was bought now; %s", shipment.ID, advice)
	refusal.Details = map[string]any{"shipmentId": string(shipment.ID)}
	refusal.Fields = s.compare(ctx, in, shipment).differing
	return refusal
}

// A comparison says how a request differs from the one that a shipment was bought with.
type comparison struct {
	differing []ship.FieldError

	// isPartial says that something which decides what is sent where could not be
	// compared: it is not stored as the client wrote it.
	isPartial bool
}

func (c *comparison) check(pointer string, isSame bool) {
	if !isSame {
		c.differing = append(c.differing, ship.FieldError{
			Pointer: pointer,
			Code:    "idempotency_key_reused",
			Detail:  "is not what the shipment was bought with",
		})
	}
}

// compare compares a request with a shipment, as far as the client wrote it: what it left
// out may have come from settings that have changed since. What is not stored as the
// client wrote it is left out rather than named wrongly.
func (s *Service) compare(ctx context.Context, in BuyInput, shipment ship.Shipment) comparison {
	purchase := shipment.Purchase
	var c comparison
	if in.RateID != "" {
		rate, isKnown := s.quoting.QuotedRate(ctx, in.Tenant, in.RateID)
		c.check("/rateId", isKnown && rate.Carrier == purchase.Carrier && rate.Service == purchase.Service && rate.Connection == purchase.Connection)
	}
	c.check("/carrier", in.Carrier == "" || in.Carrier == purchase.Carrier)
	c.check("/service", in.Service == "" || in.Service == purchase.Service)
	c.check("/connectionId", in.Connection == "" || in.Connection == purchase.Connection)

	now := shipment.ID.Raw().Time()
	asked := in.Order
	isLocated := s.quoting.Locate(ctx, in.Tenant, &asked) == nil
	order, err := asked.Normalize(ship.Normalizing{Tenant: in.Tenant, Account: in.Account, OneParcel: in.OneParcel, Now: now})
	if err != nil || !isLocated || shipment.IsErased {
		c.isPartial = true
		return c
	}

	bought := shipment.Order
	wroteOrigin := !isEqual(in.Order.Origin, ship.Address{}) || in.Order.NamesLocation()
	parcels := "/parcels"
	if in.OneParcel {
		parcels = "/parcel"
	}
	c.check("/orderId", order.OrderID == bought.OrderID)
	c.check("/origin", !wroteOrigin || isEqual(order.Origin, bought.Origin))
	c.compareDestination(order.Destination, shipment)
	c.check(parcels, isEqual(order.Parcels, bought.Parcels))
	c.compareOptions(order.Options, shipment)
	c.check("/customs", isEqual(order.Customs, bought.Customs))
	c.check("/billing", isEqual(order.Billing, bought.Billing))
	c.check("/reference", order.Reference == bought.Reference)
	c.check("/isReturn", order.IsReturn == bought.IsReturn)
	c.check("/shipDate", in.Order.ShipDate == "" || order.ShipDate == bought.ShipDate)
	c.check("/deliverBy", order.DeliverBy == bought.DeliverBy)
	c.check("/labelFormat", in.Order.LabelFormat == "" || order.LabelFormat == bought.LabelFormat)
	c.check("/maxAmount", in.RateID != "" || !differsInLimit(in, purchase))
	c.check("/addressValidation", !differsInValidation(in, purchase))
	c.check("/onDuplicateOrder", !differsOnDuplicate(in, purchase))
	c.check("/metadata", len(order.Metadata) == 0 && len(bought.Metadata) == 0 || isEqual(order.Metadata, bought.Metadata))
	return c
}

// compareDestination compares where a request goes. Of a destination that was corrected, only
// who it is for is known as the client wrote it.
func (c *comparison) compareDestination(asked ship.Address, shipment ship.Shipment) {
	bought := shipment.Order.Destination
	if isEqual(asked, bought) {
		return
	}

	isSomebodyElse := asked.Name != bought.Name || asked.Company != bought.Company || asked.Country != bought.Country
	if isCorrected(shipment.Purchase) && !isSomebodyElse {
		c.isPartial = true
		return
	}
	c.check("/destination", false)
}

// compareOptions compares options without a signature that rules have required. Requests in
// the recovery logs of older releases do not say whether rules did.
func (c *comparison) compareOptions(asked ship.Options, shipment ship.Shipment) {
	bought := shipment.Order.Options
	routing := shipment.Purchase.Routing
	if routing.Raised != nil {
		bought.Signature = routing.Raised.From
	}
	if routing.Strategy == "" && routing.Raised == nil && asked.Signature != bought.Signature {
		bought.Signature = asked.Signature
		c.isPartial = true
	}
	c.check("/options", isEqual(asked, bought))
}

// differsInLimit reports whether the client is known to have written another amount. The
// limits of its key, or an approval, may have lowered what is stored; older releases did not
// keep the client's own.
func differsInLimit(in BuyInput, purchase ship.Purchase) bool {
	if in.MaxAmount.IsZero() {
		return false
	}
	if purchase.Asked.Limit != nil {
		return in.MaxAmount != *purchase.Asked.Limit
	}

	mayBeLowered := purchase.Approval != "" || !in.Limits.PerPurchase.IsZero() || !in.Limits.ApprovalAbove.IsZero()
	if mayBeLowered && !purchase.Limit.IsZero() {
		isBelow := in.MaxAmount.Currency == purchase.Limit.Currency && in.MaxAmount.Minor < purchase.Limit.Minor
		return isBelow
	}
	return in.MaxAmount != purchase.Limit
}

func differsInValidation(in BuyInput, purchase ship.Purchase) bool {
	asked := AddressValidation(purchase.Asked.AddressValidation)
	if asked == "" && isCorrected(purchase) {
		asked = ValidationCorrect
	}
	return asked != "" && cmp.Or(in.AddressValidation, ValidationWarn) != asked
}

func differsOnDuplicate(in BuyInput, purchase ship.Purchase) bool {
	asked := purchase.Asked.OnDuplicate
	return asked != "" && cmp.Or(in.OnDuplicate, "allow") != asked
}

// isEqual compares values as they are stored.
func isEqual(a, b any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
