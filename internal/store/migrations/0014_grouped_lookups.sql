-- +goose Up

-- Look-ups of several tenants that come at the same time are made in one statement,
-- as waybill_group. It sees the rows of the tenants that its transaction has set and may
-- only read. Without these settings it sees nothing.
-- +goose StatementBegin
DO $$
DECLARE
  secured text;
BEGIN
  FOREACH secured IN ARRAY ARRAY['lookup_keys', 'shipment_states', 'tracking_events'] LOOP
    EXECUTE format('CREATE POLICY tenants ON %I FOR SELECT TO waybill_group USING (
      account_id = ANY (CASE WHEN livemode
        THEN (SELECT string_to_array(nullif(current_setting(''waybill.live_accounts'', true), ''''), '','')::uuid[])
        ELSE (SELECT string_to_array(nullif(current_setting(''waybill.test_accounts'', true), ''''), '','')::uuid[])
      END))', secured);
    EXECUTE format('GRANT SELECT ON %I TO waybill_group', secured);
  END LOOP;
END $$;
-- +goose StatementEnd
