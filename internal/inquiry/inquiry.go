// Package inquiry asks carriers for what is neither a price nor an address: proofs
// of delivery, service points and duties. It has no database, keeps no answer and
// buys nothing.
package inquiry

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// Service asks carriers.
type Service struct {
	accounts carrier.Accounts
	locate   Locate
}

// Locate gives an order that names a location the address of it.
type Locate func(context.Context, ship.Tenant, *ship.Order) error

// New returns a service that asks the carriers of the accounts.
func New(accounts carrier.Accounts, locate Locate) *Service {
	return &Service{accounts: accounts, locate: locate}
}

// A Failure is a carrier that did not answer.
type Failure struct {
	Carrier   string
	Code      string
	Reason    ship.NotQuotedReason
	RetryAt   time.Time         // when the carrier can be asked again; zero if that is not known
	Message   string            // names the carrier
	Fields    []ship.FieldError // that it objects to
	Refusal   ship.Refusal      // its own words
	Retryable bool
	Duration  time.Duration
}

// ableTo returns the tenant's carriers that have the ability, one account of each:
// the one that is named, or all. The words say what none of them offers.
func (s *Service) ableTo(ctx context.Context, t ship.Tenant, ability, named, words string) ([]*carrier.Carrier, error) {
	connected, err := s.accounts.List(ctx, t)
	if err != nil {
		return nil, err
	}

	var able []*carrier.Carrier
	var names []string
	for _, c := range connected {
		name := c.Spec().Name
		isAsked := slices.Contains(names, name) // what they answer does not depend on the account
		names = append(names, name)
		isNamed := named == "" || name == named
		if isNamed && !isAsked && slices.Contains(c.Abilities(), ability) {
			able = append(able, c)
		}
	}

	switch {
	case named != "" && !slices.Contains(names, named):
		return nil, ship.InvalidFields([]ship.FieldError{{
			Pointer:    "/carrier",
			Code:       "unknown_carrier",
			Detail:     "is not a carrier of this account",
			Suggestion: ship.Nearest(named, names),
		}})
	case named != "" && len(able) == 0:
		return nil, ship.InvalidFields([]ship.FieldError{{
			Pointer: "/carrier",
			Code:    "unsupported",
			Detail:  s.accounts.Title(named) + " does not offer " + words,
			Carrier: named,
		}})
	case len(able) == 0:
		return nil, ship.Coded(ship.Invalid, "no_carrier", "none of the carriers that are connected in this mode offers %s", words)
	}
	return able, nil
}

// An answer is what one carrier said.
type answer[T any] struct {
	carrier string
	value   T
	err     error
	took    time.Duration
}

// askAll asks the carriers at once, each under its own deadline. The answers are in
// the order of the carriers.
func askAll[T any](ctx context.Context, carriers []*carrier.Carrier, ask func(context.Context, *carrier.Carrier) (T, error)) []answer[T] {
	answers := make([]answer[T], len(carriers))
	var asking sync.WaitGroup
	for i, c := range carriers {
		asking.Go(func() {
			start := time.Now()
			value, err := ask(ctx, c)
			answers[i] = answer[T]{carrier: c.Spec().Name, value: value, err: err, took: time.Since(start)}
		})
	}
	asking.Wait()
	return answers
}

// failuresOf returns the carriers that did not answer. One carrier's failure never
// loses another's answer; only when all fail is there an error.
func failuresOf[T any](s *Service, answers []answer[T], parcel carrier.OneParcel) ([]Failure, error) {
	var failed []carrier.Failure
	var shown []Failure
	for _, a := range answers {
		if a.err == nil {
			continue
		}
		failure := carrier.Failure{Carrier: a.carrier, Err: a.err}
		failed = append(failed, failure)
		missed := failure.NotQuoted(time.Now())
		shown = append(shown, Failure{
			Carrier:   a.carrier,
			Code:      failure.Code(),
			Reason:    missed.Reason,
			RetryAt:   missed.RetryAt,
			Message:   s.accounts.Reason(failure),
			Fields:    failure.Fields(parcel),
			Refusal:   ship.ErrorOf(a.err).Refusal,
			Retryable: !failure.IsRefusal(),
			Duration:  a.took,
		})
	}
	if len(failed) == len(answers) {
		return nil, s.accounts.Refusal(failed, parcel)
	}
	return shown, nil
}
