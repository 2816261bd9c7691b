package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A RateSheet is the price list of a contract as written down. What is in it
// is for package sheet to read.
type RateSheet struct {
	Name       string
	Version    int
	Carrier    string
	Connection ship.ConnectionID // empty for the carrier's only, or simulated, account
	CSV        string            // empty where it was not asked for
	AddedAt    time.Time
}

const sqlRateSheets = `
SELECT name, version, carrier, connection_id, CASE WHEN $3 THEN csv ELSE '' END, added_at FROM (
  SELECT DISTINCT ON (name) name, version, carrier, connection_id, csv, added_at
  FROM rate_sheets WHERE account_id = $1 AND livemode = $2 ORDER BY name, version DESC
) newest WHERE csv IS NOT NULL ORDER BY name`

// RateSheets lists the sheets that count, by name, with their text if wanted.
func (s *Store) RateSheets(ctx context.Context, t ship.Tenant, withText bool) (list []RateSheet, err error) {
	err = s.queryRows(ctx, t, func(r pgx.Rows) error {
		sh, err := scanRateSheet(r)
		list = append(list, sh)
		return err
	}, sqlRateSheets, [16]byte(t.Account.Raw()), t.Livemode, withText)
	return list, err
}

func scanRateSheet(r pgx.Row) (sh RateSheet, err error) {
	var connection *[16]byte
	err = r.Scan(&sh.Name, &sh.Version, &sh.Carrier, &connection, &sh.CSV, &sh.AddedAt)
	if connection != nil {
		sh.Connection = ship.ConnectionIDOf(*connection)
	}
	return sh, err
}

const sqlRateSheetTexts = `
SELECT w.name, w.version, s.csv FROM unnest($3::text[], $4::integer[]) w (name, version)
JOIN rate_sheets s ON s.account_id = $1 AND s.livemode = $2 AND s.name = w.name AND s.version = w.version AND s.csv IS NOT NULL`

// RateSheetTexts gives the sheets their texts.
func (s *Store) RateSheetTexts(ctx context.Context, t ship.Tenant, list []RateSheet) error {
	names, versions, places := make([]string, len(list)), make([]int, len(list)), map[string]int{}
	for i, sh := range list {
		names[i], versions[i], places[sh.Name+" "+strconv.Itoa(sh.Version)] = sh.Name, sh.Version, i
	}
	return s.queryRows(ctx, t, func(r pgx.Rows) error {
		var name, text string
		var version int
		err := r.Scan(&name, &version, &text)
		list[places[name+" "+strconv.Itoa(version)]].CSV = text
		return err
	}, sqlRateSheetTexts, [16]byte(t.Account.Raw()), t.Livemode, names, versions)
}

const sqlRateSheet = `
SELECT name, version, carrier, connection_id, csv, added_at FROM rate_sheets
WHERE account_id = $1 AND livemode = $2 AND name = $3 AND ($4 = 0 OR version = $4) AND csv IS NOT NULL
  AND ($4 <> 0 OR version = (SELECT max(version) FROM rate_sheets WHERE account_id = $1 AND livemode = $2 AND name = $3))`

// RateSheet returns a version of a sheet, the one that counts for 0.
func (s *Store) RateSheet(ctx context.Context, t ship.Tenant, name string, version int) (sh RateSheet, err error) {
	err = s.queryRow(ctx, t, func(r pgx.Row) (err error) {
		sh, err = scanRateSheet(r)
		return err
	}, sqlRateSheet, [16]byte(t.Account.Raw()), t.Livemode, name, version)
	return sh, err
}

const sqlRateSheetVersions = `
SELECT name, version, carrier, connection_id, left(coalesce(csv, ''), 1), added_at FROM rate_sheets
WHERE account_id = $1 AND livemode = $2 AND name = $3 AND ($4 = 0 OR version < $4) ORDER BY version DESC LIMIT $5`

// RateSheetVersions lists what was imported and removed under a name, the
// newest first, before a version unless it is 0. Of the text they have the
// first character, none where the sheet was removed.
func (s *Store) RateSheetVersions(ctx context.Context, t ship.Tenant, name string, before, limit int) (list []RateSheet, err error) {
	err = s.queryRows(ctx, t, func(r pgx.Rows) error {
		sh, err := scanRateSheet(r)
		list = append(list, sh)
		return err
	}, sqlRateSheetVersions, [16]byte(t.Account.Raw()), t.Livemode, name, before, limit)
	return list, err
}

const sqlAddRateSheet = `
INSERT INTO rate_sheets (account_id, livemode, name, version, carrier, connection_id, csv)
SELECT $1, $2, $3, (SELECT coalesce(max(version), 0) + 1 FROM rate_sheets WHERE account_id = $1 AND livemode = $2 AND name = $3), $4, $5, $6
RETURNING version, added_at`

// AddRateSheet stores the next version of a sheet; an empty text removes it.
// It is called inside InTx.
func (s *Store) AddRateSheet(ctx context.Context, t ship.Tenant, sh RateSheet) (RateSheet, error) {
	if err := s.changeRouting(ctx, t); err != nil {
		return sh, fmt.Errorf("count a change of the rate sheets: %w", err)
	}
	err := s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&sh.Version, &sh.AddedAt) }, sqlAddRateSheet,
		[16]byte(t.Account.Raw()), t.Livemode, sh.Name, sh.Carrier, nullConnection(sh.Connection), null(sh.CSV))
	if err != nil {
		return sh, err
	}
	entry := EntryOf(t, "rate_sheet.imported", sh.Name)
	if sh.CSV == "" {
		entry.Action = "rate_sheet.removed"
	}
	entry.Details = map[string]string{"version": strconv.Itoa(sh.Version), "carrier": sh.Carrier}
	return sh, s.AuditChange(ctx, entry)
}
