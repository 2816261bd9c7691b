// Package returns lets recipients send parcels back: an account's rule says who may
// ask, until when and for which reasons, and a person or the rule itself approves.
//
// A request is written before anything is bought. Its id and the number of its
// approval are the idempotency key of the purchase, so a return is bought once,
// however often the form is sent or a worker dies. The purchase itself is that of
// any return: this package is handed a function for it.
package returns

import (
	"context"
	"log/slog"
	"time"

	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Config is what a Service needs.
type Config struct {
	Store *store.Store
	Log   *slog.Logger

	// Buy buys a return under an idempotency key. Asked again, it answers with
	// what became of the purchase.
	Buy func(context.Context, Purchase) (Bought, error)

	// LabelLink returns an address of the label that needs no key, and when it
	// ends.
	LabelLink func(ctx context.Context, t ship.Tenant, id ship.ShipmentID) (address string, until time.Time, err error)

	// PageURL returns the address of a shipment's tracking page.
	PageURL func(context.Context, ship.Shipment) (string, error)

	// Sender returns the name of an account, as recipients know it.
	Sender func(context.Context, ship.AccountID) (string, error)

	// Mail sends a text; nil without a mail server.
	Mail func(ctx context.Context, to []string, subject, text string) error

	// Observe is called when a request gets into a state; nil calls nobody.
	Observe func(ship.ReturnState)
}

// A Purchase is a return that is to be bought.
type Purchase struct {
	Tenant      ship.Tenant
	Shipment    ship.ShipmentID // that comes back
	Spender     ship.Spender
	Carrier     string
	Service     string
	MaxAmount   ship.Money
	Key         string // of idempotency
	Fingerprint [32]byte
}

// Bought is what became of a purchase.
type Bought struct {
	Shipment ship.ShipmentID
	Pending  bool // whether the label was bought is not known yet
}

// Service keeps rules and requests.
type Service struct {
	Config
	now func() time.Time
}

// New returns a service.
func New(c Config) *Service {
	if c.Observe == nil {
		c.Observe = func(ship.ReturnState) {}
	}
	return &Service{Config: c, now: time.Now}
}

// Mails reports whether labels are mailed.
func (s *Service) Mails() bool { return s.Mail != nil }

// Rule returns the tenant's rule, or the default one, which is not enabled.
func (s *Service) Rule(ctx context.Context, t ship.Tenant) (ship.ReturnRule, error) {
	rule, err := s.Store.ReturnRule(ctx, t)
	if ship.KindOf(err) == ship.NotFound {
		return ship.DefaultReturnRule(), nil
	}
	return rule, err
}

// SaveRule replaces the tenant's rule. Requests that exist keep the terms that they
// were made under.
func (s *Service) SaveRule(ctx context.Context, t ship.Tenant, rule ship.ReturnRule) (ship.ReturnRule, error) {
	normalized, err := rule.Normalize()
	if err != nil {
		return ship.ReturnRule{}, err
	}
	if err := s.Store.SaveReturnRule(ctx, t, normalized); err != nil {
		return ship.ReturnRule{}, err
	}
	return s.Rule(ctx, t)
}

// Request returns a request.
func (s *Service) Request(ctx context.Context, t ship.Tenant, id ship.ReturnRequestID) (ship.ReturnRequest, error) {
	request, err := s.Store.ReturnRequest(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return request, ship.Coded(ship.NotFound, "return_request_not_found", "no such return request")
	}
	return request, err
}

// Requests lists requests, newest first; those in one state unless it is empty.
func (s *Service) Requests(ctx context.Context, t ship.Tenant, state ship.ReturnState, p ship.Page) ([]ship.ReturnRequest, error) {
	return s.Store.ReturnRequests(ctx, t, state, p)
}

// Approve approves a request; a job buys and sends the label. The label counts
// against the daily limit of the spender.
func (s *Service) Approve(ctx context.Context, t ship.Tenant, id ship.ReturnRequestID, spender ship.Spender) (ship.ReturnRequest, error) {
	err := s.Store.ApproveReturn(ctx, t, id, spender, fulfilment(t, id))
	return s.decided(ctx, t, id, err, "approved")
}

// Deny denies a request. The recipient reads the reason.
func (s *Service) Deny(ctx context.Context, t ship.Tenant, id ship.ReturnRequestID, reason string) (ship.ReturnRequest, error) {
	// The request comes first: the id of another account's must answer like one that
	// does not exist, whatever the reason is.
	if _, err := s.Request(ctx, t, id); err != nil {
		return ship.ReturnRequest{}, err
	}
	denial, err := ship.NormalizeDenial(reason)
	if err != nil {
		return ship.ReturnRequest{}, err
	}
	return s.decided(ctx, t, id, s.Store.DenyReturn(ctx, t, id, denial, fulfilment(t, id)), "denied")
}

// decided returns the request after a decision, or why it could not be made.
func (s *Service) decided(ctx context.Context, t ship.Tenant, id ship.ReturnRequestID, decision error, verb string) (ship.ReturnRequest, error) {
	if decision != nil && ship.KindOf(decision) != ship.Conflict {
		return ship.ReturnRequest{}, decision
	}
	request, err := s.Request(ctx, t, id)
	if err == nil && decision == nil {
		s.Observe(request.State)
	}
	if err != nil || decision == nil {
		return request, err
	}
	return ship.ReturnRequest{}, ship.Coded(ship.Conflict, "return_request_decided",
		"a return request with the status %s cannot be %s", request.State, verb)
}

// fulfilment is the job that buys and sends the label of a request, or mails that it
// was denied.
func fulfilment(t ship.Tenant, id ship.ReturnRequestID) job.FulfilReturn {
	return job.FulfilReturn{Account: t.Account, Livemode: t.Livemode, Request: id}
}
