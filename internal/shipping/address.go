package shipping

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
)

// An AddressValidation is what a purchase does about the address that it goes to.
type AddressValidation string

// The ways to validate an address.
const (
	ValidationOff     AddressValidation = "off"
	ValidationWarn    AddressValidation = "warn"    // the shipment has warnings; the usual way
	ValidationCorrect AddressValidation = "correct" // the corrected address is used, with a warning
	ValidationRequire AddressValidation = "require" // nothing is bought unless the address is valid
)

// checkWait is how long a purchase waits for the check of its address, unless it
// requires one.
const checkWait = 300 * time.Millisecond

// correctedDestination is part of the warning of a purchase whose destination is not the one
// that its client wrote.
const correctedDestination = " corrected the destination: "

// isCorrected reports whether the destination is not the one that the client wrote.
func isCorrected(purchase ship.Purchase) bool {
	return slices.ContainsFunc(purchase.Warnings, func(warning string) bool { return strings.Contains(warning, correctedDestination) })
}

// A destinationCheck is the check of the address that a purchase goes to.
type destinationCheck struct {
	given    ship.Address
	pending  *addresscheck.Pending // nil if there is nothing to wait for
	deadline time.Time
	warnings []string
}

// checkDestination checks where the order goes, as the client wishes. With
// ValidationCorrect it changes the destination. With ValidationWarn the check
// runs beside what comes next; finish waits for it.
func (s *Service) checkDestination(ctx context.Context, in *BuyInput, order *ship.Order) (destinationCheck, error) {
	c := destinationCheck{given: order.Destination}
	if s.addresses == nil || in.AddressValidation == ValidationOff {
		return c, nil
	}

	request := addresscheck.Request{Tenant: in.Tenant, Address: order.Destination}
	switch in.AddressValidation {
	case ValidationRequire:
		check, err := s.addresses.Check(ctx, request)
		if err != nil {
			return c, err
		}
		return c, s.requireValid(order.Destination, check)

	case ValidationCorrect:
		check, err := s.addresses.Start(ctx, request).Within(ctx, time.Now().Add(checkWait))
		switch {
		case err != nil:
			c.warn("the destination was not checked: " + ship.ErrorOf(err).Message)
		case check.Verdict == ship.AddressCorrected:
			c.warn(s.checkerOf(check) + correctedDestination + describeChanges(order.Destination, check.Address))
			order.Destination = check.Address
		default:
			c.warn(s.warnings(order.Destination, check)...)
		}
		return c, nil
	}

	request.Spare = true
	c.deadline = time.Now().Add(checkWait)
	c.pending = s.addresses.Start(ctx, request)
	return c, nil
}

// quoted returns the order as the client got its rates for: a rate holds for the
// address that was given, and its price binds for the corrected one too.
func (c *destinationCheck) quoted(order ship.Order, request quoting.Request) quoting.Request {
	request.Order = order
	if request.RateID != "" {
		request.Order.Destination = c.given
	}
	return request
}

// finish returns the warnings about the address. It waits for a check that is under
// way; one that takes too long is no warning.
func (c *destinationCheck) finish(ctx context.Context, s *Service) []string {
	if c.pending != nil {
		if check, err := c.pending.Within(ctx, c.deadline); err == nil {
			c.warn(s.warnings(c.given, check)...)
		}
	}
	return c.warnings
}

func (c *destinationCheck) warn(texts ...string) { c.warnings = append(c.warnings, texts...) }

// requireValid returns why nothing is bought for the address; nil if it is valid.
func (s *Service) requireValid(given ship.Address, check ship.AddressCheck) error {
	if check.Verdict == ship.AddressValid {
		return nil
	}

	refusal := ship.Coded(ship.Invalid, "address_invalid", "the destination is not known to be valid: its address is %s", check.Verdict)
	refusal.Details = map[string]any{"verdict": check.Verdict, "checkedBy": check.CheckedBy}
	if len(check.Messages) > 0 {
		refusal.Details["messages"] = check.Messages
	}
	if len(check.Candidates) > 0 {
		refusal.Details["candidates"] = check.Candidates
	}
	for _, change := range given.ChangesTo(check.Address) {
		refusal.Fields = append(refusal.Fields, ship.FieldError{
			Pointer:    "/destination" + change.Pointer,
			Code:       "invalid",
			Detail:     "differs from the address that " + s.checkerOf(check) + " knows",
			Suggestion: change.To,
		})
	}
	return refusal
}

// warnings say what is wrong with an address; none if nothing is.
func (s *Service) warnings(given ship.Address, check ship.AddressCheck) []string {
	messages := strings.Join(check.Messages, " ")
	switch check.Verdict {
	case ship.AddressCorrected:
		return []string{"the destination may be wrong: " + s.checkerOf(check) + " would correct " + describeChanges(given, check.Address)}
	case ship.AddressAmbiguous:
		return []string{strings.TrimSpace("the destination is ambiguous to " + s.checkerOf(check) + ". " + messages)}
	case ship.AddressInvalid:
		return []string{strings.TrimSpace("the destination is not known to " + s.checkerOf(check) + ". " + messages)}
	case ship.AddressUnknown:
		if messages != "" {
			return []string{"check the destination: " + messages}
		}
	}
	return nil
}

// checkerOf names who checked an address.
func (s *Service) checkerOf(check ship.AddressCheck) string {
	if check.CheckedBy == ship.CheckedByRules {
		return "the built-in rules"
	}
	return s.accounts.Title(check.CheckedBy)
}

// describeChanges lists what differs between two addresses.
func describeChanges(from, to ship.Address) string {
	var list []string
	for _, change := range from.ChangesTo(to) {
		name := strings.TrimPrefix(change.Pointer, "/")
		switch {
		case change.From == "":
			list = append(list, name+" "+change.To+" is added")
		case change.To == "":
			list = append(list, name+" "+change.From+" is removed")
		default:
			list = append(list, name+" "+change.From+" to "+change.To)
		}
	}
	return strings.Join(list, ", ")
}
