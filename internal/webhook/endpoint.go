package webhook

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Why an endpoint is disabled.
const (
	DisabledByClient = "client"  // the client switched it off
	DisabledGone     = "gone"    // it answered 410
	DisabledFailing  = "failing" // it has failed for days
)

// rotationTime is how long the old secret stays good after a rotation.
const rotationTime = 24 * time.Hour

// An Endpoint is a webhook endpoint as its owner sees it.
type Endpoint struct {
	ID            ship.EndpointID
	Tenant        ship.Tenant
	URL           string
	Kinds         []ship.EventKind // none means all
	Description   string
	HeaderNames   []string // the values are not shown
	Signature     string
	Secret        string // only in the answer that makes it, and only if v1 is used
	PublicKey     string // if v1a is used
	PreviousUntil time.Time

	Enabled        bool
	DisabledReason string
	Verified       bool
	Parked         bool
	Failures       int
	FailingSince   time.Time
	LastSuccessAt  time.Time
}

// CreatedAt is when the endpoint was created.
func (e Endpoint) CreatedAt() time.Time { return e.ID.Raw().Time() }

// Settings are what can be said of an endpoint; nil leaves a thing as it is.
type Settings struct {
	URL         *string
	Kinds       []ship.EventKind // "*" means all
	Description *string
	Headers     map[string]string // replaces all; empty and not nil removes them
	Signature   *string
	Enabled     *bool
}

// action is what the audit log calls the change.
func (set Settings) action() string {
	switch {
	case set.Enabled == nil || set.URL != nil || set.Kinds != nil || set.Description != nil || set.Headers != nil || set.Signature != nil:
		return "webhook.changed"
	case *set.Enabled:
		return "webhook.enabled"
	}
	return "webhook.disabled"
}

// Create makes an endpoint. It is told of events from now on, and its secret
// is returned in clear this once.
func (s *Service) Create(ctx context.Context, t ship.Tenant, set Settings) (Endpoint, error) {
	e := store.Endpoint{ID: ship.NewEndpointID(t.Shard(), time.Now()), Tenant: t}
	e.Signature, e.Enabled = SignV1, true
	if set.URL == nil {
		set.URL = new("")
	}
	if err := s.apply(&e, set); err != nil {
		return Endpoint{}, err
	}
	key := newKeyMaterial()
	e.Secret = s.sealSecret(e, key)
	e, err := s.store.AddEndpoint(ctx, t, e.ID, e.EndpointSettings)
	if err != nil {
		return Endpoint{}, err
	}
	return s.shownWithSecret(e, key)
}

// Endpoints lists the tenant's endpoints, newest first.
func (s *Service) Endpoints(ctx context.Context, t ship.Tenant) ([]Endpoint, error) {
	rows, err := s.store.Endpoints(ctx, t)
	if err != nil {
		return nil, err
	}
	list := make([]Endpoint, len(rows))
	for i, e := range rows {
		if list[i], err = s.shown(e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Endpoint returns one.
func (s *Service) Endpoint(ctx context.Context, t ship.Tenant, id ship.EndpointID) (Endpoint, error) {
	e, err := s.store.Endpoint(ctx, t, id)
	if err != nil {
		return Endpoint{}, notFound(err)
	}
	return s.shown(e)
}

// Update changes an endpoint. One that is switched off keeps what it waits
// for; switched on again, it goes on from there, as far back as the log
// reaches.
func (s *Service) Update(ctx context.Context, t ship.Tenant, id ship.EndpointID, set Settings) (Endpoint, error) {
	e, err := s.store.ChangeEndpoint(ctx, t, id, set.action(), func(e *store.Endpoint) error {
		if err := s.apply(e, set); err != nil {
			return err
		}
		return s.sealAgain(e)
	})
	if err != nil {
		return Endpoint{}, notFound(err)
	}
	return s.shown(e)
}

// Delete ends an endpoint, and what it waits for.
func (s *Service) Delete(ctx context.Context, t ship.Tenant, id ship.EndpointID) error {
	return notFound(s.store.DropEndpoint(ctx, t, id))
}

// RotateSecret gives an endpoint a new secret, which is returned in clear this
// once. For a day, events are signed with the old one too.
func (s *Service) RotateSecret(ctx context.Context, t ship.Tenant, id ship.EndpointID) (Endpoint, error) {
	key := newKeyMaterial()
	e, err := s.store.ChangeEndpoint(ctx, t, id, "webhook.secret_rotated", func(e *store.Endpoint) error {
		if err := s.sealAgain(e); err != nil {
			return err
		}
		e.Previous, e.PreviousUntil = e.Secret, time.Now().Add(rotationTime)
		e.Secret = s.sealSecret(*e, key)
		return nil
	})
	if err != nil {
		return Endpoint{}, notFound(err)
	}
	return s.shownWithSecret(e, key)
}

// Deliveries lists the attempts to tell an endpoint, newest first, and reports
// whether there are more.
func (s *Service) Deliveries(ctx context.Context, t ship.Tenant, id ship.EndpointID, p ship.Page) ([]Attempt, bool, error) {
	if _, err := s.store.Endpoint(ctx, t, id); err != nil {
		return nil, false, notFound(err)
	}
	wanted := p.Limit
	p.Limit++
	rows, err := s.store.WebhookAttempts(ctx, t, id, p)
	list := make([]Attempt, min(len(rows), wanted))
	for i := range list {
		list[i].WebhookAttempt = rows[i]
	}
	return list, len(rows) > wanted, err
}

func notFound(err error) error {
	if ship.KindOf(err) == ship.NotFound {
		return ship.Coded(ship.NotFound, "webhook_not_found", "no such webhook")
	}
	return err
}

// shown is a stored endpoint as its owner sees it.
func (s *Service) shown(e store.Endpoint) (Endpoint, error) {
	out := Endpoint{
		ID: e.ID, Tenant: e.Tenant, URL: e.URL, Kinds: e.Kinds, Description: e.Description, Signature: e.Signature,
		Enabled: e.Enabled, DisabledReason: e.DisabledReason, Verified: e.Verified, Parked: e.Parked,
		Failures: e.Failures, FailingSince: e.FailingSince, LastSuccessAt: e.LastSuccessAt,
	}
	if time.Now().Before(e.PreviousUntil) {
		out.PreviousUntil = e.PreviousUntil
	}
	headers, err := s.openHeaders(e)
	if err != nil {
		return out, err
	}
	out.HeaderNames = headerNames(headers)
	if e.Signature != SignV1 {
		key, err := s.openSecret(e, e.Secret)
		if err != nil {
			return out, err
		}
		out.PublicKey = key.publicKey()
	}
	return out, nil
}

func (s *Service) shownWithSecret(e store.Endpoint, key keyMaterial) (Endpoint, error) {
	out, err := s.shown(e)
	if e.Signature != SignV1a {
		out.Secret = key.secret()
	}
	return out, err
}
