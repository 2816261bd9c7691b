package shipping_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/purchase"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// diskBench is a liveBench whose spool and recovery log are in the directory, and
// required.
func diskBench(t *testing.T, dir string, change ...func(*settings)) liveBench {
	t.Helper()
	box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	spool, err := seal.OpenSpool(dir, box)
	if err != nil {
		t.Fatal(err)
	}
	recoveryLog, err := seal.OpenRecoveryLog(filepath.Join(dir, "recovery-log"), box, shipping.RecoveryLogRetention)
	if err != nil {
		t.Fatal(err)
	}

	set := func(s *settings) {
		s.Spool = spool
		s.RecoveryLog = &restore.Log{RecoveryLog: recoveryLog}
		s.SpoolRequired = true
	}
	return newLiveBench(t, "ups", append([]func(*settings){set}, change...)...)
}

// replaceByFile puts a file in the place of a directory, so that nothing can be
// written there: unlike permissions, this also stops root.
func replaceByFile(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func expectNoDisk(t *testing.T, err error) {
	t.Helper()
	failure := ship.ErrorOf(err)
	if failure == nil || failure.Kind != ship.Unavailable || failure.Code != "service_unavailable" || failure.RetryAfter <= 0 {
		t.Errorf("without a disk the answer is %v", err)
	}
}

// TestNothingLiveIsBoughtWithoutTheRecoveryLog has the recovery log fail when the
// carrier is about to be asked, which nobody could know before.
func TestNothingLiveIsBoughtWithoutTheRecoveryLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := diskBench(t, dir)
	logDir := filepath.Join(dir, "recovery-log")
	replaceByFile(t, logDir)

	_, err := b.Buy(t.Context(), b.order(1))
	expectNoDisk(t, err)
	if n := len(b.alive()); n != 0 {
		t.Fatalf("%d labels were bought", n)
	}
	if b.SpoolFailure() == nil {
		t.Error("the failure shows nowhere")
	}

	// The same key buys once the disk works again.
	if err := os.Remove(logDir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(logDir, 0o700); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); b.SpoolFailure() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatal(b.SpoolFailure())
		}
	}
	if _, err := b.Buy(t.Context(), b.order(1)); err != nil {
		t.Fatal(err)
	}
	if n := len(b.alive()); n != 1 {
		t.Errorf("%d labels were bought, want 1", n)
	}
}

// TestNothingIsRecordedWhileTheSpoolHasNoRoom: a purchase that cannot be sent leaves
// no shipment, and one that was made is still answered.
func TestNothingIsRecordedWhileTheSpoolHasNoRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := diskBench(t, dir)
	first, err := b.Buy(t.Context(), b.order(1))
	if err != nil {
		t.Fatal(err)
	}
	replaceByFile(t, dir)

	_, err = b.Buy(t.Context(), b.order(2))
	expectNoDisk(t, err)
	var shipments int
	err = storetest.Conn(t, b.url).QueryRow(t.Context(), "SELECT count(*) FROM shipments").Scan(&shipments)
	if err != nil || shipments != 1 {
		t.Errorf("%d shipments, %v; want the first alone", shipments, err)
	}

	again, err := b.Buy(t.Context(), b.order(1))
	if err != nil || again.Shipment.ID != first.Shipment.ID {
		t.Errorf("the first purchase again is %s, %v; want %s", again.Shipment.ID, err, first.Shipment.ID)
	}
	if n := len(b.alive()); n != 1 {
		t.Errorf("%d labels were bought, want 1", n)
	}
}

// TestWithoutARequiredDiskPurchasesGoOn is a host without a disk.
func TestWithoutARequiredDiskPurchasesGoOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := diskBench(t, dir, func(s *settings) { s.SpoolRequired = false })
	replaceByFile(t, dir)

	if _, err := b.Buy(t.Context(), b.order(1)); err != nil {
		t.Fatal(err)
	}
	if b.SpoolFailure() == nil {
		t.Error("the failure shows nowhere")
	}
}

// TestTheRoomOfASaleIsGivenBack looks at the room while the carrier is asked, and
// when the purchase has ended.
func TestTheRoomOfASaleIsGivenBack(t *testing.T) {
	t.Parallel()
	seen := map[purchase.Kind]int64{}
	var spool *seal.Spool
	b := diskBench(t, t.TempDir(), func(s *settings) {
		spool = s.Spool
		s.Observe = func(act purchase.Act, _ purchase.Result) { seen[act.Kind] = spool.Reserved() }
	})

	if _, err := b.Buy(t.Context(), b.order(1)); err != nil {
		t.Fatal(err)
	}
	if seen[purchase.Send] != 1 || seen[purchase.Spool] != 0 || spool.Reserved() != 0 {
		t.Errorf("room is reserved for %d sales when one was made, %d when it is on the disk, %d in the end; want 1, 0, 0",
			seen[purchase.Send], seen[purchase.Spool], spool.Reserved())
	}
}
