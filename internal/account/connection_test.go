package account_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func TestAConnectionIsOpenedWithWhatWasEntered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.connect(t, false, "")
	if c.Name != "Acme" || c.Fields["account_number"] != "A1" || len(c.Fields) != 1 || !strings.HasPrefix(string(c.ID), "con_") {
		t.Errorf("added as %+v", c)
	}
	list, err := b.Carriers(t.Context(), b.tenant(false))
	if err != nil || len(list) != 1 || list[0].Connection != c.ID || list[0].Spec().Name != "acme" {
		t.Fatalf("Carriers = %v, %v", list, err)
	}
	if err := list[0].Check(t.Context()); err != nil {
		t.Error(err)
	}
	again, err := b.Carriers(t.Context(), b.tenant(false))
	if err != nil || again[0] != list[0] {
		t.Errorf("it is opened twice: %v", err)
	}
}

func TestLiveAndTestConnectionsAreKeptApart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	live, test := b.connect(t, true, "Main"), b.connect(t, false, "Main")
	for _, tc := range []struct {
		live     bool
		own, not ship.ConnectionID
	}{{true, live.ID, test.ID}, {false, test.ID, live.ID}} {
		list, err := b.Carriers(t.Context(), b.tenant(tc.live))
		if err != nil || len(list) != 1 || list[0].Connection != tc.own || list[0].Check(t.Context()) != nil {
			t.Errorf("live %t: %v, %v", tc.live, list, err)
		}
		if _, err := b.Carrier(t.Context(), b.tenant(tc.live), tc.not); ship.KindOf(err) != ship.NotFound {
			t.Errorf("live %t: the other's is there: %v", tc.live, err)
		}
	}
	if b.live.count("/api/check") != 1 || b.test.count("/api/check") != 1 {
		t.Error("each side is not called once")
	}
}

func TestAnotherAccountSeesNothingOfAConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.connect(t, true, "")
	other, err := b.Create(t.Context(), account.Settings{Name: new("Other")})
	if err != nil {
		t.Fatal(err)
	}
	theirs := ship.Tenant{Account: other.ID, Livemode: true}
	if list, err := b.Carriers(t.Context(), theirs); err != nil || len(list) != 0 {
		t.Errorf("Carriers = %v, %v", list, err)
	}
	if list, err := b.Connections(t.Context(), theirs); err != nil || len(list) != 0 {
		t.Errorf("Connections = %v, %v", list, err)
	}
	_, open := b.Carrier(t.Context(), theirs, c.ID)
	_, check := b.CheckConnection(t.Context(), theirs, c.ID)
	_, update := b.UpdateConnection(t.Context(), account.UpdateConnectionInput{Tenant: theirs, ID: c.ID, Name: "mine"})
	for what, err := range map[string]error{"Carrier": open, "Check": check, "Update": update, "Remove": b.RemoveConnection(t.Context(), theirs, c.ID)} {
		if ship.KindOf(err) != ship.NotFound {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestWrongCredentialsAreRefusedWithoutRepeatingThem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tc := range []struct {
		carrier, name string
		given         carrier.Credentials
		want          string
	}{
		{"acme", "", carrier.Credentials{"api_key": "canary-x"}, "/account_number"},
		{"acme", "", carrier.Credentials{"account_number": "A1", "api_key": "  "}, "/api_key"},
		{"acme", "", carrier.Credentials{"account_number": "A1", "api_key": "canary-x", "apikey": "canary-x"}, "/apikey"},
		{"acme", "", carrier.Credentials{"account_number": "A1", "api_key": strings.Repeat("canary-x", 2000)}, "/api_key"},
		{"acme", "a\x00b", carrier.Credentials{"account_number": "A1", "api_key": "canary-x"}, "/name"},
		{"acne", "", carrier.Credentials{"account_number": "A1", "api_key": "canary-x"}, "/carrier"},
	} {
		_, err := b.AddConnection(t.Context(), account.AddConnectionInput{Tenant: b.tenant(false), Carrier: tc.carrier, Name: tc.name, Credentials: tc.given})
		if text := fmt.Sprintf("%+v", err); ship.KindOf(err) != ship.Invalid || !pointsAt(err, tc.want) || strings.Contains(text, "canary") {
			t.Errorf("%v: %s, want it to point at %s", tc.carrier, text, tc.want)
		}
	}
	b.connect(t, false, "Main")
	if _, err := b.AddConnection(t.Context(), account.AddConnectionInput{Tenant: b.tenant(false), Carrier: "acme", Name: "Main", Credentials: carrier.Credentials{"account_number": "A1", "api_key": "k"}}); ship.KindOf(err) != ship.Conflict {
		t.Errorf("the same name again: %v", err)
	}
}

func pointsAt(err error, pointer string) bool {
	e, _ := err.(*ship.Error)
	return e != nil && len(e.Fields) == 1 && e.Fields[0].Pointer == pointer
}

func TestARemovedConnectionServesOnlyWhatWasBoughtThroughIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.connect(t, false, "Main")
	if list, _ := b.Carriers(t.Context(), b.tenant(false)); len(list) != 1 {
		t.Fatal("it is not there")
	}
	if err := b.RemoveConnection(t.Context(), b.tenant(false), c.ID); err != nil {
		t.Fatal(err)
	}
	if list, err := b.Carriers(t.Context(), b.tenant(false)); err != nil || len(list) != 0 {
		t.Errorf("Carriers = %v, %v", list, err)
	}
	opened, err := b.Carrier(t.Context(), b.tenant(false), c.ID)
	if err != nil || opened.Connection != c.ID || opened.Check(t.Context()) != nil {
		t.Errorf("Carrier = %v, %v", opened, err)
	}
	if err := b.RemoveConnection(t.Context(), b.tenant(false), c.ID); ship.KindOf(err) != ship.NotFound {
		t.Errorf("removed twice: %v", err)
	}
	b.connect(t, false, "Main") // its name is free again
}

func TestCredentialsAreReplacedInPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.connect(t, false, "Main")
	before, err := b.Carrier(t.Context(), b.tenant(false), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.test.key = "canary-renewed-key"
	if err := before.Check(t.Context()); ship.KindOf(err) != ship.Forbidden {
		t.Fatalf("with the old key: %v", err)
	}
	if _, err := b.UpdateConnection(t.Context(), account.UpdateConnectionInput{Tenant: b.tenant(false), ID: c.ID, Name: "New", Credentials: carrier.Credentials{"api_key": "canary-renewed-key"}}); err != nil {
		t.Fatal(err)
	}
	after, err := b.Carrier(t.Context(), b.tenant(false), c.ID)
	if err != nil || after.Check(t.Context()) != nil {
		t.Errorf("with the new key: %v", err)
	}
	if list, err := b.Connections(t.Context(), b.tenant(false)); err != nil || list[0].Name != "New" || list[0].Fields["account_number"] != "A1" {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestTheAccountOfAConnectionStaysWhilePurchasesAreOpen: the carrier is asked for a
// lost purchase with the connection, and another account would deny it.
func TestTheAccountOfAConnectionStaysWhilePurchasesAreOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	st, err := store.Open(t.Context(), store.Options{URL: b.url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	tenant := b.tenant(true)
	connection, other := b.connect(t, true, "Main"), b.connect(t, true, "Other")
	update := func(id ship.ConnectionID, credentials carrier.Credentials) error {
		_, err := b.UpdateConnection(t.Context(), account.UpdateConnectionInput{Tenant: tenant, ID: id, Credentials: credentials})
		return err
	}

	shipment := storetest.Shipment(tenant, "1")
	shipment.Purchase.Carrier = "acme"
	shipment.Purchase.Connection = connection.ID
	shipment.Purchase.Simulated = false
	attempt := store.Attempt{Number: 1, Reference: "R1", Carrier: "acme", Connection: connection.ID, Service: "ground"}
	if _, err := st.Intend(t.Context(), shipment, attempt, ship.KeyName{}); err != nil {
		t.Fatal(err)
	}
	if err := update(connection.ID, carrier.Credentials{"account_number": "A2"}); ship.KindOf(err) != ship.Conflict {
		t.Errorf("another account: %v", err)
	}
	if err := update(connection.ID, carrier.Credentials{"api_key": "canary-renewed-key"}); err != nil {
		t.Errorf("another key of the same account: %v", err)
	}
	if err := update(other.ID, carrier.Credentials{"account_number": "A2"}); err != nil {
		t.Errorf("another connection: %v", err)
	}

	if _, err := storetest.Conn(t, b.url).Exec(t.Context(), "UPDATE shipment_states SET state = 'failed'"); err != nil {
		t.Fatal(err)
	}
	if err := update(connection.ID, carrier.Credentials{"account_number": "A2"}); err != nil {
		t.Errorf("once it is settled: %v", err)
	}
}

func TestSwappedRowsDoNotDecrypt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one, two, live := b.connect(t, false, "One"), b.connect(t, false, "Two"), b.connect(t, true, "Live")
	owner := storetest.Conn(t, b.url)
	raw := func(id ship.ConnectionID) [16]byte { return id.Raw() }
	swap := `UPDATE connections c SET %s FROM connections o WHERE c.id = $1 AND o.id = $2`
	for what, set := range map[string]string{
		"both":            "wrapped_key = o.wrapped_key, encrypted_credentials = o.encrypted_credentials",
		"the key":         "wrapped_key = o.wrapped_key",
		"the credentials": "encrypted_credentials = o.encrypted_credentials",
		"the carrier":     "carrier = 'other' || left(o.carrier, 0)",
	} {
		for _, other := range []ship.ConnectionID{two.ID, live.ID} {
			tx, err := owner.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), "CREATE TABLE kept AS SELECT * FROM connections"); err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), fmt.Sprintf(swap, set), raw(one.ID), raw(other)); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			fresh := b.again(b.config.Wrapper)
			if c, err := fresh.Carrier(t.Context(), b.tenant(false), one.ID); err == nil || ship.KindOf(err) == ship.NotFound {
				t.Errorf("with %s of another row: %v, %v", what, c, err)
			}
			if list, err := fresh.Carriers(t.Context(), b.tenant(false)); err != nil || len(list) != 1 || list[0].Connection != two.ID {
				t.Errorf("with %s of another row, the rest is %v, %v", what, list, err)
			}
			if _, err := owner.Exec(t.Context(), "UPDATE connections c SET wrapped_key = k.wrapped_key, encrypted_credentials = k.encrypted_credentials, carrier = k.carrier FROM kept k WHERE c.id = k.id"); err != nil {
				t.Fatal(err)
			}
			if _, err := owner.Exec(t.Context(), "DROP TABLE kept"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if list, err := b.again(b.config.Wrapper).Carriers(t.Context(), b.tenant(false)); err != nil || len(list) != 2 {
		t.Errorf("put back: %v, %v", list, err)
	}
}

func TestALostKeyDoesNotTakeTheOthersAlong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	lost := b.connect(t, false, "Lost")
	later := b.again(box(t, key(2)))
	kept, err := later.AddConnection(t.Context(), account.AddConnectionInput{Tenant: b.tenant(false), Carrier: "acme", Name: "Kept", Credentials: carrier.Credentials{"account_number": "A1", "api_key": b.test.key}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := later.Carriers(t.Context(), b.tenant(false))
	if err != nil || len(list) != 1 || list[0].Connection != kept.ID {
		t.Errorf("Carriers = %v, %v", list, err)
	}
	if text := b.logged(); !strings.Contains(text, "connection skipped") || !strings.Contains(text, string(lost.ID)) || strings.Contains(text, "canary") {
		t.Errorf("the log says %s", text)
	}
	shown, err := later.Connections(t.Context(), b.tenant(false))
	if err != nil || len(shown) != 2 || !strings.Contains(shown[0].Problem, "cannot be decrypted") || shown[1].Problem != "" {
		t.Errorf("Connections = %+v, %v", shown, err)
	}
	found, err := later.CheckConnection(t.Context(), b.tenant(false), lost.ID)
	if err != nil || !account.Failed(found) || !strings.Contains(found[0].Advice, "SECRET_KEY") {
		t.Errorf("%+v, %v", found, err)
	}
	// Entered again as a whole, it works under the key of today.
	if _, err := later.UpdateConnection(t.Context(), account.UpdateConnectionInput{Tenant: b.tenant(false), ID: lost.ID, Credentials: carrier.Credentials{"api_key": b.test.key}}); !pointsAt(err, "/account_number") {
		t.Errorf("entered again in part: %v", err)
	}
	if _, err := later.UpdateConnection(t.Context(), account.UpdateConnectionInput{Tenant: b.tenant(false), ID: lost.ID, Credentials: carrier.Credentials{"account_number": "A1", "api_key": b.test.key}}); err != nil {
		t.Error(err)
	}
	if list, err := later.Carriers(t.Context(), b.tenant(false)); err != nil || len(list) != 2 {
		t.Errorf("entered again: %v, %v", list, err)
	}
}

func TestSecretsAppearNowhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.test.key = "canary-refused" // the carrier repeats the key that it refuses
	c, err := b.AddConnection(t.Context(), account.AddConnectionInput{
		Tenant: b.tenant(false), Carrier: "acme", Credentials: carrier.Credentials{"account_number": "A1", "api_key": "canary-7f3a-key", "pin": "canary-7f3a-pin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	fmt.Fprintf(&said, "%+v", c)
	found, err := b.CheckConnection(t.Context(), b.tenant(false), c.ID)
	fmt.Fprintf(&said, "%+v %v", found, err)
	if !account.Failed(found) {
		t.Errorf("the check passes: %+v", found)
	}
	opened, err := b.Carrier(t.Context(), b.tenant(false), c.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err = opened.Check(t.Context()); err == nil {
		t.Error("the carrier takes it")
	}
	text, _ := json.Marshal(err)
	fmt.Fprintf(&said, "%+v %s", err, text)
	if _, err := b.again(box(t, key(2))).Carrier(t.Context(), b.tenant(false), c.ID); err != nil {
		fmt.Fprintf(&said, "%+v", err)
	}
	list, err := b.Connections(t.Context(), b.tenant(false))
	fmt.Fprintf(&said, "%+v %v", list, err)
	if _, err := b.again(box(t, key(2), key(1))).RotateConnections(t.Context(), false); err != nil {
		t.Error(err)
	}
	for what, text := range map[string]string{"an answer": said.String(), "the log": b.logged(), "the database": dump(t, b.url)} {
		for _, form := range []string{"canary-7f3a", hex.EncodeToString([]byte("canary-7f3a")), base64.StdEncoding.EncodeToString([]byte("canary-7f3a"))[:12]} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s shows a secret: ...%s", what, text[max(0, i-60):min(len(text), i+40)])
			}
		}
	}
}

// dump is the database as a backup holds it.
func dump(t *testing.T, url string) string {
	t.Helper()
	program, err := exec.LookPath("pg_dump")
	if err != nil {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
		if len(found) == 0 {
			t.Skip("there is no pg_dump here")
		}
		program = found[len(found)-1]
	}
	out, err := exec.CommandContext(t.Context(), program, "--dbname", url, "--inserts", "--column-inserts").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "INSERT INTO public.connections") {
		t.Fatal("the dump lacks the connections: the test shows nothing")
	}
	return string(out)
}
