package webhook

import (
	"context"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Why an endpoint is disabled.
const (
	DisabledByClient = "client"  // the client disabled it
	DisabledGone     = "gone"    // it answered 410
	DisabledFailing  = "failing" // it has failed for days
)

// rotationTime is how long the old secret stays valid after a rotation.
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
	Format        string // of another API, in which events are sent and signed; empty for the service's own
	Secret        string // only in the answer that creates it, and only if v1 is used
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

// CreatedAt returns when the endpoint was created.
func (e Endpoint) CreatedAt() time.Time { return e.ID.Raw().Time() }

// Settings are what a client can set of an endpoint; nil leaves a setting as it
// is.
type Settings struct {
	URL         *string
	Kinds       []ship.EventKind // "*" means all
	Description *string
	Headers     map[string]string // replaces all; empty and not nil removes them. Required with a new URL if there are any
	Signature   *string
	Enabled     *bool
	Secret      *string // the client's own, of an endpoint with a Format; it is not shown again
}

// action returns what the audit log calls the change.
func (set Settings) action() string {
	changesMore := set.URL != nil || set.Kinds != nil || set.Description != nil || set.Headers != nil || set.Signature != nil || set.Secret != nil
	switch {
	case set.Enabled == nil || changesMore:
		return "webhook.changed"
	case *set.Enabled:
		return "webhook.enabled"
	}
	return "webhook.disabled"
}

// Create makes an endpoint. It receives events from now on, and its secret is
// returned in clear this once.
func (s *Service) Create(ctx context.Context, t ship.Tenant, set Settings) (Endpoint, error) {
	row := store.Endpoint{ID: ship.NewEndpointID(t.Shard(), time.Now()), Tenant: t}
	row.Signature = SignV1
	row.Enabled = true

	// A missing address is reported like an empty one.
	if set.URL == nil {
		set.URL = new("")
	}
	if err := s.apply(&row, set); err != nil {
		return Endpoint{}, err
	}

	// The client of another format knows its secret already.
	if s.hasFormat(row.Signature) {
		row, err := s.store.AddEndpoint(ctx, t, row.ID, row.EndpointSettings)
		if err != nil {
			return Endpoint{}, err
		}
		return s.view(row)
	}

	key := newKeyMaterial()
	row.Secret = s.sealSecret(row, key[:])
	row, err := s.store.AddEndpoint(ctx, t, row.ID, row.EndpointSettings)
	if err != nil {
		return Endpoint{}, err
	}
	return s.viewWithSecret(row, key)
}

// Endpoints lists the tenant's endpoints, newest first.
func (s *Service) Endpoints(ctx context.Context, t ship.Tenant) ([]Endpoint, error) {
	rows, err := s.store.Endpoints(ctx, t)
	if err != nil {
		return nil, err
	}

	list := make([]Endpoint, len(rows))
	for i, row := range rows {
		if list[i], err = s.view(row); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Endpoint returns one.
func (s *Service) Endpoint(ctx context.Context, t ship.Tenant, id ship.EndpointID) (Endpoint, error) {
	row, err := s.store.Endpoint(ctx, t, id)
	if err != nil {
		return Endpoint{}, notFound(err)
	}
	return s.view(row)
}

// Update changes an endpoint. A disabled endpoint keeps its pending events.
// Once it is enabled again, it continues from there, as far back as the log
// reaches.
func (s *Service) Update(ctx context.Context, t ship.Tenant, id ship.EndpointID, set Settings) (Endpoint, error) {
	changed, err := s.store.ChangeEndpoint(ctx, t, id, set.action(), func(row *store.Endpoint) error {
		if err := s.apply(row, set); err != nil {
			return err
		}
		return s.reseal(row)
	})
	if err != nil {
		return Endpoint{}, notFound(err)
	}
	return s.view(changed)
}

// Delete removes an endpoint and its pending events.
func (s *Service) Delete(ctx context.Context, t ship.Tenant, id ship.EndpointID) error {
	return notFound(s.store.DropEndpoint(ctx, t, id))
}

// RotateSecret gives an endpoint a new secret, which is returned in clear this
// once. For a day, events are signed with the old one too.
func (s *Service) RotateSecret(ctx context.Context, t ship.Tenant, id ship.EndpointID) (Endpoint, error) {
	key := newKeyMaterial()
	changed, err := s.store.ChangeEndpoint(ctx, t, id, "webhook.secret_rotated", func(row *store.Endpoint) error {
		if s.hasFormat(row.Signature) {
			return ship.Coded(ship.Conflict, "conflict", "the secret of this webhook is the client's own: change it where the webhook was created")
		}
		if err := s.reseal(row); err != nil {
			return err
		}
		row.Previous = row.Secret
		row.PreviousUntil = time.Now().Add(rotationTime)
		row.Secret = s.sealSecret(*row, key[:])
		return nil
	})
	if err != nil {
		return Endpoint{}, notFound(err)
	}
	return s.viewWithSecret(changed, key)
}

// Deliveries lists the attempts to deliver to an endpoint, newest first, and
// reports whether there are more.
func (s *Service) Deliveries(ctx context.Context, t ship.Tenant, id ship.EndpointID, page ship.Page) ([]Attempt, bool, error) {
	if _, err := s.store.Endpoint(ctx, t, id); err != nil {
		return nil, false, notFound(err)
	}

	// One row more than a page says whether there are more.
	wanted := page.Limit
	page.Limit++
	rows, err := s.store.WebhookAttempts(ctx, t, id, page)

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

// view returns a stored endpoint as its owner sees it.
func (s *Service) view(row store.Endpoint) (Endpoint, error) {
	endpoint := Endpoint{
		ID:             row.ID,
		Tenant:         row.Tenant,
		URL:            row.URL,
		Kinds:          row.Kinds,
		Description:    row.Description,
		Signature:      row.Signature,
		Enabled:        row.Enabled,
		DisabledReason: row.DisabledReason,
		Verified:       row.Verified,
		Parked:         row.Parked,
		Failures:       row.Failures,
		FailingSince:   row.FailingSince,
		LastSuccessAt:  row.LastSuccessAt,
	}
	if s.hasFormat(row.Signature) {
		endpoint.Format = row.Signature
	}
	if time.Now().Before(row.PreviousUntil) {
		endpoint.PreviousUntil = row.PreviousUntil
	}

	// The values may be credentials of the receiver, so only the names are
	// shown.
	headers, err := s.openHeaders(row)
	if err != nil {
		return endpoint, err
	}
	endpoint.HeaderNames = headerNames(headers)

	if row.Signature != SignV1 && !s.hasFormat(row.Signature) {
		key, err := s.openKeyMaterial(row, row.Secret)
		if err != nil {
			return endpoint, err
		}
		endpoint.PublicKey = key.publicKey()
	}
	return endpoint, nil
}

// viewWithSecret is view with the shared secret in clear.
func (s *Service) viewWithSecret(row store.Endpoint, key keyMaterial) (Endpoint, error) {
	endpoint, err := s.view(row)
	if row.Signature != SignV1a {
		endpoint.Secret = key.secret()
	}
	return endpoint, err
}
