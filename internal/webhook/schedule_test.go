package webhook

import (
	"testing"
	"time"
)

func TestRetriesComeWhenTheContractSays(t *testing.T) {
	t.Parallel()
	contract := []string{"10s", "1m", "5m", "30m", "2h", "6h", "12h", "24h", "48h"}
	for i, text := range contract {
		want, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		least, most := time.Duration(1<<62), time.Duration(0)
		for range 1000 {
			wait, again := retryDelay(i+1, 0)
			if !again {
				t.Fatalf("there is no try after failure %d", i+1)
			}
			least, most = min(least, wait), max(most, wait)
		}
		if least < want*8/10 || most > want*12/10 || least > want*9/10 || most < want*11/10 {
			t.Errorf("after failure %d: %s to %s, want %s and a fifth more or less", i+1, least, most, text)
		}
	}
	if wait, again := retryDelay(len(contract)+1, time.Hour); again {
		t.Errorf("after the last failure it is tried again in %s", wait)
	}
	if wait, _ := retryDelay(1, 3*time.Hour); wait != 3*time.Hour {
		t.Errorf("an endpoint that asks for three hours is tried after %s", wait)
	}
	if wait, _ := retryDelay(4, time.Second); wait < 24*time.Minute {
		t.Errorf("an endpoint that asks for a second is tried after %s", wait)
	}
}

func TestProbesAreAnHourApartAtMost(t *testing.T) {
	t.Parallel()
	for n := 1; n < 1000; n++ {
		if wait := probeDelay(n); wait < 8*time.Second || wait > time.Hour {
			t.Fatalf("after probe %d: %s", n, wait)
		}
	}
}
