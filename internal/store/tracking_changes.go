package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

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
// the rows as they are, so it runs before sqlSaveTrackingStates.
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
