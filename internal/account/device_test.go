package account_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// terminals is an account with a member who approves terminals.
type terminals struct {
	*testing.T
	*account.Service
	store  *store.Store
	url    string
	owner  ship.AccountID
	person ship.PersonID
}

func newTerminals(t *testing.T) *terminals {
	t.Helper()
	url := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)

	b := &terminals{T: t, Service: account.New(st), store: st, url: url, person: ship.NewPersonID(time.Now())}
	owner, err := b.Create(t.Context(), account.Settings{Name: new("Shop")})
	if err != nil {
		t.Fatal(err)
	}
	b.owner = owner.ID
	err = st.InSystemTx(t.Context(), func(tx *store.Store) error {
		if err := tx.AddPerson(t.Context(), store.Person{ID: b.person, Email: "ada@example.com", Name: "Ada", CreatedAt: time.Now()}); err != nil {
			return err
		}
		return tx.AddMember(t.Context(), b.owner, b.person, "owner", time.Now())
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *terminals) start(live bool) (deviceCode, userCode string) {
	b.Helper()
	code, device, err := b.StartDevice(b.Context(), account.NewDevice{Name: "waybill on laptop", Live: live, Addr: netip.MustParseAddr("192.0.2.7")})
	if err != nil {
		b.Fatal(err)
	}
	return code, device.UserCode
}

func (b *terminals) grant(live bool) account.NewKeyInput {
	return account.NewKeyInput{Account: b.owner, Livemode: live, Name: "laptop", Scopes: []string{"rates"}, Person: b.person}
}

// poll asks as a terminal does that waits long enough in between.
func (b *terminals) poll(deviceCode string) (account.DeviceState, account.DeviceKey) {
	b.Helper()
	if _, err := storetest.Conn(b.T, b.url).Exec(b.Context(), "UPDATE device_sign_ins SET polled_at = NULL"); err != nil {
		b.Fatal(err)
	}
	state, made, err := b.RedeemDevice(b.Context(), deviceCode, netip.MustParseAddr("192.0.2.7"), "test")
	if err != nil {
		b.Fatal(err)
	}
	return state, made
}

func TestATerminalGetsOneKeyOfThePersonWhoApprovedIt(t *testing.T) {
	t.Parallel()
	b := newTerminals(t)
	deviceCode, userCode := b.start(false)
	if state, _ := b.poll(deviceCode); state != account.DevicePending {
		t.Errorf("before the approval: %s", state)
	}
	if state, _, err := b.RedeemDevice(t.Context(), deviceCode, netip.Addr{}, ""); state != account.DeviceTooFast || err != nil {
		t.Errorf("asked again at once: %s, %v", state, err)
	}

	lower := "  " + string(userCode[0]|0x20) + userCode[1:4] + userCode[5:]
	if device, err := b.Device(t.Context(), lower); err != nil || device.Name != "waybill on laptop" || device.Addr.String() != "192.0.2.7" {
		t.Errorf("typed as %q: %+v, %v", lower, device, err)
	}
	if err := b.ApproveDevice(t.Context(), userCode, b.grant(true)); ship.KindOf(err) != ship.Forbidden {
		t.Errorf("a terminal that asked for test mode got live mode: %v", err)
	}
	if err := b.ApproveDevice(t.Context(), userCode, account.NewKeyInput{Account: b.owner, Scopes: []string{"all"}, Person: b.person}); ship.KindOf(err) != ship.Invalid {
		t.Errorf("an unknown scope was approved: %v", err)
	}
	if err := b.ApproveDevice(t.Context(), userCode, b.grant(false)); err != nil {
		t.Fatal(err)
	}
	if err := b.ApproveDevice(t.Context(), userCode, b.grant(false)); ship.KindOf(err) != ship.NotFound {
		t.Errorf("approved twice: %v", err)
	}
	if keys, _ := b.Keys(t.Context(), b.owner); len(keys) != 0 {
		t.Errorf("an approval alone made %d keys", len(keys))
	}

	state, made := b.poll(deviceCode)
	if state != account.DeviceSignedIn || made.Account.ID != b.owner || made.APIKey.Name != "laptop" {
		t.Fatalf("after the approval: %s, %+v", state, made)
	}
	if caller, err := b.Authenticate(t.Context(), string(made.Key), netip.Addr{}); err != nil || !caller.Can("rates") || caller.Can("events") {
		t.Errorf("the key is of %+v, %v", caller, err)
	}
	if state, again := b.poll(deviceCode); state != account.DeviceUnknown || again.Key != "" {
		t.Errorf("asked again: %s", state)
	}

	// The key is the person's, and goes with them.
	if err := b.store.RevokeKeysOf(t.Context(), b.owner, b.person); err != nil {
		t.Fatal(err)
	}
	if keys, _ := b.Keys(t.Context(), b.owner); len(keys) != 1 || keys[0].RevokedAt.IsZero() {
		t.Errorf("after its person has left: %+v", keys)
	}
}

// TestWhoLeavesDuringASignInLeavesNoKey removes a member while their terminal asks for
// its key.
func TestWhoLeavesDuringASignInLeavesNoKey(t *testing.T) {
	t.Parallel()
	b := newTerminals(t)
	deviceCode, userCode := b.start(false)
	if err := b.ApproveDevice(t.Context(), userCode, b.grant(false)); err != nil {
		t.Fatal(err)
	}

	removal, err := storetest.Conn(t, b.url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"DELETE FROM members",
		"UPDATE api_keys SET revoked_at = now()",
	} {
		if _, err := removal.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}

	answered := make(chan account.DeviceState)
	go func() {
		state, _, err := b.RedeemDevice(t.Context(), deviceCode, netip.Addr{}, "test")
		if err != nil {
			t.Error(err)
		}
		answered <- state
	}()
	select {
	case state := <-answered:
		t.Fatalf("the terminal did not wait for the removal: %s", state)
	case <-time.After(500 * time.Millisecond):
	}
	if err := removal.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state := <-answered; state != account.DeviceDenied {
		t.Errorf("approved by somebody who has just left: %s", state)
	}
	if keys, _ := b.Keys(t.Context(), b.owner); len(keys) != 0 {
		t.Errorf("%d keys are left", len(keys))
	}
}

func TestATerminalThatIsNotApprovedGetsNothing(t *testing.T) {
	t.Parallel()
	b := newTerminals(t)
	if state, _ := b.poll("unknown"); state != account.DeviceUnknown {
		t.Errorf("an unknown code: %s", state)
	}

	denied, userCode := b.start(true)
	if err := b.DenyDevice(t.Context(), userCode, ship.Tenant{Account: b.owner}, b.person); err != nil {
		t.Fatal(err)
	}
	if state, _ := b.poll(denied); state != account.DeviceDenied {
		t.Errorf("after a denial: %s", state)
	}

	// A role that may create no keys ends approvals too.
	demoted, userCode := b.start(true)
	if err := b.ApproveDevice(t.Context(), userCode, b.grant(true)); err != nil {
		t.Fatal(err)
	}
	if err := b.store.RevokeKeysOf(t.Context(), b.owner, b.person); err != nil {
		t.Fatal(err)
	}
	if state, made := b.poll(demoted); state != account.DeviceDenied || made.Key != "" {
		t.Errorf("approved by somebody who may no longer: %s", state)
	}

	left, userCode := b.start(true)
	if err := b.ApproveDevice(t.Context(), userCode, b.grant(true)); err != nil {
		t.Fatal(err)
	}
	owned := storetest.Conn(t, b.url)
	if _, err := owned.Exec(t.Context(), "DELETE FROM members"); err != nil {
		t.Fatal(err)
	}
	if state, made := b.poll(left); state != account.DeviceDenied || made.Key != "" {
		t.Errorf("approved by somebody who has left: %s", state)
	}

	late, userCode := b.start(false)
	if _, err := owned.Exec(t.Context(), "UPDATE device_sign_ins SET expires_at = now() - interval '1 second'"); err != nil {
		t.Fatal(err)
	}
	if state, _ := b.poll(late); state != account.DeviceExpired {
		t.Errorf("too late: %s", state)
	}
	if _, err := b.Device(t.Context(), userCode); ship.KindOf(err) != ship.NotFound {
		t.Errorf("an expired code is shown: %v", err)
	}
	if err := b.store.SweepSignIns(t.Context(), time.Now(), time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if state, _ := b.poll(late); state != account.DeviceUnknown {
		t.Errorf("after the sweep: %s", state)
	}
}
