package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Config is what a Watch needs.
type Config struct {
	Store *store.Store
	Log   *Log
	Box   *seal.Box // seals what the database keeps of a missing purchase
	Dir   string    // where the disk's file is
	Slog  *slog.Logger
}

// A Watch compares the database with what this machine's disk knows of it: at the start,
// every few seconds, and before the first purchase on another server. It is safe for
// concurrent use.
type Watch struct {
	Config
	host string

	looking  sync.Mutex
	verified atomic.Int64 // the count of server changes that the last look has covered
	state    atomic.Pointer[store.RestoreState]
	isFull   atomic.Bool // the last write to the disk failed
}

// New returns a watch that has not looked yet.
func New(c Config) *Watch {
	host, _ := os.Hostname() // it is only shown
	w := &Watch{Config: c, host: host}
	w.verified.Store(-1)
	w.state.Store(&store.RestoreState{})
	return w
}

// State is what was known of the last restore a moment ago.
func (w *Watch) State() store.RestoreState { return *w.state.Load() }

// IsVerified reports whether the database that purchases are recorded in is the one that
// was last compared with the disk.
func (w *Watch) IsVerified() bool {
	return w.verified.Load() == int64(w.Store.ServerChanges())
}

// Verify compares the database unless that is done.
func (w *Watch) Verify(ctx context.Context) error {
	if w.IsVerified() {
		return nil
	}
	return w.Look(ctx)
}

// Look compares the database with the disk, joins this machine's log after a restore, and
// records that this copy is alive.
func (w *Watch) Look(ctx context.Context) error {
	w.looking.Lock()
	defer w.looking.Unlock()
	changes := w.Store.ServerChanges()

	// The disk is read first: a process that shares it may write both meanwhile.
	known, isThere, err := readDisk(w.Dir, w.Log.Installation)
	if err != nil {
		return err
	}
	state, err := w.Store.RestoreState(ctx)
	if err != nil {
		return err
	}
	now, err := w.Store.CopyState(ctx, known.Copy)
	if err != nil {
		return err
	}

	joined, err := w.join(ctx, known, isThere, now, state)
	if err != nil {
		return err
	}
	if err := w.beat(ctx, known, now, joined); err != nil {
		return err
	}

	// The store refuses purchases after a restore that this process does not know of,
	// so it may know of it only now that the log is joined.
	if state, err = w.Store.RestoreState(ctx); err != nil {
		return err
	}
	w.state.Store(&state)
	w.Store.KnowRestore(state.Number)
	w.verified.Store(int64(changes))
	return nil
}

// join compares the log with the database if there was a restore since it was last
// compared, and returns the number of the last restore.
func (w *Watch) join(ctx context.Context, known disk, isThere bool, now store.CopyState, state store.RestoreState) (int, error) {
	var found difference
	if isThere {
		found = known.compare(now, time.Now())
	}
	isJoined := isThere && found.by == "" && known.Joined >= state.Number
	if isJoined {
		return state.Number, nil
	}

	number := max(state.Number, known.Joined)
	if found.mayHaveLost {
		noticed, err := w.notice(ctx, known, now, found)
		if err != nil {
			return 0, err
		}
		number = noticed
	}

	missing, err := w.compare(ctx)
	if err != nil {
		return 0, err
	}
	if missing == 0 {
		return number, nil
	}

	if !found.mayHaveLost && state.Number <= known.Joined {
		noticed, err := w.notice(ctx, known, now, difference{by: "missing", mayHaveLost: true})
		if err != nil {
			return 0, err
		}
		number = noticed
	}
	w.Slog.ErrorContext(ctx, "the database was restored and lacks purchases; run \"waybill restored\"", "missing", missing, "restore", number)
	return number, nil
}

// notice records the restore.
func (w *Watch) notice(ctx context.Context, known disk, now store.CopyState, found difference) (int, error) {
	copies := map[string]time.Time{known.Copy: known.At}
	for id, at := range known.Copies {
		copies[id] = at
	}
	number, err := w.Store.NoticeRestore(ctx, store.NoticedRestore{
		By:          found.by,
		MayHaveLost: found.mayHaveLost,
		Since:       known.Joined,
		RestoredTo:  now.SeenAt,
		Copies:      copies,
	})
	if err != nil {
		return 0, err
	}
	w.Slog.WarnContext(ctx, "the database was restored to an earlier moment", "noticed_by", found.by, "restored_to", now.SeenAt, "restore", number)
	return number, nil
}

// beat records that this copy is alive: in the database first, so that the disk never
// knows more than was committed.
func (w *Watch) beat(ctx context.Context, known disk, now store.CopyState, joined int) error {
	beat, err := w.Store.Beat(ctx, known.Copy, w.host, known.Beat, joined)
	if err != nil {
		return err
	}
	copies, err := w.Store.CopiesSeen(ctx)
	if err != nil {
		return err
	}

	known.Beat = beat.Number
	known.At = beat.At
	known.Joined = joined
	known.Server = now.Server
	known.Server.WAL = beat.WAL
	known.see(copies, beat.At)

	// A full disk knows less than the database, which is no reason to sell nothing: a
	// later restore is compared with more of the log.
	err = known.write(w.Dir, w.Log.Installation)
	if isFull := err != nil; w.isFull.Swap(isFull) != isFull && isFull {
		w.Slog.ErrorContext(ctx, "the state of the database cannot be written to SPOOL_DIR; a restore may not be noticed", "error", err)
	}
	return nil
}

// End records that this copy stops in order: a later restore does not wait for it.
func (w *Watch) End(ctx context.Context) error {
	known, isThere, err := readDisk(w.Dir, w.Log.Installation)
	if err != nil || !isThere {
		return err
	}
	return w.Store.EndCopy(ctx, known.Copy)
}

// knownInARow is after how many entries that the database knows the comparison ends: a
// restore loses the newest.
const knownInARow = 1000

// comparedAtOnce is how many entries are compared by one statement.
const comparedAtOnce = 250

// compare finds the purchases of the log that the database lacks and records them. It
// returns how many there are.
func (w *Watch) compare(ctx context.Context) (int, error) {
	c := &comparison{Watch: w, ended: map[attempt]bool{}, taken: map[ship.ShipmentID]bool{}}

	err := w.Log.EachHourBackward(ctx, func(data []byte) (bool, error) {
		entry, err := decodeEntry(data)
		if err != nil {
			return false, err
		}
		c.batch = append(c.batch, entry)
		if len(c.batch) < comparedAtOnce {
			return true, nil
		}
		err = c.flush(ctx)
		return c.inARow < knownInARow, err
	}, func() (bool, error) {
		err := c.flush(ctx)
		return c.inARow >= knownInARow, err
	})

	// A file of another key must not keep back what was found in the others.
	if errors.Is(err, seal.ErrOpen) {
		w.Slog.WarnContext(ctx, "a file of the recovery log cannot be decrypted", "error", err)
		err = nil
	}
	return c.missing, err
}

// An attempt is one of a shipment.
type attempt struct {
	shipment ship.ShipmentID
	number   int
}

// A comparison goes through the log from its end.
type comparison struct {
	*Watch
	batch   []Entry
	ended   map[attempt]bool         // attempts that sold nothing, or whose label is voided
	taken   map[ship.ShipmentID]bool // shipments that are recorded as missing
	inARow  int                      // entries that the database knows, since the last that it does not
	missing int
}

// flush compares the batch and records what is missing.
func (c *comparison) flush(ctx context.Context) error {
	var asked []Entry
	var list []store.LoggedPurchase
	for _, entry := range c.batch {
		isOther := entry.Installation != "" && entry.Installation != c.Log.Installation
		if isOther || entry.Erased || !entry.Tenant.Livemode {
			continue
		}
		asked = append(asked, entry)
		list = append(list, store.LoggedPurchase{
			Tenant:   entry.Tenant,
			Shipment: entry.Shipment,
			Attempt:  max(entry.Attempt, 1),
			IsNamed:  entry.Installation != "",
		})
	}
	c.batch = c.batch[:0]
	if len(list) == 0 {
		return nil
	}

	known, err := c.Store.Knowledge(ctx, list)
	if err != nil {
		return err
	}

	var lost []store.MissingPurchase
	for i, entry := range asked {
		switch known[i] {
		case store.IsKnown:
			c.inARow++
		case store.IsMissing:
			c.inARow = 0
		}
		purchase, isLost, err := c.judge(entry, known[i])
		if err != nil {
			return err
		}
		if isLost {
			lost = append(lost, purchase)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return c.Store.AddMissing(ctx, lost)
}

// judge says whether the entry is a purchase to be recorded as missing. Entries come
// newest first: what became of an attempt is seen before its request.
func (c *comparison) judge(entry Entry, known store.Knowledge) (store.MissingPurchase, bool, error) {
	is := attempt{entry.Shipment, entry.Attempt}
	isOpenSale := known == store.IsOpen && entry.Kind == Sold
	if known != store.IsMissing && !isOpenSale || c.taken[entry.Shipment] {
		return store.MissingPurchase{}, false, nil
	}

	state := store.PurchaseMissing
	switch {
	case entry.Kind == NotSold:
		c.ended[is] = true
		return store.MissingPurchase{}, false, nil
	case entry.Kind == Voided && entry.Attempt > 0: // an orphaned label of the shipment
		c.ended[is] = true
		return store.MissingPurchase{}, false, nil
	case entry.Kind == Voided:
		c.taken[entry.Shipment] = true
		state = store.PurchaseVoided
	case c.ended[is]:
		return store.MissingPurchase{}, false, nil
	case isOpenSale:
		state = store.PurchaseAdopting // the row is there, and its sale is known: nothing is to be decided
	default:
		c.taken[entry.Shipment] = true
		c.missing++
	}

	missing, err := c.missingPurchase(entry)
	missing.State = state
	return missing, true, err
}

func (c *comparison) missingPurchase(entry Entry) (store.MissingPurchase, error) {
	data, err := json.Marshal(entry)
	if err != nil {
		return store.MissingPurchase{}, fmt.Errorf("encode a missing purchase: %w", err)
	}

	missing := store.MissingPurchase{
		Tenant:      entry.Tenant,
		Shipment:    entry.Shipment,
		Attempt:     max(entry.Attempt, 1),
		Key:         entry.Purchase.Key,
		Carrier:     entry.Purchase.Carrier,
		Service:     entry.Purchase.Service,
		Connection:  entry.Purchase.Connection,
		RequestedAt: entry.At,
		Entry:       sealEntry(c.Box, entry.Shipment, data),
	}
	if entry.Kind == Sold {
		missing.Number = entry.Purchase.TrackingNumber
		missing.Price = entry.Purchase.Price
	}
	return missing, nil
}

// AddSale records a sale that the local spool has and whose purchase the database lost. The
// spool has no request: that of an entry which is recorded already is kept.
func (w *Watch) AddSale(ctx context.Context, entry Entry) error {
	entry.Kind = Sold
	recorded, err := w.Store.MissingPage(ctx, store.MissingChoice{Tenant: entry.Tenant, Shipments: []ship.ShipmentID{entry.Shipment}}, 1, 0)
	if err != nil {
		return err
	}
	if len(recorded) == 1 && recorded[0].Entry != nil {
		request, err := w.Open(recorded[0])
		if err != nil {
			return err
		}
		entry = entry.withRequest(request)
	}

	missing, err := (&comparison{Watch: w}).missingPurchase(entry)
	if err != nil {
		return err
	}
	missing.State = store.PurchaseMissing
	return w.Store.AddMissing(ctx, []store.MissingPurchase{missing})
}

// sealEntry seals an entry for the database.
func sealEntry(box *seal.Box, id ship.ShipmentID, data []byte) []byte {
	return box.Seal(data, binding(id)...)
}

func binding(id ship.ShipmentID) []string { return []string{"missing_purchase", string(id)} }

// ResealEntries brings what is kept of missing purchases under the box's present key, and
// calls report for each that needs it.
func ResealEntries(ctx context.Context, st *store.Store, box *seal.Box, report func(error)) error {
	return st.ResealRows(ctx, store.SealedMissing, box.KeyHeaders()[0], func(row store.SealedRow) [][]byte {
		id := ship.ShipmentIDOf(row.ID)
		resealed, err := box.ResealEach(row.Secrets, func(int) []string { return binding(id) })
		if err != nil {
			err = fmt.Errorf("missing purchase %s: %w", id, err)
		}
		report(err)
		return resealed
	})
}

// Open returns what is known of a missing purchase.
func (w *Watch) Open(missing store.MissingPurchase) (Entry, error) { return openEntry(w.Box, missing) }

func openEntry(box *seal.Box, missing store.MissingPurchase) (Entry, error) {
	data, err := box.Open(missing.Entry, binding(missing.Shipment)...)
	if err != nil {
		return Entry{}, fmt.Errorf("missing purchase %s: %w", missing.Shipment, err)
	}
	return decodeEntry(data)
}

// Redact returns the order of a missing purchase, and its sealed entry as an erasure leaves
// it; no entry, if it was erased before.
func Redact(box *seal.Box, missing store.MissingPurchase) (ship.Order, []byte, error) {
	entry, err := openEntry(box, missing)
	if err != nil || entry.Erased {
		return entry.Order, nil, err
	}
	data, err := json.Marshal(entry.WithoutPersonalData())
	if err != nil {
		return ship.Order{}, nil, fmt.Errorf("encode missing purchase %s: %w", missing.Shipment, err)
	}
	return entry.Order, sealEntry(box, missing.Shipment, data), nil
}
