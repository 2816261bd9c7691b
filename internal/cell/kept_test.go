package cell

import "testing"

// TestKeptBodiesAreBounded fills the room for bodies, and frees it again.
func TestKeptBodiesAreBounded(t *testing.T) {
	router := &Router{}
	taken := 0
	for router.takeRoom(1 << 20) {
		taken++
	}
	if taken != maxKept>>20 || router.kept.Load() != maxKept {
		t.Errorf("%d MiB are kept", taken)
	}
	router.kept.Add(-1 << 20)
	if !router.takeRoom(1 << 20) {
		t.Error("there is no room after a body was dropped")
	}
}
