package account

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// AddChecked is AddConnection for a person who waits: the connection is looked
// at first, and credentials that the carrier refuses are not stored. Then err
// is ship.Invalid at their fields, and the findings say what to do. What cannot
// be found out now is stored, with what was found.
func (s *Service) AddChecked(ctx context.Context, in AddConnectionInput) (Connection, []Finding, error) {
	row, err := s.newRow(ctx, in)
	if err != nil {
		return Connection{}, nil, err
	}
	return s.ifTaken(ctx, row, s.add)
}

// UpdateChecked is UpdateConnection in the same way: credentials that the
// carrier refuses do not take the place of the present ones.
func (s *Service) UpdateChecked(ctx context.Context, in UpdateConnectionInput) (Connection, []Finding, error) {
	row, err := s.changedRow(ctx, in)
	if err != nil {
		return Connection{}, nil, err
	}
	return s.ifTaken(ctx, row, s.change)
}

// ifTaken stores the row unless the carrier refuses its credentials.
func (s *Service) ifTaken(ctx context.Context, row store.Connection, keep func(context.Context, store.Connection) (Connection, error)) (Connection, []Finding, error) {
	account, err := s.store.Account(ctx, row.Tenant.Account)
	if err != nil {
		return Connection{}, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	c := &checkup{Service: s, row: row, account: account}
	list := c.run(limited)
	if c.refused != "" {
		return connectionOf(row), list, refusedAt(c.spec, c.refused)
	}
	kept, err := keep(ctx, row)
	if err != nil {
		return kept, list, err
	}
	result, err := json.Marshal(list)
	if err != nil {
		return kept, list, err
	}
	return kept, list, s.store.SetChecked(ctx, row.Tenant, row.ID, time.Now(), result)
}

// refusedAt is the error of credentials that the carrier does not take: at the
// account's number if that is all that is wrong, else at all that prove who
// asks.
func refusedAt(spec carrier.Spec, subject string) error {
	var wrong []ship.FieldError
	add := func(f carrier.Field, says string) {
		wrong = append(wrong, ship.FieldError{Pointer: "/" + f.Name, Code: "invalid", Detail: says})
	}
	for _, f := range spec.Fields {
		ofAccount := strings.Contains(f.Name, "account")
		proves := f.Secret || strings.HasPrefix(f.Name, "client_")
		switch {
		case !f.Required:
		case subject == "account" && ofAccount:
			add(f, spec.Title+" does not let these credentials use this account")
		case subject == "mode" && proves:
			add(f, "is of "+spec.Title+"'s other environment")
		case subject == "token" && proves:
			add(f, spec.Title+" does not accept this, or not together with the others")
		}
	}
	if len(wrong) == 0 {
		return ship.Errorf(ship.Invalid, "%s does not accept the credentials", spec.Title)
	}
	return ship.InvalidFields(wrong)
}
