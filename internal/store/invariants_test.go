package store_test

import (
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// TestEveryViolationIsFound breaks each rule once.
func TestEveryViolationIsFound(t *testing.T) {
	t.Parallel()
	for rule, sabotage := range map[string]string{
		"": `SELECT 1`,
		"a purchased shipment has a label and its event":         `DELETE FROM labels`,
		"a purchased shipment was bought by exactly one attempt": `INSERT INTO purchase_attempts SELECT shipment_id, account_id, livemode, 9, reference, carrier, service, now(), now(), 'purchased' FROM purchase_attempts`,
		"a purchase is charged once and a void is credited":      `DELETE FROM charges`,
		"a failed purchase costs nothing":                        `UPDATE shipment_states SET state = 'failed'`,
		"an orphaned label is voided within ten minutes":         `INSERT INTO orphaned_labels SELECT account_id, livemode, 'ups', '1Z7', id, 1, 'lookup', 'pending', '{}', NULL, now() - interval '11 minutes' FROM shipment_states`,
		"event sequence numbers have no gaps":                    `UPDATE events SET sequence = 7 WHERE kind = 'label.generated'`,
	} {
		f := newFixture(t)
		f.settledLive(t)
		if _, err := f.owner.Exec(t.Context(), sabotage); err != nil {
			t.Fatal(err)
		}
		list, err := f.Violations(t.Context(), time.Now().Add(time.Second))
		switch {
		case err != nil:
			t.Fatal(err)
		case rule == "" && len(list) > 0:
			t.Errorf("nothing is wrong, and found are %+v", list)
		case rule != "" && (len(list) != 1 || list[0].Rule != rule || list[0].Count != 1):
			t.Errorf("not so: %s; found are %+v", rule, list)
		}
	}
}

func TestAPurchaseThatIsNeverSettledIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	sh := f.intend(t, f.tenant, "o")
	list, err := f.Violations(t.Context(), time.Now().Add(26*time.Hour))
	if err != nil || len(list) != 1 || list[0].Example != sh.ID {
		t.Errorf("found %+v, %v", list, err)
	}
}

// settledLive buys something that costs money.
func (f *fixture) settledLive(t *testing.T) {
	t.Helper()
	sh := f.intend(t, f.tenant, "o")
	c := bought(sh, "1Z1")
	c.Shipment.Purchase.Simulated, c.Shipment.Purchase.Connection = false, ship.NewConnectionID(7, now())
	if _, err := f.Settle(t.Context(), store.Settlement{Creation: c, Attempt: 1, BoughtBy: 1}); err != nil {
		t.Fatal(err)
	}
}
