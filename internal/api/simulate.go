package api

import (
	"context"
	"net/http"
	"time"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// simulateInput is the body of POST /v1/routing/simulate.
type simulateInput struct {
	Rules   string             `json:"rules,omitempty" enum:"draft,published" doc:"Which rules are tried: the draft (the default) or those that count now."`
	Book    *ruleBook[request] `json:"book,omitempty" doc:"Rules to try instead; nothing of them is kept."`
	Version *wholeNumber       `json:"version,omitempty" minimum:"1" maximum:"1000000000" example:"2" doc:"A published version to try instead."`
	Last    *wholeNumber       `json:"last,omitempty" minimum:"1" maximum:"100000" example:"1000" doc:"How many shipments to look at, the newest first; 1000 if left out."`
	Since   string             `json:"since,omitempty" format:"date-time" doc:"Look at shipments created since then alone."`
}

// lastByDefault is how many shipments a simulation looks at.
const lastByDefault = 1000

type simulateRequest struct{ Body *simulateInput }

// simulateRules handles POST /v1/routing/simulate.
func (s *server) simulateRules(ctx context.Context, in *simulateRequest) (reply, error) {
	p := httpkit.From(ctx).Principal
	b := in.Body
	if b == nil {
		b = &simulateInput{}
	}
	order := rulebook.SimulateInput{Tenant: p.Tenant, Account: p.Account, Last: lastByDefault}
	if b.Last != nil {
		order.Last = int(*b.Last)
	}
	var err error
	if order.Since, err = b.check(); err != nil {
		return reply{}, err
	}
	place := ""
	if b.Book != nil {
		place = "/book"
	}
	if order.Rules, err = s.simulatedRules(ctx, p.Tenant, b); err != nil {
		return reply{}, under(place, err)
	}
	sim, err := s.Rules.Simulate(ctx, order)
	if err != nil {
		return reply{}, under(place, err)
	}
	return show(http.StatusOK, SimulationOf(sim))
}

// check refuses what the shape cannot see, and reads since.
func (in *simulateInput) check() (since time.Time, err error) {
	var wrong []ship.FieldError
	switch {
	case in.Book != nil && in.Rules != "":
		wrong = append(wrong, exclusive("/rules", "book, rules and version"))
	case in.Version != nil && (in.Book != nil || in.Rules != ""):
		wrong = append(wrong, exclusive("/version", "book, rules and version"))
	}
	if in.Since != "" {
		if since, err = time.Parse(time.RFC3339Nano, in.Since); err != nil {
			wrong = append(wrong, ship.FieldError{Pointer: "/since", Code: "invalid_format", Detail: "is not a time of RFC 3339"})
		}
	}
	return since, ship.InvalidFields(wrong)
}

// simulatedRules are the rules that a simulation asks for.
func (s *server) simulatedRules(ctx context.Context, t ship.Tenant, in *simulateInput) (routing.Book, error) {
	switch {
	case in.Book != nil:
		return bookOf(*in.Book)
	case in.Version != nil:
		v, err := s.Rules.Published(ctx, t, int(*in.Version))
		return v.Rules, err
	case in.Rules == "published":
		v, err := s.Rules.Published(ctx, t, 0)
		if ship.KindOf(err) == ship.NotFound {
			return routing.Book{}, nil // the cheapest counts
		}
		return v.Rules, err
	}
	v, err := s.Rules.Draft(ctx, t)
	return v.Rules, err
}
