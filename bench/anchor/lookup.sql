-- A look-up by tracking number, as pgbench runs it: the tenant, the parcel and
-- its scans, in one round trip.
\set i random(0, 19999)
\startpipeline
SELECT set_config('waybill.account', :account, true), set_config('waybill.livemode', 'false', true);
SELECT st.account_id, st.livemode, st.id, st.is_tracker, st.attempt, st.piece_count,
  st.carrier, st.tracking_number, st.purchased_at, st.last_event_at, st.state::text, st.status::text, st.reason, st.sequence,
  st.piece_statuses::text[], st.estimated_delivery_at, st.estimate_source, st.checked_at
FROM (
  SELECT subject_id FROM lookup_keys
  WHERE account_id = :account::uuid AND livemode = false AND kind = 't' AND value = ('B' || :i::int)
  ORDER BY subject_id DESC LIMIT 8
) l
JOIN shipment_states st ON st.account_id = :account::uuid AND st.livemode = false AND st.id = l.subject_id
ORDER BY st.id DESC;
SELECT t.piece, t.code, t.occurred_at, t.status::text, t.reason, t.description, t.location, t.timezone_unknown, t.notified
FROM tracking_events t
WHERE t.account_id = :account::uuid AND t.livemode = false
  AND t.subject_id = (
    SELECT subject_id FROM lookup_keys
    WHERE account_id = :account::uuid AND livemode = false AND kind = 't' AND value = ('B' || :i::int)
    ORDER BY subject_id DESC LIMIT 1);
\endpipeline
