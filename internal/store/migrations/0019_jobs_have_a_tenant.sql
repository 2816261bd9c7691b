-- +goose Up

-- The id of an account as the arguments of jobs have it: the prefix, and the 16 bytes
-- in Crockford's base32. The policy of the queue's table compares it with the tenant of
-- the transaction.
CREATE FUNCTION account_text(account uuid) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT 'acct_' || string_agg(
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substring(bits FROM place * 5 + 1 FOR 5)::bit(5)::integer + 1, 1),
    '' ORDER BY place)
  FROM (SELECT B'00' || ('x' || replace(account::text, '-', ''))::bit(128)) AS encoded (bits),
    generate_series(0, 25) AS place
$$;
