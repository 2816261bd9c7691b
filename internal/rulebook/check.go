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

// Check finds what is wrong with rules: an error for what can never work, a
// warning for what cannot work just now.
func (s *Service) Check(ctx context.Context, t ship.Tenant, b routing.Book) (warnings []string, err error) {
	var wrong []ship.FieldError
	if _, err := routing.Compile(b); err != nil {
		e, ok := errors.AsType[*ship.Error](err)
		if !ok || len(e.Fields) == 0 {
			return nil, err
		}
		wrong = e.Fields // and what else is wrong, all at once
	}
	connected, err := s.Connected(ctx, t)
	if err != nil {
		return nil, err
	}
	specs := s.Carriers(t.Livemode)
	for _, target := range b.Targets() {
		if e, bad := checkTarget(target, specs, connected); bad {
			wrong = append(wrong, e)
			continue
		}
		if t.Livemode && !slices.ContainsFunc(connected, func(c *carrier.Carrier) bool { return c.Spec().Name == target.Carrier }) {
			if w := fmt.Sprintf("%s is not connected in live mode, so rules that name it find no offer of it", target.Carrier); !slices.Contains(warnings, w) {
				warnings = append(warnings, w)
			}
		}
	}
	return warnings, ship.InvalidFields(wrong)
}

// checkTarget finds a carrier, a service or a connection that is not there.
func checkTarget(target routing.NamedTarget, specs []carrier.Spec, connected []*carrier.Carrier) (ship.FieldError, bool) {
	var names, services []string
	known := false
	for _, spec := range specs {
		names = append(names, spec.Name)
		if spec.Name != target.Carrier {
			continue
		}
		known = true
		services = slices.Concat(services, codesOf(spec))
	}
	switch {
	case !known:
		return ship.FieldError{Pointer: target.Pointer + "/carrier", Code: "unknown_carrier", Detail: "is not a carrier", Suggestion: ship.Nearest(target.Carrier, names)}, true
	case target.Service != "" && !slices.Contains(services, target.Service):
		return ship.FieldError{
			Pointer: target.Pointer + "/service", Code: "unknown_service", Detail: "is not a service of " + target.Carrier, Suggestion: ship.Nearest(target.Service, services),
		}, true
	case target.ConnectionID == "":
		return ship.FieldError{}, false
	}
	if !slices.ContainsFunc(connected, func(c *carrier.Carrier) bool {
		return c.Connection == target.ConnectionID && c.Spec().Name == target.Carrier
	}) {
		return ship.FieldError{Pointer: target.Pointer + "/connectionId", Code: "unknown_connection", Detail: "is not a connection of this account to " + target.Carrier}, true
	}
	return ship.FieldError{}, false
}
