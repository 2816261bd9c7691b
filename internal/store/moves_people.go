package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// How the people of a shard get to another cell. Cells have people of their own, so
// somebody can be there already, under the same id or under another.

const (
	peopleOfShard = ` IN (SELECT m.person_id FROM members m WHERE shard_of(m.account_id) = $1)`

	sqlMovedPeople        = `SELECT to_jsonb(x)::text FROM people x WHERE x.id` + peopleOfShard
	sqlMovedPasskeys      = `SELECT to_jsonb(x)::text FROM passkeys x WHERE x.person_id` + peopleOfShard
	sqlMovedRecoveryCodes = `SELECT to_jsonb(x)::text FROM recovery_codes x WHERE x.person_id` + peopleOfShard
	sqlMovedIdentities    = `SELECT to_jsonb(x)::text FROM identities x WHERE x.person_id` + peopleOfShard

	sqlMovedAddresses = `SELECT id::text, email FROM people WHERE id` + peopleOfShard

	// sqlNamesakes finds who is somebody else at the target: an address belongs to one
	// person there.
	sqlNamesakes = `
SELECT v.id, p.id::text, p.email_verified_at IS NOT NULL
FROM unnest($1::text[], $2::text[]) AS v (id, email) JOIN people p ON p.email = v.email AND p.id <> v.id::uuid`
)

// namesakes are people of the shard who are somebody else at the target.
type namesakes struct {
	theirs, present []string // ids of the same people at the source and at the target
	unproved        int      // of them, who have not proved their address at the target
}

func (m *Mover) findNamesakes(ctx context.Context, target statements, move *Move) (found namesakes, err error) {
	var ids, addresses []string
	var id, address string
	err = selectEach(ctx, m.source, []any{&id, &address}, func() error {
		ids = append(ids, id)
		addresses = append(addresses, address)
		return nil
	}, sqlMovedAddresses, move.Shard)
	if err != nil {
		return found, err
	}

	var present string
	var isProved bool
	err = selectEach(ctx, target, []any{&id, &present, &isProved}, func() error {
		found.theirs = append(found.theirs, id)
		found.present = append(found.present, present)
		if !isProved {
			found.unproved++
		}
		return nil
	}, sqlNamesakes, ids, addresses)
	return found, err
}

// CheckPeople refuses a move by which somebody would gain an account: whoever signs in
// at the target under an address that is not proved may not be its owner.
func (m *Mover) CheckPeople(ctx context.Context, move *Move) error {
	found, err := m.findNamesakes(ctx, m.target, move)
	if err == nil && found.unproved > 0 {
		err = ship.Errorf(ship.Conflict, "%d people of shard %d have the e-mail address of somebody at %s who has not verified it: remove those there from their accounts first",
			found.unproved, move.Shard, move.Target)
	}
	return err
}

// renamePeople is the statement that gives what is a person's in the accounts of the
// shard to the same person at the target, for a table. The audit log keeps who it was.
const renamePeople = `
UPDATE %s t SET person_id = v.present::uuid
FROM unnest($1::text[], $2::text[]) AS v (theirs, present)
WHERE t.person_id = v.theirs::uuid AND shard_of(t.account_id) = $3`

// movePeople brings the people of the shard to the target, with what they sign in
// with. Who is there already keeps what they sign in with there.
func (m *Mover) movePeople(ctx context.Context, tx pgx.Tx, move *Move) error {
	found, err := m.findNamesakes(ctx, tx, move)
	if err != nil {
		return err
	}

	for _, moved := range [][2]string{
		{"people", sqlMovedPeople},
		{"passkeys", sqlMovedPasskeys},
		{"recovery_codes", sqlMovedRecoveryCodes},
		{"identities", sqlMovedIdentities},
	} {
		if err := m.moveAsJSON(ctx, tx, move, moved[0], "", moved[1]); err != nil {
			return err
		}
	}
	if len(found.theirs) == 0 {
		return nil
	}

	for _, table := range []string{"passkeys", "recovery_codes", "identities"} {
		if _, err := tx.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE person_id = ANY ($1::text[]::uuid[])", table), found.theirs); err != nil {
			return err
		}
	}
	for _, table := range []string{"members", "api_keys", "saved_views", "bulk_actions"} {
		if _, err := tx.Exec(ctx, fmt.Sprintf(renamePeople, table), found.theirs, found.present, move.Shard); err != nil {
			return err
		}
	}
	return nil
}
