package archive_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/archive"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// person is somebody who must not be in the archive.
const person = "Wilhelmina Kanarienvogel"

// bench is a database with the login that owns nothing, and an empty archive.
type bench struct {
	*store.Store
	t      *testing.T
	url    string // of the owner
	worker archive.Worker
}

func newBench(t *testing.T) *bench {
	t.Helper()
	url := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: storetest.ServingURL(t, url), Connections: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return &bench{Store: st, t: t, url: url, worker: archive.Worker{
		Archive:   archive.Archive{Dir: t.TempDir()},
		Store:     st,
		Shipments: 400 * 24 * time.Hour,
		Log:       slog.New(slog.DiscardHandler),
	}}
}

// create stores a shipment of the person with events, as if it were that time.
func (b *bench) create(tenant ship.Tenant, number string, at time.Time) ship.ShipmentID {
	b.t.Helper()
	if err := store.MaintainPartitions(b.t.Context(), b.url, at, nil); err != nil {
		b.t.Fatal(err)
	}
	shipment := storetest.Shipment(tenant, "order-"+number)
	shipment.ID = ship.NewShipmentID(tenant.Shard(), at)
	shipment.Order.Destination.Name = person
	creation := storetest.Bought(shipment, number)
	for i, id := range ship.NewEventIDs(tenant.Shard(), at, 2) {
		creation.Events[i].ID = id
	}
	creation.Events[1].Snapshot.Scan = &ship.ScanNote{Code: "D", At: at, Status: ship.Delivered, Description: "Signed by " + person}
	if _, err := b.Create(b.t.Context(), creation); err != nil {
		b.t.Fatal(err)
	}
	_, err := storetest.Conn(b.t, b.url).Exec(b.t.Context(),
		"UPDATE shipment_states SET purchased_at = $1, last_event_at = $1 WHERE tracking_number = $2", at, number)
	if err != nil {
		b.t.Fatal(err)
	}
	return shipment.ID
}

// work archives all that is due.
func (b *bench) work() {
	b.t.Helper()
	for {
		n, err := b.worker.Work(b.t.Context())
		if err != nil {
			b.t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

// query returns the rows that a filter chooses.
func (b *bench) query(filter archive.Filter) (rows []map[string]any) {
	b.t.Helper()
	err := b.worker.Archive.Query(filter, func(line []byte) error {
		var row map[string]any
		rows = append(rows, row)
		return json.Unmarshal(line, &rows[len(rows)-1])
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return rows
}

// text returns all files of the archive, decompressed.
func (b *bench) text() string {
	b.t.Helper()
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(b.worker.Archive.Dir, "*", "*.gz"))
	if len(files) == 0 {
		b.t.Fatal("the archive is empty")
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			b.t.Fatal(err)
		}
		packed, err := gzip.NewReader(file)
		if err != nil {
			b.t.Fatal(err)
		}
		if _, err := io.Copy(&all, packed); err != nil {
			b.t.Fatal(err)
		}
		file.Close()
	}
	return all.String()
}

// exists reports whether the database has a table.
func (b *bench) exists(name string) (found bool) {
	b.t.Helper()
	if err := storetest.Conn(b.t, b.url).QueryRow(b.t.Context(), "SELECT to_regclass($1) IS NOT NULL", name).Scan(&found); err != nil {
		b.t.Fatal(err)
	}
	return found
}

func TestAPartitionIsDroppedOnceItIsArchived(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := storetest.Tenant()
	past := time.Now().UTC().AddDate(0, 0, -40)
	id := b.create(tenant, "1ZOLD", past)
	partition := "events_" + past.Format("20060102")

	for range 2 { // without the archive it stays
		if err := b.MaintainPartitions(t.Context(), nil, b.worker.Archive.Has); err != nil {
			t.Fatal(err)
		}
		if !b.exists(partition) {
			t.Fatal("it was dropped before it was archived")
		}
	}
	b.work()
	if err := b.MaintainPartitions(t.Context(), nil, b.worker.Archive.Has); err != nil {
		t.Fatal(err)
	}
	if b.exists(partition) {
		t.Error("it is archived, and was not dropped")
	}

	rows := b.query(archive.Filter{Table: "events", Account: string(tenant.Account), Subject: string(id)})
	if len(rows) != 2 || rows[0]["account_id"] != string(tenant.Account) || rows[0]["subject_id"] != string(id) || rows[0]["status"] == nil {
		t.Errorf("the events of the shipment: %v", rows)
	}
	if others := b.query(archive.Filter{Table: "events", Account: string(storetest.Tenant().Account)}); len(others) != 0 {
		t.Errorf("events of another account: %v", others)
	}
	if later := b.query(archive.Filter{Table: "events", From: past.AddDate(0, 0, 2)}); len(later) != 0 {
		t.Errorf("events of later days: %v", later)
	}
	if strings.Contains(b.text(), person) {
		t.Error("the archive names the recipient")
	}
}

func TestAYearIsArchivedWithoutPeople(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tenant := storetest.Tenant()
	at := time.Date(time.Now().Year()-3, 6, 1, 0, 0, 0, 0, time.UTC)
	erased := b.create(tenant, "1ZERASED", at)
	if _, _, err := b.EraseOlder(t.Context(), tenant, at.AddDate(0, 0, 1)); err != nil {
		t.Fatal(err)
	}
	kept := b.create(tenant, "1ZNOTYET", at.AddDate(0, 0, 2))

	// Years before it have no shipments, and are dropped.
	for {
		b.work()
		year, err := b.ExpiredYear(t.Context(), b.worker.Shipments)
		if err != nil {
			t.Fatal(err)
		}
		if year.Year == at.Format("2006") {
			break
		}
		if err := b.DropShipments(t.Context(), year, b.worker.Shipments); err != nil {
			t.Fatal(err)
		}
	}

	rows := b.query(archive.Filter{Table: "shipments", From: at, To: at.AddDate(0, 0, 1)})
	slices.SortFunc(rows, func(x, y map[string]any) int { return strings.Compare(x["id"].(string), y["id"].(string)) })
	if len(rows) != 2 || rows[0]["id"] != string(erased) || rows[1]["id"] != string(kept) {
		t.Fatalf("shipments %v", rows)
	}
	if rows[0]["request"] == nil || rows[1]["request"] != nil {
		t.Errorf("the order of a shipment is archived if it was erased, and only then: %v", rows)
	}
	for _, table := range store.ArchivedTables() {
		exported := 0
		partition := store.Partition{Table: table, Name: table, Start: at.AddDate(-1, 0, 0), End: time.Now()}
		err := b.ExportPartition(t.Context(), partition, func([]byte) error { exported++; return nil })
		if err != nil || exported == 0 && slices.Contains([]string{"shipments", "shipment_states", "events"}, table) {
			t.Errorf("%s: %d rows, %v", table, exported, err)
		}
	}
	if states := b.query(archive.Filter{Table: "shipment_states", Subject: string(erased)}); len(states) != 1 || states[0]["tracking_number"] != "1ZERASED" {
		t.Errorf("states %v", states)
	}
	if strings.Contains(b.text(), person) {
		t.Error("the archive names the recipient")
	}
}

// rows is a source of so many rows, which may fail at the end.
type rows struct {
	n   int
	err error
}

func (r rows) ExportPartition(_ context.Context, _ store.Partition, fn func([]byte) error) error {
	for range r.n {
		if err := fn([]byte(`{"a":1}`)); err != nil {
			return err
		}
	}
	return r.err
}

// TestCellsDoNotCountOnEachOthersFiles has two cells with one directory, whose
// partitions have the same names.
func TestCellsDoNotCountOnEachOthersFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	day := time.Date(2025, 1, 31, 0, 0, 0, 0, time.UTC)
	partition := store.Partition{Table: "events", Name: "events_20250131", Start: day, End: day.AddDate(0, 0, 1)}
	if _, err := archive.Of(dir, "eu-1").Add(t.Context(), rows{n: 3}, partition); err != nil {
		t.Fatal(err)
	}
	if !archive.Of(dir, "eu-1").Has(partition) || archive.Of(dir, "eu-2").Has(partition) || archive.Of(dir, "").Has(partition) {
		t.Error("a cell would drop a partition that only another cell has archived")
	}
}

func TestWhatWasNotWrittenAsAWholeIsNotInTheArchive(t *testing.T) {
	t.Parallel()
	opened := archive.Archive{Dir: t.TempDir()}
	day := time.Date(2025, 1, 31, 0, 0, 0, 0, time.UTC)
	partition := store.Partition{Table: "events", Name: "events_20250131", Start: day, End: day.AddDate(0, 0, 1)}
	path := filepath.Join(opened.Dir, "events", "events_20250131.jsonl.gz")

	if _, err := opened.Add(t.Context(), rows{n: 3, err: errors.New("the database has gone")}, partition); err == nil || opened.Has(partition) {
		t.Fatalf("an export that failed: %v, %t", err, opened.Has(partition))
	}
	if left, _ := filepath.Glob(filepath.Join(opened.Dir, "events", "*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}

	written, err := opened.Add(t.Context(), rows{n: 3}, partition)
	if err != nil || written.Rows != 3 || !opened.Has(partition) {
		t.Fatalf("%+v, %v", written, err)
	}
	if err := opened.Verify(written); err != nil {
		t.Error(err)
	}

	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, whole[:len(whole)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if opened.Has(partition) {
		t.Error("a file that was cut off counts as archived")
	}
	changed := bytes.Clone(whole)
	changed[len(changed)/2] ^= 1
	if err := os.WriteFile(path, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := opened.Verify(written); err == nil {
		t.Error("a file that was changed is verified")
	}
}
