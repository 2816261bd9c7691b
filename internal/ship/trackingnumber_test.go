package ship

import "testing"

func TestATrackingNumberIsStoredWithoutItsSpaces(t *testing.T) {
	if got := NormalizeTrackingNumber("\t1z 5r89-3903\u00a057567127\n"); got != "1Z5R8939"+"0357567127" {
		t.Errorf("got %q", got)
	}
}

func FuzzTrackingNumber(f *testing.F) {
	for _, n := range []string{"1Z5R89390357567127", "420787459400111206206406260787", "RB123456785US", "é", ""} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := NormalizeTrackingNumber(s)
		if again := NormalizeTrackingNumber(n); again != n {
			t.Errorf("twice gives %q, once %q", again, n)
		}
	})
}
