-- +goose Up

-- Commands of operators work as the system. What they change of an account enters its shard, like
-- a request.
GRANT EXECUTE ON FUNCTION enter_shard TO waybill_sys;
