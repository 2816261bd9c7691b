package journal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

func TestDifferencesOfLiveConnectionsAreKept(t *testing.T) {
	t.Parallel()
	st := storetest.Open(t)
	j := journal.New(journal.Config{Store: st})
	live := storetest.Tenant()
	live.Livemode = true
	test := live
	test.Livemode = false

	unknown := &ship.Error{Kind: ship.Invalid, Message: carrier.RefusedMessage, Refusal: ship.Refusal{Code: "120999", Message: "No such thing as Main Street 5"}}
	for _, tenant := range []ship.Tenant{live, test} {
		id := ship.NewConnectionID(tenant.Shard(), time.Now())
		err := st.AddConnection(t.Context(), store.Connection{
			ID: id, Tenant: tenant, Carrier: "acme", Name: "Main", WrappedKey: []byte("k"), Credentials: []byte("c"),
		})
		if err != nil {
			t.Fatal(err)
		}
		observe := j.Observe(tenant, id)
		for range 3 {
			observe(carrier.OpBuy, time.Second, unknown)
		}
		observe(carrier.OpBuy, time.Second, nil)
		observe(carrier.OpBuy, time.Second, errors.New("something else"))
		observe(carrier.OpBuy, time.Second, ship.Errorf(ship.Unavailable, "down"))
	}
	flush(t, j)

	list, err := st.Differences(t.Context(), live)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v; want one difference", list, err)
	}
	if d := list[0]; d.Carrier != "acme" || d.Kind != "error_code" || d.Operation != "buy" || d.Code != "120999" || d.Detail != "No such thing as ..." || d.Count != 3 {
		t.Errorf("%+v", d)
	}
	if list, err := st.Differences(t.Context(), test); err != nil || len(list) != 0 {
		t.Errorf("of a test connection: %+v, %v", list, err)
	}
}
