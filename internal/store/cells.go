package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Cells: which database holds which shard, and the fence that keeps copies of the
// service out of shards that their cell has given up.

// ErrMisdirected is the cause of an error of a transaction that tried to enter a
// shard which is not in this cell. Nothing was done.
var ErrMisdirected = errors.New("the shard is not in this cell")

// misdirected is the code of the exception of the function enter_shard.
const misdirected = "WB421"

// The names of the program in the database's list of connections. A copy that
// does not know of the fence has the first.
const (
	application     = "waybill"
	cellApplication = "waybill cell"
)

// A CellMap says where shards are: in the directory that of all cells, in a cell
// what that cell knows.
type CellMap struct {
	Cells  []Cell // by name; none in an installation with one database
	Shards [ship.Shards]ShardPlace
}

// A Cell is a database with its copies of the service.
type Cell struct {
	Name    string
	URL     string // of its copies of the service
	AddedAt time.Time
}

// A ShardPlace is where a shard is. The epoch counts its moves.
type ShardPlace struct {
	Cell     string
	Epoch    int
	MovingTo string // while nobody may write to it; else empty
}

const sqlThisCell = `SELECT coalesce((SELECT i.cell FROM instance i WHERE EXISTS (SELECT FROM cell_state)), '')`

// Cell returns the name of the cell that the database is, among others; empty if
// it is the only one.
func (s *Store) Cell() string { return s.cell }

// readCell returns the name of the cell. A wanted name is that of the settings.
func (s *Store) readCell(ctx context.Context, wanted string) (string, error) {
	name, err := selectOne(ctx, s.sys, pgx.RowTo[string], sqlThisCell)
	if err != nil {
		return "", fmt.Errorf("read the cell: %w", err)
	}

	switch {
	case wanted == "" || wanted == name:
		return name, nil
	case name == "":
		return "", ship.Errorf(ship.Conflict, "the database is not the cell %s: add it with \"waybill cell add %s\", or start without --cell", wanted, wanted)
	}
	return "", ship.Errorf(ship.Conflict, "the database is the cell %s, not %s: correct --cell or DATABASE_URL", name, wanted)
}

const sqlCells = `SELECT name, url, added_at FROM cells ORDER BY name`

const sqlShardPlaces = `SELECT shard, cell, epoch, coalesce(moving_to, '') FROM shards`

// CellMap returns where shards are, as this database knows it.
func (s *Store) CellMap(ctx context.Context) (*CellMap, error) { return readCellMap(ctx, s.sys) }

func readCellMap(ctx context.Context, db statements) (*CellMap, error) {
	var found CellMap
	var err error
	if found.Cells, err = selectList(ctx, db, pgx.RowToStructByPos[Cell], sqlCells); err != nil {
		return nil, fmt.Errorf("read the cells: %w", err)
	}

	var shard int
	var place ShardPlace
	err = selectEach(ctx, db, []any{&shard, &place.Cell, &place.Epoch, &place.MovingTo}, func() error {
		found.Shards[shard] = place
		return nil
	}, sqlShardPlaces)
	if err != nil {
		return nil, fmt.Errorf("read the shards: %w", err)
	}
	return &found, nil
}

const sqlListenToShards = `LISTEN waybill_shards`

// WatchShards calls changed when the database reports a change of the map, until
// ctx ends or the connection is lost. A notification can be missed, so the map
// must be read by the clock too.
func (s *Store) WatchShards(ctx context.Context, changed func()) error {
	conn, err := s.sys.Acquire(ctx)
	if err != nil {
		return explain(err)
	}
	defer func() {
		// A connection that listens is no use to others.
		_ = conn.Conn().Close(context.WithoutCancel(ctx))
		conn.Release()
	}()

	if _, err := conn.Exec(ctx, sqlListenToShards); err != nil {
		return explain(err)
	}
	changed() // what happened before it listened
	for {
		if _, err := conn.Conn().WaitForNotification(ctx); err != nil {
			return err
		}
		changed()
	}
}

const sqlEnterShard = `SELECT enter_shard($1)`

// EnterShardOf has a transaction of the system enter the shard of an account, as those
// of tenants do: a command of an operator must not change what is left of an account in
// a cell that gave it up.
func (s *Store) EnterShardOf(ctx context.Context, account ship.AccountID) error {
	if s.cell == "" || account == "" {
		return nil
	}
	_, err := s.tx.Exec(ctx, sqlEnterShard, int(account.Raw().Shard()))
	if err = explain(err); errors.Is(err, ErrMisdirected) {
		if elsewhere := s.Elsewhere(ctx, account.Raw().Shard()); elsewhere != nil {
			return fmt.Errorf("%w: %w", elsewhere, ErrMisdirected)
		}
	}
	return err
}

const sqlShardPlace = `
SELECT s.cell, s.epoch, coalesce(s.moving_to, ''), coalesce((SELECT c.url FROM cells c WHERE c.name = s.cell), '')
FROM shards s WHERE s.shard = $1`

// Elsewhere says in which cell a shard is, if not in this one; nil if it is here.
func (s *Store) Elsewhere(ctx context.Context, shard ship.Shard) error {
	if s.cell == "" {
		return nil
	}
	var place ShardPlace
	var address string
	if err := s.sys.QueryRow(ctx, sqlShardPlace, int(shard)).Scan(&place.Cell, &place.Epoch, &place.MovingTo, &address); err != nil {
		return explain(err)
	}

	switch {
	case place.Cell != s.cell:
		if address != "" {
			address = " (" + address + ")"
		}
		return ship.Coded(ship.Conflict, "misdirected", "the account is in the cell %s%s, and this is %s: run the command with the database of %s", place.Cell, address, s.cell, place.Cell)
	case place.MovingTo != "":
		return ship.Coded(ship.Conflict, "misdirected", "the account is moving to the cell %s: run the command again in a moment, with the database of the cell that has it then", place.MovingTo)
	}
	return nil
}

// A NewCell is a cell to add. Database is the address of its database with the
// login that owns the tables, which must be migrated.
type NewCell struct {
	Name     string
	URL      string
	Database string
}

const (
	sqlFenceCell      = `SELECT fence_cell()`
	sqlFenceNewTables = `SELECT fence_cell() WHERE EXISTS (SELECT FROM cell_state)`

	sqlAddCell = `
INSERT INTO cells (name, url) VALUES (@name, @url)
ON CONFLICT (name) DO UPDATE SET url = excluded.url`

	sqlNameCell = `UPDATE instance SET cell = $1, signing_key = $2, sealed_signing_key = $3`

	// sqlPlaceShards copies the map of the directory. Only what differs is
	// written, and nothing that a mover has written since the map was read. A shard
	// that moves is left to its mover, which does more than that.
	sqlPlaceShards = `
UPDATE shards s SET cell = v.cell, epoch = v.epoch
FROM unnest($1::text[], $2::int[], $3::boolean[]) WITH ORDINALITY AS v (cell, epoch, is_moving, position)
WHERE s.shard = v.position - 1 AND NOT v.is_moving AND v.epoch >= s.epoch
  AND (s.cell, s.epoch) IS DISTINCT FROM (v.cell, v.epoch)`

	sqlCountAccounts = `SELECT count(*) FROM accounts`
)

// AddCell makes a migrated database a cell, and enters it in the directory. The
// first cell holds all shards, later ones none until some are moved there. What
// it did before a failure is not done again.
func AddCell(ctx context.Context, directory string, add NewCell) error {
	main, err := connectOwner(ctx, directory)
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	defer func() { _ = main.Close(context.WithoutCancel(ctx)) }()
	own, err := connectOwner(ctx, add.Database)
	if err != nil {
		return fmt.Errorf("database of the cell: %w", err)
	}
	defer func() { _ = own.Close(context.WithoutCancel(ctx)) }()

	places, err := readCellMap(ctx, main)
	if err != nil {
		return err
	}
	isFirst := len(places.Cells) == 0
	if isFirst {
		for i := range places.Shards {
			places.Shards[i].Cell = add.Name
		}
	}
	if err := requireNewCell(ctx, own, places, add.Name); err != nil {
		return err
	}

	var key signingKey
	if err := main.QueryRow(ctx, sqlSigningKey).Scan(&key.plain, &key.sealed); err != nil {
		return fmt.Errorf("signing key: %w", explain(err))
	}
	if err := fenceCell(ctx, own, add.Name, key, places); err != nil {
		return fmt.Errorf("fence the cell: %w", explain(err))
	}

	// The directory comes last: from then on routers send requests there.
	return pgx.BeginFunc(ctx, main, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlAddCell, pgx.NamedArgs{"name": add.Name, "url": add.URL}); err != nil {
			return fmt.Errorf("enter the cell in the directory: %w", explain(err))
		}
		if !isFirst {
			return nil
		}
		return placeShards(ctx, tx, places)
	})
}

// connectOwner connects with a login that owns the tables.
func connectOwner(ctx context.Context, url string) (*pgx.Conn, error) {
	conn, state, err := inspectSchema(ctx, url)
	if err != nil {
		return nil, err
	}
	if err := state.NeedsMigration(); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	if !state.Login.OwnsTables {
		_ = conn.Close(ctx)
		return nil, ship.Errorf(ship.Forbidden, "the database user %s does not own the tables: use the login that migrates, %s", state.Login.User, state.Login.Owner)
	}
	return conn, nil
}

// requireNewCell refuses a database that is another cell, or that has accounts
// which the directory does not know of.
func requireNewCell(ctx context.Context, own *pgx.Conn, places *CellMap, name string) error {
	present, err := selectOne(ctx, own, pgx.RowTo[string], sqlThisCell)
	if err != nil {
		return fmt.Errorf("read the cell: %w", err)
	}
	if present == name {
		return nil
	}
	if present != "" {
		return ship.Errorf(ship.Conflict, "the database is the cell %s already", present)
	}

	for _, cell := range places.Cells {
		if cell.Name == name {
			return ship.Errorf(ship.Conflict, "there is a cell %s already, with another database", name)
		}
	}
	if len(places.Cells) == 0 {
		return nil // it holds all shards, and so may have any account
	}

	accounts, err := selectOne(ctx, own, pgx.RowTo[int], sqlCountAccounts)
	if err != nil {
		return fmt.Errorf("count the accounts: %w", err)
	}
	if accounts > 0 {
		return ship.Errorf(ship.Conflict, "the database has %d accounts: only the first cell may have some; use a new database, and move shards there", accounts)
	}
	return nil
}

// A signingKey is stored as it is or encrypted with SECRET_KEY, which all cells share.
type signingKey struct{ plain, sealed []byte }

// fenceCell makes the database of the connection a cell. It locks every table for
// a moment, so it waits for a short time only and tries again, like a migration.
func fenceCell(ctx context.Context, conn *pgx.Conn, name string, key signingKey, places *CellMap) error {
	if _, err := conn.Exec(ctx, sqlLimitLockWait); err != nil {
		return err
	}

	for start := time.Now(); ; {
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqlNameCell, name, key.plain, key.sealed); err != nil {
				return err
			}
			if err := placeShards(ctx, tx, places); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, sqlFenceCell)
			return err
		})
		if !isLockFailure(err) || time.Since(start) > lockPatience {
			return err
		}

		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func placeShards(ctx context.Context, tx pgx.Tx, places *CellMap) error {
	cells := make([]string, ship.Shards)
	epochs := make([]int, ship.Shards)
	moving := make([]bool, ship.Shards)
	for i, place := range places.Shards {
		cells[i] = place.Cell
		epochs[i] = place.Epoch
		moving[i] = place.MovingTo != ""
	}
	if _, err := tx.Exec(ctx, sqlPlaceShards, cells, epochs, moving); err != nil {
		return fmt.Errorf("place the shards: %w", explain(err))
	}
	return nil
}
