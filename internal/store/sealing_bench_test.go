package store_test

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// BenchmarkCreation compares a creation as it is with one that would encrypt the
// destination under a key of its own and store that key in another row, which
// decision 0022 rejects.
func BenchmarkCreation(b *testing.B) {
	st := storetest.Open(b)
	owner := storetest.Conn(b, st.System().Config().ConnString())
	for _, sql := range []string{
		"CREATE TABLE data_keys (account_id uuid, livemode boolean, shipment_id uuid, wrapped_key bytea, PRIMARY KEY (account_id, livemode, shipment_id))",
		"GRANT INSERT ON data_keys TO waybill_app",
	} {
		if _, err := owner.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		b.Fatal(err)
	}
	tenant := storetest.Tenant()
	n := 0

	create := func(b *testing.B, sealed bool) {
		n++
		shipment := storetest.Shipment(tenant, "o"+strconv.Itoa(n))
		if sealed {
			destination, err := json.Marshal(shipment.Order.Destination)
			if err != nil {
				b.Fatal(err)
			}
			shipment.Order.Destination = ship.Address{City: shipment.Order.Destination.City, Country: "US"}
			shipment.Order.Metadata = map[string]string{"sealed": base64.StdEncoding.EncodeToString(box.Seal(destination, "d"))}
		}
		creation := storetest.Bought(shipment, "1Z"+strconv.Itoa(n))
		err := st.InTx(b.Context(), tenant, func(tx *store.Store) error {
			if _, err := tx.Create(b.Context(), creation); err != nil || !sealed {
				return err
			}
			return store.AddDataKey(b.Context(), tx, tenant, shipment.ID, box.Seal(make([]byte, 32), "k"))
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			create(b, false)
		}
	})
	b.Run("sealed", func(b *testing.B) {
		for b.Loop() {
			create(b, true)
		}
	})
}
