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

// subjectKeys are the subjects that subjectArgs gives to a statement, as rows.
const subjectKeys = `unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[]) AS k (account_id, livemode, id)`

// sqlLockJourneys locks in the order of ids, so that batches that overlap
// cannot deadlock.
const sqlLockTrackingStates = `
SELECT ` + trackColumns + `
FROM ` + subjectKeys + ` JOIN shipment_states st USING (account_id, livemode, id)
ORDER BY st.account_id, st.livemode, st.id FOR UPDATE OF st`

const sqlTrackingStates = `
SELECT ` + trackColumns + `
FROM ` + subjectKeys + ` JOIN shipment_states st USING (account_id, livemode, id)`

// TrackingStates returns the tracking states of the parcels, of any tenants.
func (s *Store) TrackingStates(ctx context.Context, parcels []ship.Subject) ([]ship.TrackingState, error) {
	list, err := selectList(ctx, s.sys, scanTrackingState, sqlTrackingStates, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read tracking states: %w", err)
	}
	return list, nil
}

// LockTrackingStates locks the tracking states of the parcels until the transaction
// ends. Each may be named once. Parcels that are not there are left out.
func (s *Store) LockTrackingStates(ctx context.Context, parcels []ship.Subject) ([]ship.TrackingState, error) {
	var list []ship.TrackingState
	var reader trackingStateReader
	err := selectEach(ctx, s.tx, reader.targets(), func() error {
		list = append(list, reader.value())
		return nil
	}, sqlLockTrackingStates, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("lock tracking states: %w", err)
	}
	return list, nil
}

func scanTrackingState(r pgx.CollectableRow) (ship.TrackingState, error) {
	var reader trackingStateReader
	err := r.Scan(reader.targets()...)
	return reader.value(), err
}

// A trackingStateReader reads rows of tracking states. Reading many with one reader
// saves making the scan targets anew for each.
type trackingStateReader struct {
	subject          subjectReader
	carrier, number  *string
	boughtAt, newest *time.Time
	row              trackingStateRow
	trackingState    ship.TrackingState
}

// targets returns where trackColumns are read to. Further columns come before
// them.
func (x *trackingStateReader) targets(further ...any) []any {
	own := []any{
		&x.trackingState.Followed, &x.trackingState.Attempt, &x.trackingState.Pieces,
		&x.carrier, &x.number, &x.boughtAt, &x.newest,
	}
	return slices.Concat(further, x.subject.targets(), own, x.row.targets())
}

// value returns the tracking state of the row that was read.
func (x *trackingStateReader) value() ship.TrackingState {
	x.trackingState.Subject = x.subject.read()
	x.trackingState.State = ship.State(value(x.row.state))
	x.trackingState.Progress = x.row.progress()
	x.trackingState.Sequence = x.row.sequence
	x.trackingState.Carrier = value(x.carrier)
	x.trackingState.Number = value(x.number)
	x.trackingState.BoughtAt = timeOrZero(x.boughtAt)
	x.trackingState.NewestAt = timeOrZero(x.newest)
	return x.trackingState
}

// A subjectReader reads whose a row is, and its id. Rows of an account often
// come together, and its id is written once for them.
type subjectReader struct {
	account, id, last ship.RawID
	tenant            ship.Tenant
}

func (x *subjectReader) targets() []any { return []any{&x.account, &x.tenant.Livemode, &x.id} }

func (x *subjectReader) read() ship.Subject {
	if x.tenant.Account == "" || x.account != x.last {
		x.tenant.Account = ship.AccountIDOf(x.account)
		x.last = x.account
	}
	return ship.Subject{Tenant: x.tenant, ID: x.id}
}

const scanColumns = `t.piece, t.code, t.occurred_at, t.status::text, t.reason, t.description, t.location, t.timezone_unknown, t.notified`

const sqlScans = `
SELECT t.account_id, t.livemode, t.subject_id, ` + scanColumns + `
FROM ` + subjectKeys + `
JOIN tracking_events t ON t.account_id = k.account_id AND t.livemode = k.livemode AND t.subject_id = k.id`

// Scans returns all tracking events of the parcels, including those that follow
// from their tracking states and are not stored.
func (s *Store) Scans(ctx context.Context, trackingStates []ship.TrackingState) (map[ship.Subject][]ship.Scan, error) {
	parcels := make([]ship.Subject, len(trackingStates))
	scans := make(map[ship.Subject][]ship.Scan, len(trackingStates))
	for i, trackingState := range trackingStates {
		parcels[i] = trackingState.Subject
		scans[trackingState.Subject] = trackingState.OwnScans()
	}

	var reader subjectReader
	var row scanRow
	targets := append(reader.targets(), row.targets()...)
	err := selectEach(ctx, s.tx, targets, func() error {
		subject := reader.read()
		scans[subject] = append(scans[subject], row.read())
		return nil
	}, sqlScans, subjectArgs(parcels))
	if err != nil {
		return nil, fmt.Errorf("read scans: %w", err)
	}
	return scans, nil
}

// scanRow is what scanColumns select.
type scanRow struct {
	scan                     ship.Scan
	status, reason, location *string
}

func (r *scanRow) targets() []any {
	return []any{
		&r.scan.Piece,
		&r.scan.Code,
		&r.scan.At,
		&r.status,
		&r.reason,
		&r.scan.Description,
		&r.location,
		&r.scan.ZoneUnknown,
		&r.scan.Notified,
	}
}

func (r *scanRow) read() ship.Scan {
	r.scan.At = r.scan.At.UTC()
	r.scan.Status = ship.Status(value(r.status))
	r.scan.Reason = value(r.reason)
	r.scan.Location = value(r.location)
	return r.scan
}

// A Change is what a transaction does to a parcel: its new tracking state, the
// scans that are new, and the events that clients get.
type Change struct {
	State  ship.TrackingState
	Scans  []NewScan
	Events []ship.Event
}

// A NewScan is a scan with what the carrier sent.
type NewScan struct {
	ship.Scan
	Raw []byte // JSON; nil when there is none
}

const sqlSaveTrackingStates = `
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
INSERT INTO tracking_events (account_id, livemode, subject_id, piece, code, occurred_at,
  status, reason, description, location, timezone_unknown, raw)
SELECT account_id, livemode, subject_id, piece, code, occurred_at,
  status::tracking_status, reason, description, location, timezone_unknown, raw::json
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @pieces::int[], @codes::text[], @times::timestamptz[], @statuses::text[],
  @reasons::text[], @descriptions::text[], @locations::text[], @zones::boolean[], @raws::text[])
  AS v (account_id, livemode, subject_id, piece, code, occurred_at, status, reason, description, location, timezone_unknown, raw)
ON CONFLICT (account_id, livemode, subject_id, piece, code, occurred_at) DO UPDATE SET
  status = excluded.status,
  reason = excluded.reason
WHERE tracking_events.status IS NULL`

// sqlNoteChanges records which of the parcels are about to change something that
// their facts are made of. No event leads the roll-up to them. It compares with
// the rows as they are, so it runs before sqlSaveJourneys.
const sqlNoteChanges = `
INSERT INTO shipment_changes (account_id, livemode, shipment_id)
SELECT st.account_id, st.livemode, st.id
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @ids::uuid[], @states::text[], @statuses::text[],
  @newest::timestamptz[], @estimates::timestamptz[])
  AS v (account_id, livemode, id, state, status, last_event_at, estimated_delivery_at)
JOIN shipment_states st USING (account_id, livemode, id)
WHERE NOT st.is_tracker
  AND (st.state, st.status, st.last_event_at, st.estimated_delivery_at)
    IS DISTINCT FROM (v.state::purchase_state, v.status::tracking_status, v.last_event_at, v.estimated_delivery_at)`

const sqlAddEvents = `
INSERT INTO events (account_id, livemode, subject_id, is_tracker, id, kind, sequence, late, body_version, snapshot)
SELECT account_id, livemode, subject_id, is_tracker, id, kind::event_kind, sequence, late, @version, snapshot::json
FROM unnest(@accounts::uuid[], @livemodes::boolean[], @subjects::uuid[], @trackers::boolean[], @ids::uuid[],
  @kinds::text[], @sequences::int[], @lates::boolean[], @snapshots::text[])
  AS v (account_id, livemode, subject_id, is_tracker, id, kind, sequence, late, snapshot)`

// Apply writes the changes in one round trip. The tracking states must be locked.
func (s *Store) Apply(ctx context.Context, changes []Change) error {
	trackingStates := columns{}
	quiet := columns{} // shipments that change without an event
	scans := columns{}
	events := columns{}
	for _, change := range changes {
		trackingStates.addTrackingState(change.State)
		if len(change.Events) == 0 && !change.State.Followed {
			quiet.addTrackingState(change.State)
		}
		for _, scan := range change.Scans {
			scans.addScan(change.State.Subject, scan)
		}
		for _, event := range change.Events {
			if err := events.addEvent(change.State, event); err != nil {
				return err
			}
		}
	}

	batch := &pgx.Batch{}
	if len(quiet) > 0 {
		batch.Queue(sqlNoteChanges, quiet.args())
	}
	batch.Queue(sqlSaveTrackingStates, trackingStates.args())
	if len(scans) > 0 {
		batch.Queue(sqlAddScans, scans.args())
	}
	if len(events) > 0 {
		args := events.args()
		args["version"] = BodyVersion
		batch.Queue(sqlAddEvents, args)
	}

	if err := s.tx.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("apply changes: %w", explain(err))
	}
	return nil
}

func (c columns) addTrackingState(trackingState ship.TrackingState) {
	c.addTenant(trackingState.Tenant)
	c.add("ids", trackingState.ID)
	c.add("states", null(string(trackingState.State)))
	c.add("statuses", string(trackingState.Progress.Status))
	c.add("reasons", null(trackingState.Progress.Reason))
	c.add("sequences", trackingState.Sequence)
	c.add("newest", nullTime(trackingState.NewestAt))
	c.add("checked", nullTime(trackingState.Progress.CheckedAt))
	c.add("estimates", nullTime(trackingState.Progress.EstimateAt))
	c.add("sources", null(trackingState.Progress.EstimateSource))
	c.add("pieces", null(joinStatuses(trackingState.Progress.Pieces)))
}

// joinStatuses joins the statuses by commas. An array of arrays of different
// lengths cannot be given to unnest, so the statement splits the text again.
func joinStatuses(list []ship.Status) string {
	var text []byte
	for i, status := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, status...)
	}
	return string(text)
}

func (c columns) addScan(subject ship.Subject, scan NewScan) {
	c.addTenant(subject.Tenant)
	c.add("ids", subject.ID)
	c.add("pieces", scan.Piece)
	c.add("codes", scan.Code)
	c.add("times", scan.At.Truncate(time.Second))
	c.add("statuses", null(string(scan.Status)))
	c.add("reasons", null(scan.Reason))
	c.add("descriptions", scan.Description)
	c.add("zones", scan.ZoneUnknown)
	c.add("locations", null(scan.Location))
	c.add("raws", null(string(scan.Raw)))
}

func (c columns) addEvent(trackingState ship.TrackingState, event ship.Event) error {
	snapshot, err := json.Marshal(event.Snapshot)
	if err != nil {
		return fmt.Errorf("encode a snapshot: %w", err)
	}

	c.addTenant(trackingState.Tenant)
	c.add("subjects", trackingState.ID)
	c.add("trackers", trackingState.Followed)
	c.add("ids", event.ID)
	c.add("kinds", string(event.Kind))
	c.add("sequences", event.Sequence)
	c.add("lates", event.Late)
	c.add("snapshots", string(snapshot))
	return nil
}
