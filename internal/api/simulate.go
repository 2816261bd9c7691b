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
	Rules   string             `json:"rules,omitempty" enum:"draft,published" doc:"Which rules to simulate: the draft (the default) or the active rules (published)."`
	Book    *ruleBook[request] `json:"book,omitempty" doc:"Rules to use instead; they are not stored."`
	Version *wholeNumber       `json:"version,omitempty" minimum:"1" maximum:"1000000000" example:"2" doc:"A published version to use instead."`
	Last    *wholeNumber       `json:"last,omitempty" minimum:"1" maximum:"100000" example:"1000" doc:"Number of shipments to simulate, newest first; 1000 by default."`
	Since   string             `json:"since,omitempty" format:"date-time" doc:"Only shipments created since this time."`
}

// lastByDefault is how many shipments a simulation looks at unless the request
// says otherwise.
const lastByDefault = 1000

type simulateRequest struct{ Body *simulateInput }

// simulateRules handles POST /v1/routing/simulate.
func (s *server) simulateRules(ctx context.Context, in *simulateRequest) (reply, error) {
	caller := httpkit.From(ctx).Principal
	body := in.Body
	if body == nil {
		body = &simulateInput{}
	}
	input := rulebook.SimulateInput{Tenant: caller.Tenant, Account: caller.Account, Last: lastByDefault}
	if body.Last != nil {
		input.Last = int(*body.Last)
	}

	var err error
	if input.Since, err = body.check(); err != nil {
		return reply{}, err
	}

	// Errors in rules of the request point into its book; other rules are not
	// in the body.
	prefix := ""
	if body.Book != nil {
		prefix = "/book"
	}
	if input.Rules, err = s.simulatedRules(ctx, caller.Tenant, body); err != nil {
		return reply{}, withPointerPrefix(prefix, err)
	}

	simulation, err := s.Rules.Simulate(ctx, input)
	if err != nil {
		return reply{}, withPointerPrefix(prefix, err)
	}
	return jsonReply(http.StatusOK, SimulationOf(simulation))
}

// check refuses what the schema cannot express, and reads since.
func (in *simulateInput) check() (since time.Time, err error) {
	var invalid []ship.FieldError
	switch {
	case in.Book != nil && in.Rules != "":
		invalid = append(invalid, exclusiveError("/rules", "book, rules and version"))
	case in.Version != nil && (in.Book != nil || in.Rules != ""):
		invalid = append(invalid, exclusiveError("/version", "book, rules and version"))
	}

	if in.Since != "" {
		if since, err = time.Parse(time.RFC3339Nano, in.Since); err != nil {
			invalid = append(invalid, ship.FieldError{Pointer: "/since", Code: "invalid_format", Detail: "must be an RFC 3339 time, such as 2026-03-31T12:00:00Z"})
		}
	}
	return since, ship.InvalidFields(invalid)
}

// simulatedRules returns the rules that a simulation asks for.
func (s *server) simulatedRules(ctx context.Context, tenant ship.Tenant, in *simulateInput) (routing.Book, error) {
	switch {
	case in.Book != nil:
		return decodeBook(*in.Book)

	case in.Version != nil:
		version, err := s.Rules.Published(ctx, tenant, int(*in.Version))
		return version.Rules, err

	case in.Rules == "published":
		version, err := s.Rules.Published(ctx, tenant, 0)
		if ship.KindOf(err) == ship.NotFound {
			return routing.Book{}, nil // without rules the cheapest offer is bought
		}
		return version.Rules, err
	}

	draft, err := s.Rules.Draft(ctx, tenant)
	return draft.Rules, err
}
