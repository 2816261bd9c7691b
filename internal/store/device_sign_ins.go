package store

import (
	"context"
	"net/netip"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
)

// A DeviceSignIn is a terminal that waits for a person to approve it, as stored.
type DeviceSignIn struct {
	DeviceHash   [32]byte
	UserCodeHash [32]byte
	ClientName   string
	Addr         netip.Addr // may be zero
	WantsLive    bool
	CreatedAt    time.Time
	ExpiresAt    time.Time
	PolledAt     time.Time // zero before the first time
	State        string    // "waiting", "approved", "denied" or "used"

	// Of a decision.
	DecidedBy ship.PersonID
	Approved  ship.Tenant
	Key       []byte // what the key may do, in JSON
}

const sqlAddDeviceSignIn = `
INSERT INTO device_sign_ins (device_hash, user_code_hash, client_name, remote_address, wants_live, created_at, expires_at)
VALUES (@device, @code, @name, @addr, @live, @at, @expires)`

// AddDeviceSignIn stores a new sign-in.
func (s *Store) AddDeviceSignIn(ctx context.Context, d DeviceSignIn) error {
	_, err := s.run(ctx, sqlAddDeviceSignIn, pgx.NamedArgs{
		"device":  d.DeviceHash[:],
		"code":    d.UserCodeHash[:],
		"name":    d.ClientName,
		"addr":    nullAddr(d.Addr),
		"live":    d.WantsLive,
		"at":      d.CreatedAt,
		"expires": d.ExpiresAt,
	})
	return err
}

const deviceColumns = `device_hash, user_code_hash, client_name, remote_address, wants_live, created_at, expires_at, polled_at,
  state, decided_by_person_id, approved_account_id, coalesce(approved_live, false), approved_key`

func scanDevice(r pgx.CollectableRow) (DeviceSignIn, error) {
	var (
		device         DeviceSignIn
		hash, codeHash []byte
		addr           *netip.Addr
		polledAt       *time.Time
		person         *ship.PersonID
		account        *ship.AccountID
	)
	err := r.Scan(&hash, &codeHash, &device.ClientName, &addr, &device.WantsLive, &device.CreatedAt, &device.ExpiresAt, &polledAt,
		&device.State, &person, &account, &device.Approved.Livemode, &device.Key)

	copy(device.DeviceHash[:], hash)
	copy(device.UserCodeHash[:], codeHash)
	device.Addr = value(addr)
	device.PolledAt = timeOrZero(polledAt)
	device.DecidedBy = value(person)
	device.Approved.Account = value(account)
	return device, err
}

const sqlDeviceByUserCode = `
SELECT ` + deviceColumns + ` FROM device_sign_ins
WHERE user_code_hash = @code AND expires_at > @now AND state = 'waiting'`

// DeviceByUserCode returns the sign-in that shows the code and waits for a
// decision; ship.NotFound if there is none.
func (s *Store) DeviceByUserCode(ctx context.Context, hash [32]byte, now time.Time) (DeviceSignIn, error) {
	return selectOne(ctx, s.system(), scanDevice, sqlDeviceByUserCode, pgx.NamedArgs{"code": hash[:], "now": now})
}

const sqlDecideDevice = `
UPDATE device_sign_ins SET state = @state, decided_by_person_id = @person,
  approved_account_id = @account, approved_live = @live, approved_key = @key
WHERE user_code_hash = @code AND expires_at > @now AND state = 'waiting'`

// DecideDevice approves or denies a sign-in that waits; ship.NotFound if there is
// none. Its audit entry is of the tenant that the sign-in was approved or denied in.
func (s *Store) DecideDevice(ctx context.Context, d DeviceSignIn, now time.Time) error {
	args := pgx.NamedArgs{
		"code":    d.UserCodeHash[:],
		"state":   d.State,
		"person":  d.DecidedBy,
		"account": d.Approved.Account,
		"live":    d.Approved.Livemode,
		"key":     d.Key,
		"now":     now,
	}

	entry := EntryOf(d.Approved, "terminal."+d.State, d.ClientName)
	if d.Addr.IsValid() {
		entry.Details = map[string]string{"address": d.Addr.String()}
	}
	n, err := s.changeSystem(ctx, entry, sqlDecideDevice, args)
	if err == nil && n == 0 {
		err = ship.Errorf(ship.NotFound, "no such sign-in")
	}
	return err
}

// sqlPollDevice returns the row as it was before, because the time of the last
// poll tells whether this one comes too soon.
const sqlPollDevice = `
WITH before AS (
  SELECT ` + deviceColumns + ` FROM device_sign_ins WHERE device_hash = @device FOR UPDATE
), polled AS (
  UPDATE device_sign_ins SET polled_at = @now WHERE device_hash = @device
)
SELECT * FROM before`

// PollDevice returns the sign-in of a terminal that asks whether it was approved;
// ship.NotFound if there is none.
func (s *Store) PollDevice(ctx context.Context, hash [32]byte, now time.Time) (DeviceSignIn, error) {
	return selectOne(ctx, s.system(), scanDevice, sqlPollDevice, pgx.NamedArgs{"device": hash[:], "now": now})
}

// sqlUseDevice is guarded by the membership: an approval of somebody who has left
// the account makes no key. The membership is locked, so whoever ends or changes it
// at the same time waits until the key is there, and revokes it.
const sqlUseDevice = `
WITH approver AS (
  SELECT m.account_id, m.person_id
  FROM device_sign_ins d
  JOIN members m ON m.account_id = d.approved_account_id AND m.person_id = d.decided_by_person_id
  WHERE d.device_hash = @device
  FOR SHARE OF m
)
UPDATE device_sign_ins d SET state = 'used'
FROM approver a JOIN people p ON p.id = a.person_id
WHERE d.device_hash = @device AND d.state = 'approved' AND d.expires_at > @now
  AND a.account_id = d.approved_account_id AND a.person_id = d.decided_by_person_id
RETURNING p.name, p.email`

// UseDevice uses an approval up and returns who gave it; ship.NotFound if there is
// none to use. It belongs in the transaction that adds the key.
func (s *Store) UseDevice(ctx context.Context, hash [32]byte, now time.Time) (Person, error) {
	scan := func(r pgx.CollectableRow) (person Person, err error) {
		err = r.Scan(&person.Name, &person.Email)
		return person, err
	}
	return selectOne(ctx, s.system(), scan, sqlUseDevice, pgx.NamedArgs{"device": hash[:], "now": now})
}
