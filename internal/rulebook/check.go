package rulebook

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
)

// Check validates rules. It returns an error for what can never work, and
// warnings for what cannot work at present.
func (s *Service) Check(ctx context.Context, t ship.Tenant, book routing.Book) (warnings []string, err error) {
	// Errors of the compiler are collected with those of the targets, so that
	// the client sees all of them at once.
	var invalid []ship.FieldError
	if _, err := routing.Compile(book); err != nil {
		compileError, ok := errors.AsType[*ship.Error](err)
		if !ok || len(compileError.Fields) == 0 {
			return nil, err
		}
		invalid = compileError.Fields
	}

	connected, err := s.Connected(ctx, t)
	if err != nil {
		return nil, err
	}
	specs := s.Carriers(t.Livemode)
	for _, target := range book.Targets() {
		if fieldError, bad := checkTarget(target, specs, connected); bad {
			invalid = append(invalid, fieldError)
			continue
		}

		isConnected := slices.ContainsFunc(connected, func(c *carrier.Carrier) bool {
			return c.Spec().Name == target.Carrier
		})
		if t.Livemode && !isConnected {
			warning := fmt.Sprintf("%s is not connected in live mode, so rules that name it will not find an offer from it", target.Carrier)
			if !slices.Contains(warnings, warning) {
				warnings = append(warnings, warning)
			}
		}
	}
	return warnings, ship.InvalidFields(invalid)
}

// checkTarget reports a carrier, a service or a connection that does not exist.
func checkTarget(target routing.NamedTarget, specs []carrier.Spec, connected []*carrier.Carrier) (ship.FieldError, bool) {
	var names, services []string
	isKnown := false
	for _, spec := range specs {
		names = append(names, spec.Name)
		if spec.Name == target.Carrier {
			isKnown = true
			services = append(services, codesOf(spec)...)
		}
	}

	if !isKnown {
		return ship.FieldError{
			Pointer:    target.Pointer + "/carrier",
			Code:       "unknown_carrier",
			Detail:     "is not a known carrier",
			Suggestion: ship.Nearest(target.Carrier, names),
		}, true
	}
	if target.Service != "" && !slices.Contains(services, target.Service) {
		return ship.FieldError{
			Pointer:    target.Pointer + "/service",
			Code:       "unknown_service",
			Detail:     "is not a service of " + target.Carrier,
			Suggestion: ship.Nearest(target.Service, services),
		}, true
	}
	if target.ConnectionID == "" {
		return ship.FieldError{}, false
	}

	hasConnection := slices.ContainsFunc(connected, func(c *carrier.Carrier) bool {
		return c.Connection == target.ConnectionID && c.Spec().Name == target.Carrier
	})
	if !hasConnection {
		return ship.FieldError{
			Pointer: target.Pointer + "/connectionId",
			Code:    "unknown_connection",
			Detail:  "is not a connection of this account to " + target.Carrier,
		}, true
	}
	return ship.FieldError{}, false
}
