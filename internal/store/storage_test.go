package store_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// TestATestKeyCannotFillTheDatabase uploads files to shipments of test mode, and
// creates objects, until they are refused. Other accounts and live mode have quotas of
// their own.
func TestATestKeyCannotFillTheDatabase(t *testing.T) {
	t.Parallel()
	const quota = 1 << 20
	st, err := store.Open(t.Context(), store.Options{
		URL:         storetest.URL(t),
		Connections: 4,
		Quota:       store.StorageQuota{Live: 10 * quota, Test: quota, KeepTestUploads: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(st.Close)

	tenant := storetest.Tenant()
	upload := func(tenant ship.Tenant, size int) (ship.ShipmentID, error) {
		shipment := storetest.Shipment(tenant, "order")
		if _, err := st.Create(t.Context(), storetest.Bought(shipment, "1Z"+string(shipment.ID)[4:])); err != nil {
			t.Fatal(err)
		}
		file := ship.Document{Type: "other", Format: "pdf", Data: bytes.Repeat([]byte("x"), size)}
		_, err := st.AddUpload(t.Context(), tenant, shipment.ID, file, nil)
		return shipment.ID, err
	}

	first, err := upload(tenant, quota/2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := upload(tenant, quota/2); err != nil {
		t.Fatal(err)
	}
	_, err = upload(tenant, 1)
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok || refused.Kind != ship.Limited || refused.Code != "storage_quota_reached" || refused.RetryAfter <= 0 || refused.RetryAfter > 24*time.Hour {
		t.Errorf("a file above the quota: %+v", err)
	}
	object := store.CompatObject{ID: ship.NewRawID(7, time.Now()), Kind: "address", Body: []byte(`{}`), KeyVersion: ship.ServiceKeys, ExpiresAt: time.Now().Add(time.Hour)}
	if err := st.AddCompatObjects(t.Context(), tenant, object); ship.CodeOf(err) != "storage_quota_reached" {
		t.Errorf("an object above the quota: %v", err)
	}
	if _, err := upload(storetest.Tenant(), quota+1); ship.CodeOf(err) != "storage_quota_reached" {
		t.Errorf("one file that is larger than the quota: %v", err)
	}

	live := tenant
	live.Livemode = true
	for _, other := range []ship.Tenant{live, storetest.Tenant()} {
		if _, err := upload(other, quota); err != nil {
			t.Errorf("another mode or account is refused: %v", err)
		}
	}

	today, err := st.StorageToday(t.Context(), tenant.Account)
	if err != nil || len(today) != 2 || today[0].Bytes != quota || today[1].Bytes != quota || today[1].Quota != quota {
		t.Errorf("today: %+v, %v", today, err)
	}
	if stored, refusals := st.StorageCounts(false); stored != 2*quota || refusals != 3 {
		t.Errorf("%d bytes and %d refusals are counted", stored, refusals)
	}

	// The file of a test shipment is deleted after its time, that of a live one is not.
	if err := st.ExpireStorage(t.Context(), time.Now().Add(30*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Upload(t.Context(), tenant, first, 0); err != nil {
		t.Errorf("before its time: %v", err)
	}
	if err := st.ExpireStorage(t.Context(), time.Now().Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Upload(t.Context(), tenant, first, 0); ship.KindOf(err) != ship.NotFound {
		t.Errorf("after its time: %v", err)
	}
}
