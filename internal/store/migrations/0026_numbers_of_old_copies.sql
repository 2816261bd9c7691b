-- +goose Up

-- Copies of v0.1.0 write and search shipment_facts.search_numbers, so the column is there
-- for as long as such copies may run. It has no index, which would cost more than the rest
-- of a write: their search reads the account's facts instead.
--
-- This release still writes the column, for copies of v0.1.0 beside it. The next one does
-- not; the one after that may drop the column, the trigger and its function. A database
-- that was migrated between the two releases may lack the column.
ALTER TABLE shipment_facts ADD COLUMN IF NOT EXISTS search_numbers text NOT NULL DEFAULT '';

-- The new search finds what a copy of v0.1.0 rolls up. Copies of this release write both
-- in one statement, and say so in a setting: the trigger does nothing for them.
-- +goose StatementBegin
CREATE FUNCTION copy_search_numbers() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.search_numbers AS n (account_id, livemode, shipment_id, numbers)
  VALUES (NEW.account_id, NEW.livemode, NEW.shipment_id, NEW.search_numbers)
  ON CONFLICT (account_id, livemode, shipment_id) DO UPDATE SET numbers = excluded.numbers
  WHERE n.numbers <> excluded.numbers;
  RETURN NULL;
END $$;
-- +goose StatementEnd
REVOKE EXECUTE ON FUNCTION copy_search_numbers FROM PUBLIC;
CREATE TRIGGER copy_search_numbers AFTER INSERT OR UPDATE OF search_numbers ON shipment_facts FOR EACH ROW
  WHEN (NEW.search_numbers <> '' AND coalesce(current_setting('waybill.writes_search_numbers', true), '') <> 'on')
  EXECUTE FUNCTION copy_search_numbers();

-- What copies of v0.1.0 rolled up after 0024 had copied the numbers, and before there was
-- the trigger, is copied now. They write no facts until this transaction ends, because the
-- trigger has locked the table. Rolling those shipments up again would not be enough: a copy
-- of v0.1.0 skips facts that have not changed, and then the trigger does not run.
SET LOCAL ROLE waybill_sys;
INSERT INTO search_numbers AS n (account_id, livemode, shipment_id, numbers)
SELECT f.account_id, f.livemode, f.shipment_id, f.search_numbers FROM shipment_facts f
WHERE f.search_numbers <> '' AND NOT EXISTS (
  SELECT FROM search_numbers n
  WHERE n.account_id = f.account_id AND n.livemode = f.livemode AND n.shipment_id = f.shipment_id
    AND n.numbers = f.search_numbers)
ON CONFLICT (account_id, livemode, shipment_id) DO UPDATE SET numbers = excluded.numbers;
RESET ROLE;
