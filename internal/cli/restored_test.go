package cli_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// missing are purchases that a restore lost, of one account.
type missing struct {
	*testing.T
	shell
	store   *store.Store
	account ship.AccountID
}

func newMissing(t *testing.T) missing {
	t.Helper()
	s := newShell(t)
	account := strings.TrimSpace(s.must(t, "account", "create", "--name", "Acme"))
	st, err := store.Open(t.Context(), store.Options{URL: s["DATABASE_URL"], Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	return missing{T: t, shell: s, store: st, account: ship.AccountID(account)}
}

// add records a missing purchase and returns its shipment.
func (m missing) add(number, key string) string {
	m.Helper()
	tenant := ship.Tenant{Account: m.account, Livemode: true}
	id := ship.NewShipmentID(tenant.Shard(), time.Now())
	err := m.store.AddMissing(m.Context(), []store.MissingPurchase{{
		Tenant:      tenant,
		Shipment:    id,
		Attempt:     1,
		Key:         key,
		Carrier:     "ups",
		Service:     "ground",
		Number:      number,
		Price:       ship.Money{Minor: 1038, Currency: "USD"},
		RequestedAt: time.Now(),
		State:       store.PurchaseMissing,
		Entry:       []byte("sealed"),
	}})
	if err != nil {
		m.Fatal(err)
	}
	return string(id)
}

// state is what is recorded of a missing purchase.
func (m missing) state(id string) (state string) {
	m.Helper()
	parsed, ok := ship.ParseShipmentID(id)
	if !ok {
		m.Fatalf("%s is no shipment", id)
	}
	list, err := m.store.MissingPurchases(m.Context(), m.account, true, 100)
	if err != nil {
		m.Fatal(err)
	}
	for _, purchase := range list {
		if purchase.Shipment == parsed {
			return purchase.State
		}
	}
	return ""
}

func TestAPersonDecidesAboutWhatARestoreLost(t *testing.T) {
	t.Parallel()
	m := newMissing(t)
	first := m.add("1Z1", "order-1")
	second := m.add("1Z2", "")
	third := m.add("1Z3", "order-3")

	list := m.must(t, "restored")
	for _, want := range []string{first, second, third, "1Z1", "10.38 USD", string(m.account)} {
		if !strings.Contains(list, want) {
			t.Errorf("%s is not listed in\n%s", want, list)
		}
	}
	if dry := m.must(t, "restored", "--void", "--all", "--dry-run"); strings.Count(dry, "missing -> voiding") != 3 || m.state(first) != store.PurchaseMissing {
		t.Errorf("a dry run prints\n%s and leaves %s", dry, m.state(first))
	}

	m.must(t, "restored", "--adopt", first)
	m.must(t, "restored", "--void", second)
	if m.state(first) != store.PurchaseAdopting || m.state(second) != store.PurchaseVoiding || m.state(third) != store.PurchaseMissing {
		t.Errorf("they are %s, %s and %s", m.state(first), m.state(second), m.state(third))
	}

	// Another account is not meant.
	other := strings.TrimSpace(m.must(t, "account", "create", "--name", "Other"))
	m.must(t, "restored", "--hold", "--all", "--account", other)
	if m.state(third) != store.PurchaseMissing {
		t.Errorf("the third is %s", m.state(third))
	}
	if doctor, _, err := m.run(t, "doctor"); err == nil || !strings.Contains(doctor, string(m.account)+" (Acme): 1") {
		t.Errorf("doctor prints\n%s, %v", doctor, err)
	}
	m.must(t, "restored", "--hold", "--all", "--account", string(m.account))
	if m.state(first) != store.PurchaseHeld || m.state(third) != store.PurchaseHeld {
		t.Errorf("they are %s and %s", m.state(first), m.state(third))
	}

	// What is named has an entry of its own, and all together have one.
	rows, err := storetest.Conn(t, m.shell["DATABASE_URL"]).Query(t.Context(), "SELECT action || ' ' || target FROM audit_log WHERE action LIKE 'missing_purchase.%' ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := pgx.CollectRows(rows, pgx.RowTo[string])
	want := []string{"missing_purchase.adopted " + first, "missing_purchase.voided " + second, "missing_purchase.held 3 purchases"}
	if err != nil || !slices.Equal(entries, want) {
		t.Errorf("the audit log has %v, %v; want %v", entries, err, want)
	}
}

func TestARestoreThatNobodyNoticedIsRecorded(t *testing.T) {
	t.Parallel()
	m := newMissing(t)
	if out := m.must(t, "restored", "--dry-run"); !strings.Contains(out, "no purchase is missing") {
		t.Errorf("a dry run prints %q", out)
	}
	if state, err := m.store.RestoreState(t.Context()); err != nil || state.Number != 0 {
		t.Fatalf("after a dry run it is %+v, %v", state, err)
	}

	m.must(t, "restored")
	if state, err := m.store.RestoreState(t.Context()); err != nil || state.Number != 1 || !state.AsksCarriers {
		t.Fatalf("recorded is %+v, %v", state, err)
	}
	m.must(t, "restored") // the same one
	if state, err := m.store.RestoreState(t.Context()); err != nil || state.Number != 1 {
		t.Errorf("recorded again is %+v, %v", state, err)
	}

	id := m.add("1Z1", "order-1")
	m.must(t, "restored", "--continue")
	if state, err := m.store.RestoreState(t.Context()); err != nil || state.AsksCarriers || m.state(id) != store.PurchaseHeld {
		t.Errorf("continued is %+v, %s, %v", state, m.state(id), err)
	}
	var entries int
	err := storetest.Conn(t, m.shell["DATABASE_URL"]).QueryRow(t.Context(), "SELECT count(*) FROM audit_log WHERE action = 'missing_purchase.held' AND target = $1", id).Scan(&entries)
	if err != nil || entries != 1 {
		t.Errorf("the audit log has %d entries of it, %v", entries, err)
	}
}

func TestADecisionNamesWhatItIsAbout(t *testing.T) {
	t.Parallel()
	m := newMissing(t)
	id := m.add("1Z1", "")
	for name, args := range map[string][]string{
		"no shipment":         {"--adopt"},
		"no decision":         {id},
		"two decisions":       {"--adopt", "--void", id},
		"shipments and all":   {"--hold", "--all", id},
		"another shipment":    {"--void", "shp_01M7SPWEPEYW5CE3RD6XW45VNW"},
		"all but no decision": {"--all"},
	} {
		if out, _, err := m.run(t, append([]string{"restored"}, args...)...); err == nil {
			t.Errorf("%s: works and prints %s", name, out)
		}
	}
	if m.state(id) != store.PurchaseMissing {
		t.Errorf("it is %s", m.state(id))
	}
}

// TestAMissingPurchaseIsRecordedOnce adds the request, then the sale, then the request again.
func TestAMissingPurchaseIsRecordedOnce(t *testing.T) {
	t.Parallel()
	m := newMissing(t)
	id := m.add("1Z1", "order-1")
	if _, err := storetest.Conn(t, m.shell["DATABASE_URL"]).Exec(t.Context(), "UPDATE missing_purchases SET tracking_number = NULL, state = 'held'"); err != nil {
		t.Fatal(err)
	}
	parsed, _ := ship.ParseShipmentID(id)
	sale := store.MissingPurchase{
		Tenant:      ship.Tenant{Account: m.account, Livemode: true},
		Shipment:    parsed,
		Attempt:     2,
		Carrier:     "ups",
		Service:     "ground",
		Number:      "1Z2",
		RequestedAt: time.Now(),
		State:       store.PurchaseMissing,
	}
	request := sale
	request.Number = ""
	if err := m.store.AddMissing(t.Context(), []store.MissingPurchase{sale, request}); err != nil {
		t.Fatal(err)
	}

	list, err := m.store.MissingPurchases(t.Context(), m.account, false, 10)
	if err != nil || len(list) != 1 || list[0].Number != "1Z2" || list[0].State != store.PurchaseHeld || list[0].Attempt != 2 {
		t.Errorf("missing are %+v, %v", list, err)
	}
}
