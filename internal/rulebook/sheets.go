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

// priced names a carrier account; without a connection, all of the carrier's
// that have no sheet of their own.
type priced struct {
	carrier    string
	connection ship.ConnectionID
}

// contract is a sheet that counts.
type contract struct {
	name  string
	sheet *sheet.Sheet
}

// loadSheets reads the sheets that count. What was checked when it was imported
// can be read.
func (s *Service) loadSheets(ctx context.Context, t ship.Tenant) (func(string, ship.ConnectionID) (*sheet.Sheet, string), error) {
	rows, err := s.Store.RateSheets(ctx, t, true)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	contracts := map[priced]contract{}
	for _, row := range rows {
		parsed, err := s.parse(t, row)
		if err != nil {
			return nil, err
		}
		contracts[priced{row.Carrier, row.Connection}] = contract{fmt.Sprintf("%s %d", row.Name, row.Version), parsed}
	}
	return func(carrier string, connection ship.ConnectionID) (*sheet.Sheet, string) {
		c, own := contracts[priced{carrier, connection}]
		if !own {
			c = contracts[priced{carrier, ""}]
		}
		return c.sheet, c.name
	}, nil
}

// A Sheet is a rate sheet and what it is about.
type Sheet struct {
	store.RateSheet
	Parsed sheet.Sheet
}

// Sheets lists the rate sheets that count, by name.
func (s *Service) Sheets(ctx context.Context, t ship.Tenant) ([]Sheet, error) {
	rows, err := s.SheetRows(ctx, t)
	if err != nil {
		return nil, err
	}
	return s.Read(ctx, t, rows)
}

// SheetRows lists the rate sheets that count, by name, without what is in
// them.
func (s *Service) SheetRows(ctx context.Context, t ship.Tenant) ([]store.RateSheet, error) {
	return s.Store.RateSheets(ctx, t, false)
}

// Read adds what is in rate sheets. They come without their text.
func (s *Service) Read(ctx context.Context, t ship.Tenant, rows []store.RateSheet) ([]Sheet, error) {
	list := make([]Sheet, len(rows))
	var unread []store.RateSheet
	for i, row := range rows {
		if list[i].RateSheet = row; s.readBefore(t, &list[i]) {
			continue
		}
		unread = append(unread, row)
	}
	if len(unread) == 0 {
		return list, nil
	}
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
		list[i].Parsed, unread = *parsed, unread[1:]
	}
	return list, nil
}

// Sheet returns a version of a rate sheet, the one that counts for 0.
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
// a version unless it is 0; a removal is one without text. None have more of
// their text than its beginning.
func (s *Service) SheetVersions(ctx context.Context, t ship.Tenant, name string, before, limit int) ([]store.RateSheet, error) {
	return s.Store.RateSheetVersions(ctx, t, name, before, limit)
}

// sheetName is what a sheet may be called: it is part of addresses.
var sheetName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,59}$`)

// SheetInput is a rate sheet to import.
type SheetInput struct {
	Name       string
	Carrier    string
	Connection ship.ConnectionID
	CSV        string
}

// ImportSheet checks a rate sheet and makes it count, in place of the one of
// the same name.
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
	row := store.RateSheet{Name: in.Name, Carrier: in.Carrier, Connection: in.Connection, CSV: in.CSV}
	err = s.Store.InTx(ctx, t, func(tx *store.Store) error {
		var err error
		if row, err = tx.AddRateSheet(ctx, t, row); err != nil {
			return err
		}
		others, err := tx.RateSheets(ctx, t, false)
		if err != nil {
			return err
		}
		for _, o := range others {
			if o.Name != in.Name && o.Carrier == in.Carrier && o.Connection == in.Connection {
				return ship.Coded(ship.Conflict, "rate_sheet_overlap", "the rate sheet %s prices the same carrier account: remove it first, or import under its name", o.Name)
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

func (s *Service) checkSheetInput(ctx context.Context, t ship.Tenant, in SheetInput) error {
	if !sheetName.MatchString(in.Name) {
		return ship.InvalidFields([]ship.FieldError{{Pointer: "/name", Code: "invalid", Detail: "is 1 to 60 small letters, digits, - and _, and begins with a letter or digit"}})
	}
	connected, err := s.Connected(ctx, t)
	if err != nil {
		return err
	}
	target := routing.NamedTarget{Target: routing.Target{Carrier: in.Carrier, ConnectionID: in.Connection}}
	if e, bad := checkTarget(target, s.Carriers(t.Livemode), connected); bad {
		return ship.InvalidFields([]ship.FieldError{e})
	}
	return nil
}

// checkServices refuses a sheet whose services the carrier does not have: they
// could be quoted and not bought.
func (s *Service) checkServices(t ship.Tenant, name string, parsed sheet.Sheet) error {
	var known []string
	for _, spec := range s.Carriers(t.Livemode) {
		if spec.Name == name {
			known = slices.Concat(known, codesOf(spec))
		}
	}
	var wrong []ship.FieldError
	for _, service := range parsed.Services {
		if !slices.Contains(known, service.Code) {
			wrong = append(wrong, ship.FieldError{
				Pointer: "/csv", Code: "unknown_service", Detail: "has the service " + service.Code + ", which is not one of " + name, Suggestion: ship.Nearest(service.Code, known),
			})
		}
	}
	return ship.InvalidFields(wrong)
}

func codesOf(spec carrier.Spec) []string {
	codes := make([]string, len(spec.Services))
	for i, service := range spec.Services {
		codes[i] = service.Code
	}
	return codes
}

// RemoveSheet ends a rate sheet: its carrier is asked again. Its versions are
// kept.
func (s *Service) RemoveSheet(ctx context.Context, t ship.Tenant, name string) error {
	old, err := s.Store.RateSheet(ctx, t, name, 0)
	if err != nil {
		return missing(err, "rate_sheet_not_found", "there is no such rate sheet")
	}
	old.CSV = ""
	err = s.Store.InTx(ctx, t, func(tx *store.Store) error {
		_, err := tx.AddRateSheet(ctx, t, old)
		return err
	})
	s.forget(t)
	return err
}
