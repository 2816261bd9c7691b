package account_test

import (
	"errors"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// refusedFields are the places of the error.
func refusedFields(err error) (list []string) {
	if e, ok := errors.AsType[*ship.Error](err); ok && e.Kind == ship.Invalid {
		for _, f := range e.Fields {
			list = append(list, f.Pointer)
		}
	}
	return list
}

func TestCredentialsThatAreRefusedAreNotStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	in := account.AddConnectionInput{Tenant: b.tenant(false), Carrier: "acme", Credentials: carrier.Credentials{"account_number": "A1", "api_key": "canary-wrong"}}
	_, findings, err := b.AddChecked(t.Context(), in)
	if at := refusedFields(err); len(at) != 1 || at[0] != "/api_key" || !account.Failed(findings) {
		t.Fatalf("err %v at %v, findings %+v", err, at, findings)
	}
	if list, err := b.Connections(t.Context(), b.tenant(false)); err != nil || len(list) != 0 {
		t.Errorf("stored: %+v %v", list, err)
	}
	in.Credentials["api_key"] = b.test.key
	c, findings, err := b.AddChecked(t.Context(), in)
	if err != nil || account.Failed(findings) {
		t.Fatalf("the right ones: %v %+v", err, findings)
	}
	_, _, err = b.UpdateChecked(t.Context(), account.UpdateConnectionInput{Tenant: b.tenant(false), ID: c.ID, Credentials: carrier.Credentials{"api_key": "canary-wrong"}})
	if len(refusedFields(err)) != 1 {
		t.Errorf("an update with wrong ones: %v", err)
	}
	if found := b.check(t, false, c.ID); found["token"].Level != account.LevelOK {
		t.Errorf("the present ones are gone: %+v", found["token"])
	}
}

func TestWhatCannotBeFoundOutNowIsStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	key := b.test.key
	b.test.Close()
	c, findings, err := b.AddChecked(t.Context(), account.AddConnectionInput{Tenant: b.tenant(false), Carrier: "acme", Credentials: carrier.Credentials{"account_number": "A1", "api_key": key}})
	if err != nil || !account.Failed(findings) {
		t.Fatalf("%v %+v", err, findings)
	}
	list, err := b.Connections(t.Context(), b.tenant(false))
	if err != nil || len(list) != 1 || list[0].ID != c.ID || list[0].CheckedAt.IsZero() {
		t.Errorf("stored: %+v %v", list, err)
	}
}
