package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

const subjectKeys = `unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[]) AS k (account_id, livemode, id)`

// sqlLockJourneys locks in the order of ids, so that batches that overlap
// cannot deadlock.
const sqlLockJourneys = `
SELECT ` + trackColumns + `
FROM ` + subjectKeys + ` JOIN shipment_states st USING (account_id, livemode, id)
ORDER BY st.account_id, st.livemode, st.id FOR UPDATE OF st`

const sqlJourneys = `
SELECT ` + trackColumns + `
FROM ` + subjectKeys + ` JOIN shipment_states st USING (account_id, livemode, id)`

// Journeys returns the rows of the parcels, of any tenants.
func (s *Store) Journeys(ctx context.Context, parcels []ship.Subject) ([]ship.Journey, error) {
	rows, err := s.sys.Query(ctx, sqlJourneys, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read journeys: %w", explain(err))
	}
	var list []ship.Journey
	err = each(rows, func(r pgx.Rows) error {
		j, err := scanJourney(r)
		list = append(list, j)
		return err
	})
	return list, explain(err)
}

// LockJourneys locks the rows of the parcels until the transaction ends. Each
// may be named once. Parcels that are not there are left out.
func (s *Store) LockJourneys(ctx context.Context, parcels []ship.Subject) ([]ship.Journey, error) {
	rows, err := s.tx.Query(ctx, sqlLockJourneys, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("lock journeys: %w", explain(err))
	}
	var list []ship.Journey
	var reader journeyReader
	err = each(rows, func(r pgx.Rows) error {
		j, err := reader.read(r)
		list = append(list, j)
		return err
	})
	return list, explain(err)
}

func scanJourney(r pgx.Row) (ship.Journey, error) {
	var reader journeyReader
	return reader.read(r)
}

// A journeyReader reads rows of journeys, many of them without making the
// targets anew for each.
type journeyReader struct {
	subject          subjectReader
	carrier, number  *string
	boughtAt, newest *time.Time
	row              journeyRow
	j                ship.Journey
	targets          []any
}

// read reads a row. Further columns stand before the journey's.
func (x *journeyReader) read(r pgx.Row, further ...any) (ship.Journey, error) {
	if x.targets == nil {
		x.targets = slices.Concat(further, x.subject.targets(),
			[]any{&x.j.Followed, &x.j.Attempt, &x.j.Pieces, &x.carrier, &x.number, &x.boughtAt, &x.newest}, x.row.targets())
	}
	if err := r.Scan(x.targets...); err != nil {
		return ship.Journey{}, err
	}
	x.j.Subject = x.subject.read()
	x.j.State, x.j.Progress, x.j.Sequence = ship.State(value(x.row.state)), x.row.progress(), x.row.sequence
	x.j.Carrier, x.j.Number, x.j.BoughtAt, x.j.NewestAt = value(x.carrier), value(x.number), timeOrZero(x.boughtAt), timeOrZero(x.newest)
	return x.j, nil
}

// A subjectReader reads whose a row is, and its id. Rows of an account often
// come together, and its id is written once for them.
type subjectReader struct {
	account, id, last [16]byte
	tenant            ship.Tenant
}

func (x *subjectReader) targets() []any { return []any{&x.account, &x.tenant.Livemode, &x.id} }

func (x *subjectReader) read() ship.Subject {
	if x.tenant.Account == "" || x.account != x.last {
		x.tenant.Account, x.last = ship.AccountIDOf(x.account), x.account
	}
	return ship.Subject{Tenant: x.tenant, ID: x.id}
}

const scanColumns = `t.piece, t.code, t.occurred_at, t.status::text, t.reason, t.description, t.location, t.timezone_unknown, t.notified`

const sqlScans = `
SELECT t.account_id, t.livemode, t.subject_id, ` + scanColumns + `
FROM ` + subjectKeys + `
JOIN tracking_events t ON t.account_id = k.account_id AND t.livemode = k.livemode AND t.subject_id = k.id`

// Scans returns all tracking events of the parcels, those that follow from
// their rows included.
func (s *Store) Scans(ctx context.Context, journeys []ship.Journey) (map[ship.Subject][]ship.Scan, error) {
	parcels := make([]ship.Subject, len(journeys))
	scans := make(map[ship.Subject][]ship.Scan, len(journeys))
	for i, j := range journeys {
		parcels[i] = j.Subject
		scans[j.Subject] = j.OwnScans()
	}
	rows, err := s.tx.Query(ctx, sqlScans, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read scans: %w", explain(err))
	}
	var subject subjectReader
	var row scanRow
	targets := append(subject.targets(), row.targets()...)
	err = each(rows, func(r pgx.Rows) error {
		if err := r.Scan(targets...); err != nil {
			return err
		}
		p := subject.read()
		scans[p] = append(scans[p], row.scan())
		return nil
	})
	return scans, explain(err)
}

// scanRow is what scanColumns select.
type scanRow struct {
	s                        ship.Scan
	status, reason, location *string
}

func (r *scanRow) targets() []any {
	return []any{&r.s.Piece, &r.s.Code, &r.s.At, &r.status, &r.reason, &r.s.Description, &r.location, &r.s.ZoneUnknown, &r.s.Told}
}

func (r *scanRow) scan() ship.Scan {
	r.s.At = r.s.At.UTC()
	r.s.Status, r.s.Reason, r.s.Location = ship.Status(value(r.status)), value(r.reason), value(r.location)
	return r.s
}

// A Change is what a transaction does to a parcel: its row as it is to be, the
// scans that are new, and what the client is told.
type Change struct {
	Journey ship.Journey
	Scans   []NewScan
	Events  []ship.Event
}

// A NewScan is a scan with what the carrier sent.
type NewScan struct {
	ship.Scan
	Raw []byte // JSON; nil when there is none
}

const sqlSaveJourneys = `
UPDATE shipment_states st SET
  state = v.state::purchase_state,
  status = v.status::tracking_status,
  reason = v.reason,
  sequence = v.sequence,
  last_event_at = v.last_event_at,
  checked_at = v.checked_at,
  estimated_delivery_at = v.estimated_delivery_at,
  estimate_source = v.estimate_source,
  piece_statuses = string_to_array(v.piece_statuses, ',')::tracking_status[]
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @states::text[], @statuses::text[], @reasons::text[], @sequences::int[],
  @newest::timestamptz[], @checked::timestamptz[], @estimates::timestamptz[], @sources::text[], @pieces::text[])
  AS v (account_id, livemode, id, state, status, reason, sequence, last_event_at, checked_at, estimated_delivery_at, estimate_source, piece_statuses)
WHERE st.account_id = v.account_id AND st.livemode = v.livemode AND st.id = v.id`

// sqlAddScans adds new scans. One that is there without a status gets it.
const sqlAddScans = `
INSERT INTO tracking_events (account_id, livemode, subject_id, piece, code, occurred_at, status, reason, description, location, timezone_unknown, raw)
SELECT account_id, livemode, subject_id, piece, code, occurred_at, status::tracking_status, reason, description, location, timezone_unknown, raw::json
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @pieces::int[], @codes::text[], @times::timestamptz[], @statuses::text[],
  @reasons::text[], @descriptions::text[], @locations::text[], @zones::boolean[], @raws::text[])
  AS v (account_id, livemode, subject_id, piece, code, occurred_at, status, reason, description, location, timezone_unknown, raw)
ON CONFLICT (account_id, livemode, subject_id, piece, code, occurred_at) DO UPDATE SET status = excluded.status, reason = excluded.reason
WHERE tracking_events.status IS NULL`

// sqlNoteQuiet writes down which of the parcels are about to change without an
// event, in what their facts are made of.
const sqlNoteQuiet = `
INSERT INTO shipment_changes (account_id, livemode, shipment_id)
SELECT st.account_id, st.livemode, st.id
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @states::text[], @statuses::text[], @newest::timestamptz[], @estimates::timestamptz[])
  AS v (account_id, livemode, id, state, status, last_event_at, estimated_delivery_at)
JOIN shipment_states st USING (account_id, livemode, id)
WHERE NOT st.is_tracker
  AND (st.state, st.status, st.last_event_at, st.estimated_delivery_at)
    IS DISTINCT FROM (v.state::purchase_state, v.status::tracking_status, v.last_event_at, v.estimated_delivery_at)`

const sqlAddEvents = `
INSERT INTO events (account_id, livemode, subject_id, is_tracker, id, kind, sequence, late, body_version, snapshot)
SELECT account_id, livemode, subject_id, is_tracker, id, kind::event_kind, sequence, late, @version, snapshot::json
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @subjects::uuid[], @trackers::boolean[], @ids::uuid[], @kinds::text[], @sequences::int[],
  @lates::boolean[], @snapshots::text[])
  AS v (account_id, livemode, subject_id, is_tracker, id, kind, sequence, late, snapshot)`

// Apply writes the changes in one round trip. The journeys must be locked.
func (s *Store) Apply(ctx context.Context, changes []Change) error {
	journeys, quiet, scans, events := columns{}, columns{}, columns{}, columns{}
	for _, c := range changes {
		journeys.journey(c.Journey)
		if len(c.Events) == 0 && !c.Journey.Followed {
			quiet.journey(c.Journey)
		}
		for _, sc := range c.Scans {
			scans.scan(c.Journey.Subject, sc)
		}
		for _, e := range c.Events {
			if err := events.event(c.Journey, e); err != nil {
				return err
			}
		}
	}
	b := &pgx.Batch{}
	if len(quiet) > 0 {
		b.Queue(sqlNoteQuiet, quiet.args())
	}
	b.Queue(sqlSaveJourneys, journeys.args())
	if len(scans) > 0 {
		b.Queue(sqlAddScans, scans.args())
	}
	if len(events) > 0 {
		args := events.args()
		args["version"] = BodyVersion
		b.Queue(sqlAddEvents, args)
	}
	if err := s.tx.SendBatch(ctx, b).Close(); err != nil {
		return fmt.Errorf("apply changes: %w", explain(err))
	}
	return nil
}

func (c columns) journey(j ship.Journey) {
	c.addTenant(j.Tenant)
	c.add("ids", [16]byte(j.ID))
	c.add("states", null(string(j.State)))
	c.add("statuses", string(j.Progress.Status))
	c.add("reasons", null(j.Progress.Reason))
	c.add("sequences", j.Sequence)
	c.add("newest", nullTime(j.NewestAt))
	c.add("checked", nullTime(j.Progress.CheckedAt))
	c.add("estimates", nullTime(j.Progress.EstimateAt))
	c.add("sources", null(j.Progress.EstimateSource))
	c.add("pieces", null(joined(j.Progress.Pieces)))
}

func joined(list []ship.Status) string {
	var b []byte
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, s...)
	}
	return string(b)
}

func (c columns) scan(p ship.Subject, s NewScan) {
	c.addTenant(p.Tenant)
	c.add("ids", [16]byte(p.ID))
	c.add("pieces", s.Piece)
	c.add("codes", s.Code)
	c.add("times", s.At.Truncate(time.Second))
	c.add("statuses", null(string(s.Status)))
	c.add("reasons", null(s.Reason))
	c.add("descriptions", s.Description)
	c.add("zones", s.ZoneUnknown)
	c.add("locations", null(s.Location))
	c.add("raws", null(string(s.Raw)))
}

func (c columns) event(j ship.Journey, e ship.Event) error {
	snapshot, err := json.Marshal(e.Snapshot)
	if err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	c.addTenant(j.Tenant)
	c.add("subjects", [16]byte(j.ID))
	c.add("trackers", j.Followed)
	c.add("ids", [16]byte(e.ID.Raw()))
	c.add("kinds", string(e.Kind))
	c.add("sequences", e.Sequence)
	c.add("lates", e.Late)
	c.add("snapshots", string(snapshot))
	return nil
}
