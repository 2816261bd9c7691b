package privacy_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestAnAccountThatFailsDoesNotKeepTheOthers has one account's data be in use, so that
// it cannot be erased now: what the installation keeps no longer is erased all the same.
func TestAnAccountThatFailsDoesNotKeepTheOthers(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	day := func(ago int) time.Time { return time.Now().AddDate(0, 0, -ago) }
	if err := store.MaintainPartitions(t.Context(), url, day(70), nil); err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.Context(), store.Options{URL: url, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	s := privacy.New(privacy.Config{Store: st, Box: box, Log: slog.New(slog.DiscardHandler), Keep: 60 * 24 * time.Hour})

	accounts := account.New(st)
	chooser, err := accounts.Create(t.Context(), account.Settings{Name: new("Shop")})
	if err != nil {
		t.Fatal(err)
	}
	patient, err := accounts.Create(t.Context(), account.Settings{Name: new("Store")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SetRetention(t.Context(), store.AccountRetention{Account: chooser.ID, Personal: 30}); err != nil {
		t.Fatal(err)
	}
	other := ship.Tenant{Account: patient.ID}
	old := storetest.Shipment(other, "old")
	old.ID = ship.NewShipmentID(other.Shard(), day(70))
	if _, err := st.Create(t.Context(), storetest.Bought(old, "1Z1")); err != nil {
		t.Fatal(err)
	}

	inUse, err := storetest.Conn(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inUse.Rollback(t.Context()) }()
	_, err = inUse.Exec(t.Context(), `
INSERT INTO retention_progress (account_id, livemode, erased_through)
SELECT $1, livemode, '00000000-0000-0000-0000-000000000000' FROM unnest(ARRAY[true, false]) livemode`, [16]byte(chooser.ID.Raw()))
	if err != nil {
		t.Fatal(err)
	}

	if err := s.EraseExpired(t.Context()); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("an account whose data is in use: %v", err)
	}
	if got, err := st.Shipment(t.Context(), other, old.ID); err != nil || !got.IsErased {
		t.Errorf("the shipment of another is erased: %t, %v", got.IsErased, err)
	}
}
