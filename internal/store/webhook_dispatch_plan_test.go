package store_test

import (
	"testing"
)

// The deliveries that are due are looked for several times a second, among
// any number that are not.
func TestWhatIsDueIsFoundInTheIndexAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, sql := range []string{
		`INSERT INTO webhook_retries (account_id, livemode, endpoint_id, event_id, event_txid, slot, attempts, next_attempt_at)
		 SELECT gen_random_uuid(), false, gen_random_uuid(), gen_random_uuid(), '1', n % 16, 1, now() + interval '1 second' * (n - 50000) FROM generate_series(1, 100000) n`,
		`VACUUM ANALYZE webhook_retries`,
	} {
		if _, err := f.owner.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	const slots, none = "'{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}'", "'{}'"
	var scans []node
	planOf(t, f.owner, "waybill_sys", "sqlDueRetries", slots, "1000", none).walk(func(n node) {
		if n.Relation != "" || n.Index != "" {
			scans = append(scans, n)
		}
	})
	if len(scans) != 1 || scans[0].Type != "Index Only Scan" || scans[0].Index != "webhook_retries_due" || scans[0].Loops != 16 {
		t.Errorf("it is found by %+v", scans)
	}
}
