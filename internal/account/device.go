package account

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Terminals sign in as RFC 8628 says: a terminal asks for a code and shows it, a
// person approves the code in the dashboard and says what the terminal may do, and
// the terminal, which has asked again and again, gets an API key of that person.

const (
	// DeviceLife is how long a person has to approve a terminal.
	DeviceLife = 10 * time.Minute
	// DeviceInterval is how long a terminal waits before it asks again.
	DeviceInterval = 2 * time.Second
)

// A Device is a terminal that waits to be approved.
type Device struct {
	Name      string // what it says about itself, such as "waybill on laptop"
	Addr      netip.Addr
	WantsLive bool
	CreatedAt time.Time
	ExpiresAt time.Time
	UserCode  string // what it shows, such as "WDJB-MJHT"
}

// NewDevice is a terminal that wants to sign in.
type NewDevice struct {
	Name string
	Addr netip.Addr
	Live bool // it asks for a key of live mode; otherwise it gets one of test mode
}

// StartDevice begins the sign-in of a terminal. It returns the secret that the
// terminal asks with, and what it shows to its person.
func (s *Service) StartDevice(ctx context.Context, in NewDevice) (deviceCode string, device Device, err error) {
	name, invalid := ship.CheckText("/client_name", in.Name, ship.MaxName)
	if len(invalid) > 0 {
		return "", Device{}, ship.InvalidFields(invalid)
	}

	now := time.Now().UTC().Truncate(time.Microsecond)
	device = Device{
		Name:      name,
		Addr:      in.Addr,
		WantsLive: in.Live,
		CreatedAt: now,
		ExpiresAt: now.Add(DeviceLife),
		UserCode:  newUserCode(),
	}
	deviceCode = rand.Text() + rand.Text()
	err = s.store.AddDeviceSignIn(ctx, store.DeviceSignIn{
		DeviceHash:   sha256.Sum256([]byte(deviceCode)),
		UserCodeHash: userCodeHash(device.UserCode),
		ClientName:   device.Name,
		Addr:         device.Addr,
		WantsLive:    device.WantsLive,
		CreatedAt:    device.CreatedAt,
		ExpiresAt:    device.ExpiresAt,
	})
	return deviceCode, device, err
}

// userCodeLetters are those of RFC 8628: no vowels, so that no words come out, and
// nothing that is mistaken for a digit.
const userCodeLetters = "BCDFGHJKLMNPQRSTVWXZ"

// newUserCode returns a code such as "WDJB-MJHT", one of 25 billion.
func newUserCode() string {
	var code strings.Builder
	var random [1]byte
	for code.Len() < 9 {
		if code.Len() == 4 {
			code.WriteByte('-')
		}

		// Bytes from 240 on are left out: they would make the first letters more
		// frequent.
		rand.Read(random[:]) // never fails
		if random[0] < 240 {
			code.WriteByte(userCodeLetters[int(random[0])%len(userCodeLetters)])
		}
	}
	return code.String()
}

// userCodeHash is what is stored of a code, however it was typed.
func userCodeHash(code string) [32]byte {
	letters := strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(code))
	return sha256.Sum256([]byte("user code\x00" + letters))
}

// Device returns the terminal that shows the code and waits for a decision;
// ship.NotFound if there is none.
func (s *Service) Device(ctx context.Context, userCode string) (Device, error) {
	row, err := s.store.DeviceByUserCode(ctx, userCodeHash(userCode), time.Now())
	if ship.KindOf(err) == ship.NotFound {
		return Device{}, errNoDevice()
	}
	return Device{
		Name:      row.ClientName,
		Addr:      row.Addr,
		WantsLive: row.WantsLive,
		CreatedAt: row.CreatedAt.UTC(),
		ExpiresAt: row.ExpiresAt.UTC(),
		UserCode:  userCode,
	}, err
}

func errNoDevice() error {
	return ship.Errorf(ship.NotFound, "no terminal is waiting for this code: compare it with the one that your terminal shows, or run \"waybill login\" again")
}

// deviceKey is what an approved terminal gets.
type deviceKey struct {
	Name      string         `json:"name"`
	Scopes    []string       `json:"scopes"`
	Networks  []netip.Prefix `json:"networks,omitempty"`
	ExpiresAt time.Time      `json:"expiresAt,omitzero"`
	KeyLimits
}

// ApproveDevice lets the terminal that shows the code get a key. Nothing is created
// before it asks for it. in.Person is who approves.
func (s *Service) ApproveDevice(ctx context.Context, userCode string, in NewKeyInput) error {
	device, err := s.Device(ctx, userCode)
	if err != nil {
		return err
	}
	if in.Livemode && !device.WantsLive {
		return ship.Errorf(ship.Forbidden, "the terminal asked for test mode: run \"waybill login --live\" to sign in to live mode")
	}
	if _, err := s.prepareKey(ctx, in); err != nil {
		return err
	}

	key, err := json.Marshal(deviceKey{
		Name:      in.Name,
		Scopes:    in.Scopes,
		Networks:  in.Networks,
		ExpiresAt: in.ExpiresAt,
		KeyLimits: in.KeyLimits,
	})
	if err != nil {
		return fmt.Errorf("approve a terminal: %w", err)
	}
	return s.decideDevice(ctx, device, "approved", in, key)
}

// DenyDevice refuses the terminal that shows the code.
func (s *Service) DenyDevice(ctx context.Context, userCode string, t ship.Tenant, by ship.PersonID) error {
	device, err := s.Device(ctx, userCode)
	if err != nil {
		return err
	}
	return s.decideDevice(ctx, device, "denied", NewKeyInput{Account: t.Account, Livemode: t.Livemode, Person: by}, nil)
}

func (s *Service) decideDevice(ctx context.Context, device Device, state string, in NewKeyInput, key []byte) error {
	err := s.store.DecideDevice(ctx, store.DeviceSignIn{
		UserCodeHash: userCodeHash(device.UserCode),
		ClientName:   device.Name,
		Addr:         device.Addr,
		State:        state,
		DecidedBy:    in.Person,
		Approved:     ship.Tenant{Account: in.Account, Livemode: in.Livemode},
		Key:          key,
	}, time.Now())
	if ship.KindOf(err) == ship.NotFound {
		return errNoDevice()
	}
	return err
}

// A DeviceState is how far the sign-in of a terminal is. Those that are not over or
// failed have the names of RFC 8628.
type DeviceState string

// The states that a terminal receives when it polls.
const (
	DevicePending  DeviceState = "authorization_pending"
	DeviceTooFast  DeviceState = "slow_down"
	DeviceDenied   DeviceState = "access_denied"
	DeviceExpired  DeviceState = "expired_token"
	DeviceUnknown  DeviceState = "invalid_grant"
	DeviceSignedIn DeviceState = "signed_in"
)

// A DeviceKey is the key that a terminal gets.
type DeviceKey struct {
	Key     ship.Key // in clear, this once
	APIKey  APIKey
	Account ship.Account
}

// RedeemDevice answers a terminal that asks whether it was approved. An approved one
// gets its key, once. The key is recorded in the audit log as the person's, made at
// the terminal.
func (s *Service) RedeemDevice(ctx context.Context, deviceCode string, from netip.Addr, agent string) (DeviceState, DeviceKey, error) {
	now := time.Now()
	hash := sha256.Sum256([]byte(deviceCode))
	row, err := s.store.PollDevice(ctx, hash, now)
	switch {
	case ship.KindOf(err) == ship.NotFound:
		return DeviceUnknown, DeviceKey{}, nil
	case err != nil:
		return "", DeviceKey{}, err
	case now.After(row.ExpiresAt):
		return DeviceExpired, DeviceKey{}, nil
	case row.State == "denied":
		return DeviceDenied, DeviceKey{}, nil
	case row.State == "used":
		return DeviceUnknown, DeviceKey{}, nil
	case now.Sub(row.PolledAt) < DeviceInterval/2:
		return DeviceTooFast, DeviceKey{}, nil
	case row.State == "waiting":
		return DevicePending, DeviceKey{}, nil
	}

	var grant deviceKey
	if err := json.Unmarshal(row.Key, &grant); err != nil {
		return "", DeviceKey{}, fmt.Errorf("key of a terminal: %w", err)
	}
	account, err := s.store.Account(ctx, row.Approved.Account)
	if err != nil {
		return "", DeviceKey{}, err
	}
	keyRow, err := s.prepareKey(ctx, NewKeyInput{
		Account:   row.Approved.Account,
		Livemode:  row.Approved.Livemode,
		Name:      grant.Name,
		Scopes:    grant.Scopes,
		Networks:  grant.Networks,
		ExpiresAt: grant.ExpiresAt,
		KeyLimits: grant.KeyLimits,
		Person:    row.DecidedBy,
	})
	if err != nil {
		return "", DeviceKey{}, err
	}
	key := newKeyOf(&keyRow)

	// The approval is used up in the transaction that adds the key: a second
	// request never gets a second key, and a person who leaves the account at this
	// moment leaves no key behind.
	err = s.store.InSystemTx(ctx, func(tx *store.Store) error {
		person, err := tx.UseDevice(ctx, hash, now)
		if err != nil {
			return err
		}
		return tx.AddKey(store.WithAudit(ctx, func(entry *store.AuditEntry) {
			entry.Person = row.DecidedBy
			entry.Who = person.Name + " <" + person.Email + ">"
			entry.Addr = from
			entry.Agent = agent
			entry.Details["terminal"] = row.ClientName
		}), keyRow)
	})
	if ship.KindOf(err) == ship.NotFound {
		return DeviceDenied, DeviceKey{}, nil
	}
	return DeviceSignedIn, DeviceKey{Key: key, APIKey: newAPIKey(keyRow), Account: account}, err
}
