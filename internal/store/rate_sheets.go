package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A RateSheet is the price list of a contract as stored. Package sheet reads what
// is in it.
type RateSheet struct {
	Name       string
	Version    int
	Carrier    string
	Connection ship.ConnectionID // empty for the carrier's only, or simulated, account
	CSV        string            // empty where it was not asked for
	AddedAt    time.Time
}

const sqlRateSheets = `
SELECT name, version, carrier, connection_id, CASE WHEN $3 THEN csv ELSE '' END, added_at
FROM (
  SELECT DISTINCT ON (name) name, version, carrier, connection_id, csv, added_at
  FROM rate_sheets
  WHERE account_id = $1 AND livemode = $2
  ORDER BY name, version DESC
) newest
WHERE csv IS NOT NULL
ORDER BY name`

// RateSheets lists the active sheets by name, with their text if wanted.
func (s *Store) RateSheets(ctx context.Context, t ship.Tenant, withText bool) ([]RateSheet, error) {
	return queryList(ctx, s, t, scanRateSheet, sqlRateSheets, t.Account, t.Livemode, withText)
}

func scanRateSheet(r pgx.CollectableRow) (RateSheet, error) {
	var sheet RateSheet
	err := r.Scan(&sheet.Name, &sheet.Version, &sheet.Carrier, &sheet.Connection, &sheet.CSV, &sheet.AddedAt)
	return sheet, err
}

const sqlRateSheetTexts = `
SELECT w.name, w.version, s.csv
FROM unnest($3::text[], $4::integer[]) w (name, version)
JOIN rate_sheets s ON s.account_id = $1 AND s.livemode = $2 AND s.name = w.name AND s.version = w.version AND s.csv IS NOT NULL`

// RateSheetTexts fills in the texts of the sheets.
func (s *Store) RateSheetTexts(ctx context.Context, t ship.Tenant, list []RateSheet) error {
	type sheetVersion struct {
		name    string
		version int
	}
	names := make([]string, len(list))
	versions := make([]int, len(list))
	sheets := map[sheetVersion]*RateSheet{}
	for i := range list {
		names[i] = list[i].Name
		versions[i] = list[i].Version
		sheets[sheetVersion{list[i].Name, list[i].Version}] = &list[i]
	}

	var key sheetVersion
	var text string
	return s.queryEach(ctx, t, []any{&key.name, &key.version, &text}, func() error {
		sheets[key].CSV = text
		return nil
	}, sqlRateSheetTexts, t.Account, t.Livemode, names, versions)
}

const sqlRateSheet = `
SELECT name, version, carrier, connection_id, csv, added_at
FROM rate_sheets
WHERE account_id = $1 AND livemode = $2 AND name = $3 AND ($4 = 0 OR version = $4) AND csv IS NOT NULL
  AND ($4 <> 0 OR version = (
    SELECT max(version) FROM rate_sheets
    WHERE account_id = $1 AND livemode = $2 AND name = $3))`

// RateSheet returns a version of a sheet; version 0 is the active one.
func (s *Store) RateSheet(ctx context.Context, t ship.Tenant, name string, version int) (RateSheet, error) {
	return queryOne(ctx, s, t, scanRateSheet, sqlRateSheet, t.Account, t.Livemode, name, version)
}

const sqlRateSheetVersions = `
SELECT name, version, carrier, connection_id, left(coalesce(csv, ''), 1), added_at
FROM rate_sheets
WHERE account_id = $1 AND livemode = $2 AND name = $3 AND ($4 = 0 OR version < $4)
ORDER BY version DESC LIMIT $5`

// RateSheetVersions lists what was imported and removed under a name, the
// newest first, before a version unless it is 0. Of the text they have the
// first character, none where the sheet was removed.
func (s *Store) RateSheetVersions(ctx context.Context, t ship.Tenant, name string, before, limit int) ([]RateSheet, error) {
	return queryList(ctx, s, t, scanRateSheet, sqlRateSheetVersions, t.Account, t.Livemode, name, before, limit)
}

const sqlAddRateSheet = `
INSERT INTO rate_sheets (account_id, livemode, name, version, carrier, connection_id, csv)
SELECT $1, $2, $3, (
  SELECT coalesce(max(version), 0) + 1 FROM rate_sheets
  WHERE account_id = $1 AND livemode = $2 AND name = $3), $4, $5, $6
RETURNING version, added_at`

// AddRateSheet stores the next version of a sheet; an empty text removes it.
// It is called inside InTx.
func (s *Store) AddRateSheet(ctx context.Context, t ship.Tenant, sheet RateSheet) (RateSheet, error) {
	// This locks the tenant's routing, so nobody else takes the same version.
	if err := s.changeRouting(ctx, t); err != nil {
		return sheet, fmt.Errorf("record a change of the rate sheets: %w", err)
	}
	err := s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&sheet.Version, &sheet.AddedAt) }, sqlAddRateSheet,
		t.Account, t.Livemode, sheet.Name, sheet.Carrier, null(sheet.Connection), null(sheet.CSV))
	if err != nil {
		return sheet, err
	}

	entry := EntryOf(t, "rate_sheet.imported", sheet.Name)
	if sheet.CSV == "" {
		entry.Action = "rate_sheet.removed"
	}
	entry.Details = map[string]string{"version": strconv.Itoa(sheet.Version), "carrier": sheet.Carrier}
	return sheet, s.AuditChange(ctx, entry)
}
