package plugin

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/carrier/remote"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
	"github.com/waybillhq/waybill/internal/webhook"
)

// TestPluginsAreThereAsSoonAsTheyCanBeRead has the database not answer when a process
// first asks for the plug-ins: it must not take them for removed until the list is old.
func TestPluginsAreThereAsSoonAsTheyCanBeRead(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)
	server, _ := startPigeon(t, habits{})
	registering, _ := newService(t, st, 1)
	if _, err := registering.Add(t.Context(), "pigeon_post", server.URL+"/pigeons", secretText); err != nil {
		t.Fatal(err)
	}

	busy, err := storetest.Conn(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Rollback(t.Context()) }()
	if _, err := busy.Exec(t.Context(), "LOCK TABLE carrier_plugins IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	plugins, _ := newService(t, st, 1)
	if specs := plugins.Specs(); len(specs) != 0 {
		t.Errorf("read from a table that is locked: %v", specs)
	}
	if err := busy.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if specs := plugins.Specs(); len(specs) != 1 {
		t.Errorf("%d plug-ins once the database answers, want 1", len(specs))
	}
}

func newService(t *testing.T, st *store.Store, keys ...byte) (*Service, *seal.Box) {
	t.Helper()
	var all [][]byte
	for _, key := range keys {
		all = append(all, bytes.Repeat([]byte{key}, 32))
	}
	box, err := seal.New(all...)
	if err != nil {
		t.Fatal(err)
	}
	return New(Config{
		Store:    st,
		Box:      box,
		Policy:   loopback(),
		Reserved: []string{"ups"},
		Log:      slog.New(slog.DiscardHandler),
	}), box
}

// TestAPluginIsACarrierLikeOthers registers a plug-in, connects an account, buys
// over the traffic of the service, and changes and removes the plug-in.
func TestAPluginIsACarrierLikeOthers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	st := storetest.Open(t)
	plugins, box := newService(t, st, 1)
	server, _ := startPigeon(t, habits{})
	if _, err := plugins.Add(ctx, "pigeon_post", server.URL+"/pigeons", secretText); err != nil {
		t.Fatal(err)
	}

	traffic := carrierkit.NewTraffic(carrierkit.TrafficOptions{Dial: plugins.Dial})
	t.Cleanup(traffic.Close)
	accounts := account.NewWith(account.Config{Store: st, Wrapper: box, Plugins: plugins.Specs, Via: traffic.Doer})
	owner, err := accounts.Create(ctx, account.Settings{Name: new("Shop")})
	if err != nil {
		t.Fatal(err)
	}
	tenant := ship.Tenant{Account: owner.ID}
	connect := func(name string) (account.Connection, error) {
		return accounts.AddConnection(ctx, account.AddConnectionInput{
			Tenant: tenant, Carrier: "pigeon_post", Name: name, Credentials: carrier.Credentials{"api_key": "pigeon-key-1"},
		})
	}
	connection, err := connect("Main")
	if err != nil {
		t.Fatal(err)
	}

	opened := onlyCarrier(t, accounts, tenant)
	if spec := opened.Spec(); !spec.Plugin || spec.Title != "Pigeon Post" || !slices.Contains(opened.Abilities(), "find") {
		t.Errorf("opened as %+v with %v", spec, opened.Abilities())
	}
	order, err := exampleOrder(mustDescribe(t, plugins))
	if err != nil {
		t.Fatal(err)
	}
	order.Reference = "R1"
	bought, err := opened.Buy(ctx, order)
	if err != nil || bought.Carrier != "pigeon_post" || bought.Price.Minor != 790 {
		t.Fatalf("bought %+v, %v", bought, err)
	}
	if _, err := accounts.CheckConnection(ctx, tenant, connection.ID); err != nil {
		t.Error(err)
	}

	// The plug-in loses an ability and moves: whoever opens it next sees that.
	poorer, _ := startPigeon(t, habits{cannotFind: true})
	if _, err := plugins.Add(ctx, "pigeon_post", poorer.URL+"/pigeons", secretText); err != nil {
		t.Fatal(err)
	}
	moved, err := account.NewWith(account.Config{Store: st, Wrapper: box, Plugins: plugins.Specs, Via: traffic.Doer}).Carrier(ctx, tenant, connection.ID)
	if err != nil || slices.Contains(moved.Abilities(), "find") {
		t.Errorf("after the change: %v, %v", moved.Abilities(), err)
	}

	if err := plugins.Remove(ctx, "pigeon_post"); ship.KindOf(err) != ship.Conflict {
		t.Errorf("removed while it is in use: %v", err)
	}
	if err := accounts.RemoveConnection(ctx, tenant, connection.ID); err != nil {
		t.Fatal(err)
	}
	if err := plugins.Remove(ctx, "pigeon_post"); err != nil {
		t.Fatal(err)
	}
	if list, err := plugins.List(ctx); err != nil || len(list) != 0 || len(accounts.Specs()) != 0 {
		t.Errorf("still listed: %v, %v", list, err)
	}
	if _, err := connect("Again"); ship.KindOf(err) != ship.Invalid {
		t.Errorf("connected to a removed plug-in: %v", err)
	}
	if _, err := accounts.Carrier(ctx, tenant, connection.ID); err != nil {
		t.Errorf("what was bought cannot be settled any more: %v", err)
	}
	if err := plugins.Remove(ctx, "pigeon_post"); ship.KindOf(err) != ship.NotFound {
		t.Errorf("removed twice: %v", err)
	}
}

func onlyCarrier(t *testing.T, accounts *account.Service, tenant ship.Tenant) *carrier.Carrier {
	t.Helper()
	list, err := accounts.Carriers(t.Context(), tenant)
	if err != nil || len(list) != 1 {
		t.Fatalf("Carriers = %v, %v", list, err)
	}
	return list[0]
}

func TestWhatCannotBeRegistered(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	plugins, _ := newService(t, st, 1)
	server, _ := startPigeon(t, habits{})
	for name, tc := range map[string]struct{ name, url, secret, says string }{
		"a name of ours":       {"ups", server.URL + "/pigeons", secretText, "belongs to a carrier"},
		"a name with capitals": {"Pigeon", server.URL + "/pigeons", secretText, "lower-case"},
		"no URL":               {"pigeon", "pigeons", secretText, ""},
		"cloud metadata":       {"pigeon", "http://169.254.169.254/", secretText, ""},
		"a query":              {"pigeon", server.URL + "/pigeons?a=b", secretText, "query"},
		"no secret":            {"pigeon", server.URL + "/pigeons", "hunter2", "whsec_"},
		"another secret":       {"pigeon", server.URL + "/pigeons", "whsec_" + strings.Repeat("A", 44), "signature"},
		"nothing there":        {"pigeon", "http://127.0.0.1:1", secretText, ""},
	} {
		_, err := plugins.Add(t.Context(), tc.name, tc.url, tc.secret)
		if err == nil || !strings.Contains(fmt.Sprint(err, ship.ErrorOf(err).Fields), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// Without the operator's word, nothing private is connected to.
	strict := New(Config{Store: st, Policy: webhook.Policy{}, Log: slog.New(slog.DiscardHandler)})
	if _, err := strict.Add(t.Context(), "pigeon", server.URL+"/pigeons", secretText); ship.KindOf(err) != ship.Invalid {
		t.Errorf("on this machine: %v", err)
	}
	if list, err := plugins.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestSecretsOfPluginsAreRotated(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	before, _ := newService(t, st, 1)
	server, _ := startPigeon(t, habits{})
	if _, err := before.Add(t.Context(), "pigeon", server.URL+"/pigeons", secretText); err != nil {
		t.Fatal(err)
	}

	_, both := newService(t, st, 2, 1)
	n := 0
	if err := ResealSecrets(t.Context(), st, both, func(error) { n++ }); err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	after, _ := newService(t, st, 2)
	if list, err := after.List(t.Context()); err != nil || len(list) != 1 || list[0].Secret.Reveal() != secretText {
		t.Errorf("%v, %v", list, err)
	}
	if text := fmt.Sprintf("%v %+v %#v", after.Specs(), mustList(t, after), mustList(t, after)); strings.Contains(text, secretText[6:]) {
		t.Error("printing shows the secret")
	}
}

func mustList(t *testing.T, plugins *Service) []Registered {
	t.Helper()
	list, err := plugins.List(t.Context())
	if err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	return list
}

func mustDescribe(t *testing.T, plugins *Service) remote.Description {
	t.Helper()
	return mustList(t, plugins)[0].Description
}
