// Package compat keeps what clients of another shipping API expect a service to
// keep: addresses, parcels and customs declarations that they name by id, and
// shipments that are rated first and bought later.
//
// It also decides how often such a shipment may be bought. Those clients send no
// idempotency key and repeat requests whose answer they lost, so a rated shipment
// is itself the key: it buys one label, and may be tried again only after a
// carrier has declined.
package compat

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// How long objects are kept. A shipment that nobody buys is a quote, and so is what is
// made in test mode; everything else is kept as long as shipments are.
const (
	quoteKept  = 30 * 24 * time.Hour
	objectKept = 400 * 24 * time.Hour
)

// Shipment is the kind of objects that can be bought.
const Shipment = "shipment"

// Service keeps the objects.
type Service struct {
	store *store.Store
}

// New returns a service.
func New(st *store.Store) *Service { return &Service{store: st} }

// An Object is something that a client created.
type Object = store.CompatObject

// A Filter narrows a list of objects.
type Filter = store.CompatFilter

// NewObject returns an object that is not stored yet.
func NewObject(t ship.Tenant, kind string, now time.Time) Object {
	kept := objectKept
	if kind == Shipment || !t.Livemode {
		kept = quoteKept
	}
	return Object{
		ID:         ship.NewRawID(t.Shard(), now),
		Kind:       kind,
		Attempt:    1,
		KeyVersion: ship.ServiceKeys,
		ExpiresAt:  now.Add(kept),
	}
}

// Add stores new objects, all or none.
func (s *Service) Add(ctx context.Context, t ship.Tenant, objects ...Object) error {
	return s.store.AddCompatObjects(ctx, t, objects...)
}

// Save replaces the body of an object that is not bought.
func (s *Service) Save(ctx context.Context, t ship.Tenant, object Object) error {
	return s.store.SaveCompatObject(ctx, t, object)
}

// Object returns an object; ship.NotFound if there is none.
func (s *Service) Object(ctx context.Context, t ship.Tenant, kind string, id ship.RawID) (Object, error) {
	object, err := s.store.CompatObject(ctx, t, kind, id)
	if err != nil || kind != Shipment {
		return object, err
	}
	return s.withPurchase(ctx, t, object)
}

// ByReference returns the newest object with the client's reference; ship.NotFound
// if there is none.
func (s *Service) ByReference(ctx context.Context, t ship.Tenant, kind, reference string) (Object, error) {
	object, err := s.store.CompatObjectByReference(ctx, t, kind, reference)
	if err != nil || kind != Shipment {
		return object, err
	}
	return s.withPurchase(ctx, t, object)
}

// Objects lists objects, newest first, and reports whether there are more.
func (s *Service) Objects(ctx context.Context, t ship.Tenant, f Filter) (list []Object, more bool, err error) {
	wanted := f.Limit
	f.Limit++ // one row more than a page says whether there are more
	list, err = s.store.CompatObjects(ctx, t, f)
	if len(list) > wanted {
		return list[:wanted], true, err
	}
	return list, false, err
}

// Pending is the kind of objects that stand for a request that creates and buys in
// one call. Its id follows from the request, so a repeat finds the shipment of the
// first until the answer was seen to arrive.
const Pending = "pending"

// NewPending returns the object of such a request, by the key that sent it and its
// body.
func NewPending(t ship.Tenant, key ship.KeyID, request []byte, now time.Time) Object {
	sum := sha256.Sum256(append([]byte(string(key)+"\n"), request...))
	object := NewObject(t, Pending, now)
	copy(object.ID[:], sum[:])
	object.ExpiresAt = now.Add(quoteKept)
	return object
}

// Forget deletes an object.
func (s *Service) Forget(ctx context.Context, t ship.Tenant, object Object) error {
	return s.store.DeleteCompatObject(ctx, t, object.Kind, object.ID)
}

// Expire deletes the objects of all tenants that are past their time.
func (s *Service) Expire(ctx context.Context) error {
	return s.store.ExpireCompatObjects(ctx, time.Now())
}

// PurchaseNames returns the name under which a shipment is bought, and the one that
// copies of the release before this one give it. Both stay the same until a carrier
// has declined: a repeat finds the first purchase whichever rate it asks for. A
// shipment that those copies created keeps their name: the carrier's reference is
// derived from it.
func PurchaseNames(object Object) (name, former ship.KeyName) {
	id := object.ID.IDWithPrefix("shp_")
	attempt := strconv.Itoa(object.Attempt)

	plain := ship.NameOf("compat:" + id + ":" + attempt)
	if object.KeyVersion == ship.PlainKeys {
		return plain, ship.KeyName{}
	}
	return ship.NameOf(ship.ServiceKey(ship.KeyOfRatedShipment, id, attempt)), plain
}

// Bought records what a shipment was bought as, with the body that shows it.
func (s *Service) Bought(ctx context.Context, t ship.Tenant, object Object, shipment ship.ShipmentID, body json.RawMessage) (Object, error) {
	object.Shipment = shipment
	object.Body = body
	if t.Livemode {
		object.ExpiresAt = time.Now().Add(objectKept)
	}
	recorded, err := s.store.BindCompatObject(ctx, t, object)
	if err == nil && !recorded {
		return object, ship.Coded(ship.Conflict, "conflict", "the shipment was bought by another request; retrieve it")
	}
	return object, err
}

// Declined lets a shipment be bought again if its purchase has failed: nothing was
// sold under its key then, and nothing ever will be. Where no purchase is recorded,
// the key is still free, and another request may be about to use it.
func (s *Service) Declined(ctx context.Context, t ship.Tenant, object Object) error {
	shipment, err := s.purchase(ctx, t, object)
	if err != nil || shipment.State != ship.StateFailed {
		return err
	}
	return s.store.NextCompatAttempt(ctx, t, object.ID, object.Attempt)
}

// purchase returns the purchase under one of the shipment's names; the zero shipment
// if none is recorded.
func (s *Service) purchase(ctx context.Context, t ship.Tenant, object Object) (ship.Shipment, error) {
	name, former := PurchaseNames(object)
	id, err := s.store.PurchaseUnder(ctx, t, name, former)
	if err != nil || id == "" {
		return ship.Shipment{}, err
	}
	return s.store.Shipment(ctx, t, id)
}

// IsOpen reports whether the purchase of a shipment that has no label was begun and
// has not ended: it may still be bought.
func (s *Service) IsOpen(ctx context.Context, t ship.Tenant, object Object) (bool, error) {
	shipment, err := s.purchase(ctx, t, object)
	return shipment.ID != "" && shipment.State != ship.StateFailed, err
}

// withPurchase finds the purchase of a shipment whose request ended before it was
// recorded here: the process died, or the carrier answered after the client got
// the answer "in progress".
func (s *Service) withPurchase(ctx context.Context, t ship.Tenant, object Object) (Object, error) {
	if object.Shipment != "" {
		return object, nil
	}
	shipment, err := s.purchase(ctx, t, object)
	if err != nil || !shipment.State.Bought() {
		return object, err
	}
	return s.Bought(ctx, t, object, shipment.ID, object.Body)
}
