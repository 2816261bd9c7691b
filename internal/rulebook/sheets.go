package rulebook

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// pricedAccount identifies the carrier account that a sheet prices. Without a
// connection it stands for all accounts of the carrier that have no sheet of
// their own.
type pricedAccount struct {
	carrier    string
	connection ship.ConnectionID
}

// contract is a sheet in effect.
type contract struct {
	name  string
	sheet *sheet.Sheet
}

// loadSheets reads the sheets in effect. Sheets are checked when they are
// imported, so they can be parsed.
func (s *Service) loadSheets(ctx context.Context, t ship.Tenant) (func(string, ship.ConnectionID) (*sheet.Sheet, string), error) {
	rows, err := s.Store.RateSheets(ctx, t, true)
	if err != nil || len(rows) == 0 {
		return nil, err
	}

	contracts := map[pricedAccount]contract{}
	for _, row := range rows {
		parsed, err := s.parse(t, row)
		if err != nil {
			return nil, err
		}
		contracts[pricedAccount{row.Carrier, row.Connection}] = contract{
			name:  fmt.Sprintf("%s %d", row.Name, row.Version),
			sheet: parsed,
		}
	}

	return func(carrier string, connection ship.ConnectionID) (*sheet.Sheet, string) {
		found, ok := contracts[pricedAccount{carrier, connection}]
		if !ok {
			found = contracts[pricedAccount{carrier, ""}]
		}
		return found.sheet, found.name
	}, nil
}

// A Sheet is a rate sheet, stored and parsed.
type Sheet struct {
	store.RateSheet
	Parsed sheet.Sheet
}

// Sheets lists the rate sheets in effect, by name.
func (s *Service) Sheets(ctx context.Context, t ship.Tenant) ([]Sheet, error) {
	rows, err := s.SheetRows(ctx, t)
	if err != nil {
		return nil, err
	}
	return s.Read(ctx, t, rows)
}

// SheetRows lists the rate sheets in effect, by name, without their contents.
func (s *Service) SheetRows(ctx context.Context, t ship.Tenant) ([]store.RateSheet, error) {
	return s.Store.RateSheets(ctx, t, false)
}

// Read adds their contents to rate sheets, which come without their text.
func (s *Service) Read(ctx context.Context, t ship.Tenant, rows []store.RateSheet) ([]Sheet, error) {
	list := make([]Sheet, len(rows))
	var unread []store.RateSheet
	for i, row := range rows {
		list[i].RateSheet = row
		if !s.fillFromCache(t, &list[i]) {
			unread = append(unread, row)
		}
	}
	if len(unread) == 0 {
		return list, nil
	}

	// The texts of all that are not cached are read at once. Both lists have
	// the same order, so the first unread sheet is the next to fill in.
	if err := s.Store.RateSheetTexts(ctx, t, unread); err != nil {
		return nil, err
	}
	for i := range list {
		if len(unread) == 0 || list[i].Name != unread[0].Name {
			continue
		}
		parsed, err := s.parse(t, unread[0])
		if err != nil {
			return nil, err
		}
		list[i].Parsed = *parsed
		unread = unread[1:]
	}
	return list, nil
}

// Sheet returns a version of a rate sheet; 0 stands for the one in effect.
func (s *Service) Sheet(ctx context.Context, t ship.Tenant, name string, version int) (Sheet, error) {
	row, err := s.Store.RateSheet(ctx, t, name, version)
	if err != nil {
		return Sheet{}, missing(err, "rate_sheet_not_found", "there is no such rate sheet")
	}
	parsed, err := s.parse(t, row)
	if err != nil {
		return Sheet{}, err
	}
	return Sheet{row, *parsed}, nil
}

// SheetVersions lists what was imported under a name, the newest first, before
// a version unless it is 0. A removal is a version without text. The others have
// only the beginning of their text.
func (s *Service) SheetVersions(ctx context.Context, t ship.Tenant, name string, before, limit int) ([]store.RateSheet, error) {
	return s.Store.RateSheetVersions(ctx, t, name, before, limit)
}

// sheetName matches valid names of sheets. A name is part of addresses.
var sheetName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,59}$`)

// SheetInput is a rate sheet to import.
type SheetInput struct {
	Name       string
	Carrier    string
	Connection ship.ConnectionID
	CSV        string
}

// ImportSheet checks a rate sheet and puts it into effect, in place of the one
// of the same name.
func (s *Service) ImportSheet(ctx context.Context, t ship.Tenant, in SheetInput) (Sheet, error) {
	if err := s.checkSheetInput(ctx, t, in); err != nil {
		return Sheet{}, err
	}
	parsed, err := sheet.Parse([]byte(in.CSV))
	if err != nil {
		return Sheet{}, err
	}
	if err := s.checkServices(t, in.Carrier, parsed); err != nil {
		return Sheet{}, err
	}
	if err := s.checkTotal(ctx, t, in, parsed); err != nil {
		return Sheet{}, err
	}

	row := store.RateSheet{
		Name:       in.Name,
		Carrier:    in.Carrier,
		Connection: in.Connection,
		CSV:        in.CSV,
	}
	err = s.Store.InTx(ctx, t, func(tx *store.Store) error {
		// AddRateSheet locks the tenant's routing until the transaction ends, so
		// no overlapping sheet can be imported between it and the check.
		var err error
		if row, err = tx.AddRateSheet(ctx, t, row); err != nil {
			return err
		}

		others, err := tx.RateSheets(ctx, t, false)
		if err != nil {
			return err
		}
		for _, other := range others {
			if other.Name != in.Name && other.Carrier == in.Carrier && other.Connection == in.Connection {
				return ship.Coded(ship.Conflict, "rate_sheet_overlap", "the rate sheet %s prices the same carrier account: remove it first, or import under its name", other.Name)
			}
		}
		return nil
	})
	if err != nil {
		return Sheet{}, err
	}

	s.forget(t)
	return Sheet{row, parsed}, nil
}

// The limits of all sheets of a tenant in effect: a purchase may read all of
// them.
const (
	maxTexts  = 12_000_000 // bytes of CSV
	maxMemory = 24 << 20   // bytes once they are parsed
)

// checkTotal rejects a sheet that is too much together with the tenant's
// others. Two imports at the same moment may exceed the limits by one sheet.
func (s *Service) checkTotal(ctx context.Context, t ship.Tenant, in SheetInput, parsed sheet.Sheet) error {
	rows, err := s.Store.RateSheets(ctx, t, false)
	if err != nil {
		return err
	}

	// One is read at a time, because all of them may be too much.
	text := len(in.CSV)
	memory := parsed.MemoryBytes()
	for _, row := range rows {
		if row.Name == in.Name {
			continue // it is replaced
		}
		other, err := s.Sheet(ctx, t, row.Name, row.Version)
		if err != nil {
			return err
		}
		text += len(other.CSV)
		memory += other.Parsed.MemoryBytes()
	}

	if text <= maxTexts && memory <= maxMemory {
		return nil
	}
	return ship.InvalidFields([]ship.FieldError{{
		Pointer: "/csv",
		Code:    "too_large",
		Detail:  fmt.Sprintf("is too large together with the other rate sheets: at most %d MB of text, or about 200,000 areas, can be active; remove a sheet that is no longer used first", maxTexts/1_000_000),
	}})
}

func (s *Service) checkSheetInput(ctx context.Context, t ship.Tenant, in SheetInput) error {
	if !sheetName.MatchString(in.Name) {
		return ship.InvalidFields([]ship.FieldError{{
			Pointer: "/name",
			Code:    "invalid",
			Detail:  "must be 1 to 60 lower-case letters, digits, - or _, and start with a letter or digit",
		}})
	}

	connected, err := s.Connected(ctx, t)
	if err != nil {
		return err
	}
	target := routing.NamedTarget{Target: routing.Target{Carrier: in.Carrier, ConnectionID: in.Connection}}
	if fieldError, bad := checkTarget(target, s.Carriers(t.Livemode), connected); bad {
		return ship.InvalidFields([]ship.FieldError{fieldError})
	}
	return nil
}

// checkServices rejects a sheet with services that the carrier does not have:
// they could be quoted but not bought.
func (s *Service) checkServices(t ship.Tenant, name string, parsed sheet.Sheet) error {
	var known []string
	for _, spec := range s.Carriers(t.Livemode) {
		if spec.Name == name {
			known = append(known, codesOf(spec)...)
		}
	}

	var invalid []ship.FieldError
	for _, service := range parsed.Services {
		if slices.Contains(known, service.Code) {
			continue
		}
		invalid = append(invalid, ship.FieldError{
			Pointer:    "/csv",
			Code:       "unknown_service",
			Detail:     "has the service " + service.Code + ", which is not a service of " + name,
			Suggestion: ship.Nearest(service.Code, known),
		})
	}
	return ship.InvalidFields(invalid)
}

func codesOf(spec carrier.Spec) []string {
	codes := make([]string, len(spec.Services))
	for i, service := range spec.Services {
		codes[i] = service.Code
	}
	return codes
}

// RemoveSheet ends a rate sheet: its carrier is asked for prices again. Its
// versions are kept.
func (s *Service) RemoveSheet(ctx context.Context, t ship.Tenant, name string) error {
	old, err := s.Store.RateSheet(ctx, t, name, 0)
	if err != nil {
		return missing(err, "rate_sheet_not_found", "there is no such rate sheet")
	}

	old.CSV = "" // a version without text is a removal
	err = s.Store.InTx(ctx, t, func(tx *store.Store) error {
		_, err := tx.AddRateSheet(ctx, t, old)
		return err
	})
	s.forget(t)
	return err
}
