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

// AddChecked is AddConnection for a person who waits: the connection is checked
// first, and credentials that the carrier refuses are not stored. Then err is
// ship.Invalid at their fields, and the findings say what to do. If the check
// is inconclusive, the connection is stored with its findings.
func (s *Service) AddChecked(ctx context.Context, in AddConnectionInput) (Connection, []Finding, error) {
	row, err := s.newRow(ctx, in)
	if err != nil {
		return Connection{}, nil, err
	}
	return s.storeIfAccepted(ctx, row, s.add)
}

// UpdateChecked is UpdateConnection in the same way: credentials that the
// carrier refuses do not replace the present ones.
func (s *Service) UpdateChecked(ctx context.Context, in UpdateConnectionInput) (Connection, []Finding, error) {
	row, err := s.changedRow(ctx, in)
	if err != nil {
		return Connection{}, nil, err
	}
	return s.storeIfAccepted(ctx, row, s.change)
}

// storeIfAccepted stores the row unless the carrier refuses its credentials.
func (s *Service) storeIfAccepted(ctx context.Context, row store.Connection, save func(context.Context, store.Connection) (Connection, error)) (Connection, []Finding, error) {
	account, err := s.store.Account(ctx, row.Tenant.Account)
	if err != nil {
		return Connection{}, nil, err
	}

	limited, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	check := &checkup{Service: s, row: row, account: account}
	list := check.run(limited)
	if check.refused != "" {
		return newConnection(row), list, refusedFields(check.spec, check.refused)
	}

	saved, err := save(ctx, row)
	if err != nil {
		return saved, list, err
	}
	result, err := json.Marshal(list)
	if err != nil {
		return saved, list, err
	}
	return saved, list, s.store.SetChecked(ctx, row.Tenant, row.ID, time.Now(), result)
}

// refusedFields returns the error of credentials that the carrier does not
// accept: at the account's number if only that is refused, else at all fields
// that prove who signs in.
func refusedFields(spec carrier.Spec, subject string) error {
	var invalid []ship.FieldError
	add := func(field carrier.Field, says string) {
		invalid = append(invalid, ship.FieldError{Pointer: "/" + field.Name, Code: "invalid", Detail: says})
	}

	for _, field := range spec.Fields {
		namesAccount := strings.Contains(field.Name, "account")
		provesIdentity := field.Secret || strings.HasPrefix(field.Name, "client_")
		switch {
		case !field.Required:
		case subject == "account" && namesAccount:
			add(field, spec.Title+" does not let these credentials use this account")
		case subject == "mode" && provesIdentity:
			add(field, "belongs to "+spec.Title+"'s other environment (test or production)")
		case subject == "token" && provesIdentity:
			add(field, spec.Title+" does not accept this value, or not in combination with the others")
		}
	}

	if len(invalid) == 0 {
		return ship.Errorf(ship.Invalid, "%s does not accept the credentials", spec.Title)
	}
	return ship.InvalidFields(invalid)
}
