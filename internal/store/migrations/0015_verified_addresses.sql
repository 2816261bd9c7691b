-- +goose Up

-- When a person proved that the e-mail address is theirs: with a link that was mailed to
-- it or came from the operator, or by an identity provider that vouches for it. Until then
-- whoever saw an invitation may have set the password, so the person joins no further
-- account.
ALTER TABLE people ADD COLUMN email_verified_at timestamptz;
GRANT SELECT (email_verified_at) ON people TO waybill_app;

-- Whether the link of an invitation proves the address: it was mailed to it, or given to
-- the operator, and never shown to the inviter.
ALTER TABLE invitations ADD COLUMN proves_email boolean NOT NULL DEFAULT false;

-- Of those who are there already, the first owner had a link of the operator, and people
-- who joined with an identity provider had an address that it vouched for. The table's
-- owner sees no people under row-level security; the system's role does.
SET LOCAL ROLE waybill_sys;
UPDATE people p SET email_verified_at = p.created_at
WHERE EXISTS (SELECT FROM identities i WHERE i.person_id = p.id)
   OR p.id IN (SELECT l.person_id FROM audit_log l WHERE l.action = 'account.claimed');
RESET ROLE;
