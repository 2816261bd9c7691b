package shipping

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// ReturnInput is a shipment whose parcels are to come back, and how.
type ReturnInput struct {
	BuyInput // its order follows from the shipment
	Shipment ship.ShipmentID
	Parcel   *ship.Parcel       // that comes back instead of the shipment's own
	Items    []ship.CustomsItem // likewise, of the declaration
	Metadata map[string]string  // that is added to the shipment's own
	BillOn   string             // "purchase" or "scan"; empty for whatever the carrier does
}

// Return buys a label that brings the parcels of a shipment back. It is a purchase
// like any other; AnotherReturn of the input allows a second one.
func (s *Service) Return(ctx context.Context, in ReturnInput) (Bought, error) {
	order, err := s.returnOrder(ctx, in)
	if err != nil {
		// The first answer counts, whatever became of the shipment since.
		in.rememberUnnamed()
		recalled, err := s.recallOr(ctx, in.BuyInput, err)
		if err != nil {
			return recalled, err
		}
		recalled.Shipment, err = s.withApproval(ctx, recalled.Shipment)
		return recalled, err
	}

	in.Order = order
	in.OneParcel = len(order.Parcels) == 1
	return s.Buy(ctx, in.BuyInput)
}

// returnOrder is what is to be bought for a return.
func (s *Service) returnOrder(ctx context.Context, in ReturnInput) (ship.Order, error) {
	if err := s.checkBilling(ctx, in); err != nil {
		return ship.Order{}, err
	}
	returned, err := s.Shipment(ctx, in.Tenant, in.Shipment)
	if err != nil {
		return ship.Order{}, err
	}

	order := returned.ReturnOrder()
	if in.Parcel != nil {
		order.ReplaceParcels([]ship.Parcel{*in.Parcel}, in.Account.Units)
	}
	if len(in.Items) > 0 {
		if order.Customs == nil {
			order.Customs = &ship.Customs{ContentsType: "returned_goods"}
		}
		order.Customs.Items = in.Items
	}
	if len(in.Metadata) > 0 {
		if order.Metadata == nil {
			order.Metadata = map[string]string{}
		}
		maps.Copy(order.Metadata, in.Metadata)
	}
	return order, nil
}

// checkBilling refuses a way of billing that the carrier is not known to use.
// Carriers do not let us choose: a label that is billed in another way than the
// client was promised would cost money that nobody expects.
func (s *Service) checkBilling(ctx context.Context, in ReturnInput) error {
	if in.BillOn == "" {
		return nil
	}
	if in.Carrier == "" {
		return ship.InvalidFields([]ship.FieldError{{
			Pointer: "/carrier",
			Code:    "required",
			Detail:  "is required with billOn, because each carrier bills returns in its own way",
		}})
	}

	all, err := s.accounts.List(ctx, in.Tenant)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c *carrier.Carrier) bool { return c.Spec().Name == in.Carrier })
	if i < 0 || string(all[i].Spec().ReturnsBilledOn) == in.BillOn {
		return nil // an unknown carrier is reported with the purchase
	}

	spec := all[i].Spec()
	detail := spec.Title + " does not document when it bills returns; omit billOn"
	if spec.ReturnsBilledOn != "" {
		detail = spec.Title + " bills returns only on " + string(spec.ReturnsBilledOn)
	}
	return ship.InvalidFields([]ship.FieldError{{
		Pointer: "/billOn",
		Code:    "unsupported",
		Detail:  detail,
		Carrier: spec.Name,
	}})
}

// checkReturn reports why nothing can be bought as a return; nil if the purchase
// is none, or may be made.
func (s *Service) checkReturn(ctx context.Context, in *BuyInput) error {
	returned := in.Order.ReturnOf
	if returned == "" {
		return nil
	}
	shipment, err := s.Shipment(ctx, in.Tenant, returned)
	if err != nil {
		return err
	}
	if reason := notReturnable(shipment); reason != "" {
		return ship.Coded(ship.Conflict, "not_returnable", "the shipment cannot be returned: %s", reason)
	}

	// The purchase asks again, under a lock. This spares the carriers.
	existing, err := s.store.LiveReturn(ctx, in.Tenant, returned)
	if err != nil || existing == "" || in.AnotherReturn {
		return err
	}
	return returnExists(existing)
}

// notReturnable says why a shipment cannot be returned; "" if it can.
func notReturnable(shipment ship.Shipment) string {
	switch {
	case shipment.IsErased:
		return "its personal data was erased, so the addresses are not known"
	case shipment.Order.IsReturn:
		return "it is a return itself; create a shipment to send the parcel again"
	case shipment.State == ship.StatePurchased:
		return ""
	case shipment.State.Bought():
		return "its label was voided, or is about to be"
	case shipment.State == ship.StateFailed:
		return "its label was not bought"
	}
	return "its purchase has not finished; it is " + strings.ReplaceAll(shipment.State.LabelStatus(), "_", " ")
}

// returnExists is the answer to a return of a shipment that has one already.
func returnExists(id ship.ShipmentID) error {
	e := ship.Coded(ship.Conflict, "return_exists",
		`the shipment already has a return, %s; void it first, or send "again": true to buy another`, id)
	e.Details = map[string]any{"returnId": string(id)}
	return e
}

// writeReturn writes the purchase of a return, unless the shipment has a return. That
// is decided under a lock: two requests for the shipment wait for each other,
// whatever their idempotency keys are.
func (s *Service) writeReturn(ctx context.Context, b *buying, write func(*store.Store) error) (*Bought, error) {
	err := s.store.InTx(ctx, b.in.Tenant, func(tx *store.Store) error {
		if err := claimReturn(ctx, tx, b); err != nil {
			return err
		}
		return write(tx)
	})

	// The return that exists may be that of this very request, sent twice at
	// once.
	if ship.CodeOf(err) == "return_exists" {
		earlier, err := s.recallOr(ctx, b.in, err)
		return &earlier, err
	}
	return s.earlierIfTaken(ctx, b.in, err)
}

// claimReturn locks the returns of a shipment for the transaction, and refuses
// another one unless the client wants that.
func claimReturn(ctx context.Context, tx *store.Store, b *buying) error {
	existing, err := tx.LockReturns(ctx, b.in.Tenant, b.shipment.Order.ReturnOf, b.shipment.ID)
	if err != nil || existing == "" || b.in.AnotherReturn {
		return err
	}
	return returnExists(existing)
}

// recordReturn records of which shipment this one is a return, if it is one, in the
// transaction that records its purchase.
func recordReturn(ctx context.Context, tx *store.Store, shipment ship.Shipment) error {
	if shipment.Order.ReturnOf == "" {
		return nil
	}
	return tx.RecordReturn(ctx, shipment)
}

// isReturn reports whether the purchase brings back the parcels of a shipment.
func (b *buying) isReturn() bool { return b.shipment.Order.ReturnOf != "" }

// duplicateOf is what a client is shown of an earlier shipment of the order. A
// return duplicates nothing.
func (b *buying) duplicateOf(found ship.ShipmentID) ship.ShipmentID {
	if b.isReturn() {
		return ""
	}
	return found
}

// Returns lists the returns of a shipment, newest first.
func (s *Service) Returns(ctx context.Context, t ship.Tenant, id ship.ShipmentID) ([]ship.ShipmentID, error) {
	return s.store.Returns(ctx, t, id)
}
