-- +goose Up

-- The disks that copies of the service keep their recovery logs on. A copy writes its row
-- every few seconds, and then the same beat to its disk: a row that is behind the disk was
-- restored from a backup.
CREATE TABLE service_copies (
  copy_id text PRIMARY KEY,
  host text NOT NULL,
  seen_at timestamptz NOT NULL,
  ended_at timestamptz, -- when its process stopped in order
  beat bigint NOT NULL,
  joined integer NOT NULL DEFAULT 0 -- the restore that its log was last compared after
);
GRANT SELECT, INSERT, UPDATE, DELETE ON service_copies TO waybill_sys;

-- The last restore of the database to an earlier moment: one row. Until every copy that
-- was alive then has joined its log, or an operator continues, a purchase under a key is
-- looked up before it is made.
CREATE TABLE restore_state (
  singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
  number integer NOT NULL DEFAULT 0, -- of restores that were noticed
  noticed_at timestamptz,
  noticed_by text CHECK (noticed_by IN ('identifier', 'timeline', 'position', 'missing', 'command')),
  restored_to timestamptz, -- about the moment that the database was put back to
  may_have_lost boolean NOT NULL DEFAULT false,
  awaited text[] NOT NULL DEFAULT '{}', -- copies that were alive then
  continued_at timestamptz -- when an operator released all accounts
);
GRANT SELECT ON restore_state TO waybill_app, waybill_sys;
GRANT UPDATE ON restore_state TO waybill_sys;

-- What was recorded as restored before this migration is looked up until an operator
-- continues: the logs of that time name no copies.
INSERT INTO restore_state (number, noticed_at, noticed_by, restored_to, may_have_lost, awaited)
SELECT 1, i.restored_at, 'command', i.restored_at, true, '{unknown}'::text[] FROM instance i WHERE i.restored_at > now() - interval '48 hours'
UNION ALL
SELECT 0, NULL::timestamptz, NULL, NULL::timestamptz, false, '{}'::text[] WHERE NOT EXISTS (SELECT FROM instance i WHERE i.restored_at > now() - interval '48 hours');

-- Live purchases that a recovery log has and the database lost. The sealed entry is all
-- that is known of one; it is removed once the purchase is adopted or voided.
CREATE TABLE missing_purchases (
  account_id uuid NOT NULL,
  livemode boolean NOT NULL,
  shipment_id uuid NOT NULL,
  attempt smallint NOT NULL,
  key text, -- that its client named it by
  carrier text NOT NULL,
  service text NOT NULL,
  connection_id uuid,
  tracking_number text, -- null where the log has the request and not the sale
  amount_minor bigint,
  currency text,
  requested_at timestamptz NOT NULL,
  state text NOT NULL DEFAULT 'missing'
    CHECK (state IN ('missing', 'held', 'adopting', 'voiding', 'adopted', 'voided', 'not_sold')),
  message text, -- why the last decision could not be carried out
  decided_by text,
  decided_at timestamptz,
  noticed_at timestamptz NOT NULL DEFAULT now(),
  encrypted_entry bytea,
  PRIMARY KEY (account_id, livemode, shipment_id)
);
ALTER TABLE missing_purchases ALTER COLUMN encrypted_entry SET STORAGE EXTERNAL; -- it cannot be compressed
CREATE INDEX missing_purchases_undecided ON missing_purchases (account_id, livemode) WHERE state = 'missing';
CREATE INDEX missing_purchases_by_key ON missing_purchases (account_id, livemode, key) WHERE key IS NOT NULL;
CREATE INDEX missing_purchases_decided ON missing_purchases (decided_at) WHERE state IN ('adopting', 'voiding');
SELECT secure_table('missing_purchases', 'tenant', 'SELECT, UPDATE', 'SELECT, INSERT, UPDATE, DELETE');
