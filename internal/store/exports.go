package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// Exports of personal data: files with what is held about somebody.

// An Export is a file with what is held about a person, or the request for one.
type Export struct {
	ID          ship.ExportID
	Tenant      ship.Tenant
	Kind        string // "email" or "phone"
	SubjectHash []byte
	State       string         // one of the states below
	Encrypted   []byte         // the person; nil once it is done
	Counts      map[string]int // what the file has, by kind
	FinishedAt  time.Time
	ExpiresAt   time.Time // of the file
}

// The states of an export.
const (
	ExportPending = "pending"
	ExportDone    = "done"
	ExportExpired = "expired" // the file was deleted
)

const sqlAddExport = `
INSERT INTO exports (account_id, livemode, id, subject_kind, subject_hash, encrypted_subject)
VALUES (@account, @livemode, @id, @kind, @hash, @encrypted)`

// AddExport stores a request for an export, with its job and its entry of the
// audit log. The entry has ids alone.
func (s *Store) AddExport(ctx context.Context, e Export, j Job) error {
	err := s.InTx(ctx, e.Tenant, func(tx *Store) error {
		_, err := tx.exec(ctx, e.Tenant, sqlAddExport, tenantArgs(e.Tenant, e.ID, pgx.NamedArgs{
			"kind":      e.Kind,
			"hash":      e.SubjectHash,
			"encrypted": e.Encrypted,
		}))
		if err != nil {
			return err
		}
		if err := tx.Enqueue(ctx, j, 0); err != nil {
			return err
		}

		entry := EntryOf(e.Tenant, "export.requested", string(e.ID))
		entry.Details = map[string]string{"by": e.Kind}
		return tx.AuditChange(ctx, entry)
	})
	if err != nil {
		return fmt.Errorf("store an export: %w", err)
	}
	return nil
}

const exportColumns = `id, subject_kind, subject_hash, state, encrypted_subject, counts, finished_at, expires_at`

const sqlExport = `
SELECT ` + exportColumns + ` FROM exports
WHERE account_id = $1 AND livemode = $2 AND id = $3`

// Export returns an export without its file; ship.NotFound if there is none.
func (s *Store) Export(ctx context.Context, t ship.Tenant, id ship.ExportID) (Export, error) {
	return queryOne(ctx, s, t, exportScanner(t), sqlExport, t.Account, t.Livemode, id)
}

const sqlExports = `
SELECT ` + exportColumns + ` FROM exports
WHERE account_id = $1 AND livemode = $2 AND id < $3
ORDER BY id DESC LIMIT $4`

// Exports lists the tenant's exports, newest first, without their files.
func (s *Store) Exports(ctx context.Context, t ship.Tenant, p ship.Page) ([]Export, error) {
	_, before := idBounds(time.Time{}, time.Time{}, p.Before)
	return queryList(ctx, s, t, exportScanner(t), sqlExports, t.Account, t.Livemode, before, p.Limit)
}

// exportScanner returns a function that reads exports of the tenant.
func exportScanner(t ship.Tenant) pgx.RowToFunc[Export] {
	return func(r pgx.CollectableRow) (Export, error) {
		export := Export{Tenant: t}
		var counts []byte
		var finished, expires *time.Time
		err := r.Scan(&export.ID, &export.Kind, &export.SubjectHash, &export.State, &export.Encrypted, &counts, &finished, &expires)
		if err != nil {
			return export, err
		}

		export.FinishedAt = timeOrZero(finished)
		export.ExpiresAt = timeOrZero(expires)
		if err := json.Unmarshal(counts, &export.Counts); err != nil {
			return export, fmt.Errorf("read the counts of %s: %w", export.ID, err)
		}
		return export, nil
	}
}

const sqlExportFile = `
SELECT encrypted_file FROM exports
WHERE account_id = $1 AND livemode = $2 AND id = $3 AND state = 'done' AND expires_at > now()`

// ExportFile returns the encrypted file of an export; ship.NotFound if it is not
// ready or has expired.
func (s *Store) ExportFile(ctx context.Context, t ship.Tenant, id ship.ExportID) (file []byte, err error) {
	err = s.queryRow(ctx, t, func(r pgx.Row) error { return r.Scan(&file) }, sqlExportFile, t.Account, t.Livemode, id)
	return file, err
}

const sqlFinishExport = `
UPDATE exports SET
  state = 'done',
  encrypted_subject = NULL,
  encrypted_file = @file,
  counts = @counts,
  finished_at = @finished,
  expires_at = @expires
WHERE account_id = @account AND livemode = @livemode AND id = @id AND state = 'pending'`

// FinishExport stores the file of an export. It does nothing if the export was
// done or ended meanwhile.
func (s *Store) FinishExport(ctx context.Context, e Export, file []byte) error {
	counts, err := json.Marshal(e.Counts)
	if err != nil {
		return fmt.Errorf("write the counts: %w", err)
	}
	_, err = s.run(ctx, sqlFinishExport, tenantArgs(e.Tenant, e.ID, pgx.NamedArgs{
		"file":     file,
		"counts":   counts,
		"finished": e.FinishedAt,
		"expires":  e.ExpiresAt,
	}))
	return err
}

const sqlExpireExports = `
UPDATE exports SET state = 'expired', encrypted_file = NULL, encrypted_subject = NULL
WHERE state = 'done' AND expires_at <= $1`

// ExpireExports deletes the files that are past their time.
func (s *Store) ExpireExports(ctx context.Context, now time.Time) error {
	_, err := s.sys.Exec(ctx, sqlExpireExports, now)
	return explain(err)
}

const sqlEndExports = `
UPDATE exports SET state = 'expired', encrypted_file = NULL, encrypted_subject = NULL
WHERE account_id = @account AND livemode = @livemode AND state <> 'expired'`

// endExports deletes all files of the tenant: which of them have the person
// cannot be seen, and a file can be asked for again.
func endExports(ctx context.Context, w *erasureWork) (bool, error) {
	n, err := w.tx.run(ctx, sqlEndExports, w.args(nil))
	w.count("exports", n)
	return true, err
}

// A PersonsLine is a line of a batch that is about a person.
type PersonsLine struct {
	Batch  ship.BatchID
	Number int
	Header []string
	Cells  []string
}

const sqlLinesPage = `
SELECT r.batch_id, r.row_number, b.header, r.cells
FROM batch_rows r JOIN batches b ON b.account_id = r.account_id AND b.livemode = r.livemode AND b.id = r.batch_id
WHERE r.account_id = @account AND r.livemode = @livemode AND (r.batch_id, r.row_number) > (@batch, @number)
ORDER BY r.batch_id, r.row_number LIMIT @limit`

// LinesOf returns the lines of batches that are about the person.
func (s *Store) LinesOf(ctx context.Context, t ship.Tenant, subject ErasureSubject) ([]PersonsLine, error) {
	var list []PersonsLine
	var last PersonsLine
	for {
		rows := 0
		var header, cells []byte
		err := selectEach(ctx, s.system(), []any{&last.Batch, &last.Number, &header, &cells}, func() error {
			rows++
			line := PersonsLine{Batch: last.Batch, Number: last.Number}

			if err := json.Unmarshal(cells, &line.Cells); err != nil {
				return fmt.Errorf("read line %d of a batch: %w", line.Number, err)
			}
			if !subject.owns(line.Cells) {
				return nil
			}

			if err := json.Unmarshal(header, &line.Header); err != nil {
				return fmt.Errorf("read the header of %s: %w", line.Batch, err)
			}
			list = append(list, line)
			return nil
		}, sqlLinesPage, tenantArgs(t, nil, pgx.NamedArgs{"batch": last.Batch.Raw(), "number": last.Number, "limit": erasureWindow}))
		if err != nil || rows < erasureWindow {
			return list, err
		}
	}
}
