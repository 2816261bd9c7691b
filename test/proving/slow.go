package proving

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowest is the largest factor that Slowness returns. The waits of a service that are
// multiplied by more make a run too long.
const slowest = 8

// Slowness returns how many times slower this machine is now than a quiet one with two
// cores, from 1 to 8. Proofs shorten the waits of the service, so a wait that is never
// reached in production may be too short on a slow machine: no purchase is sent in time,
// and clients that try again make it worse. So they multiply them, as Slowed does.
//
// It measures how long the program takes to start, a few times at once.
func Slowness(t *testing.T) float64 {
	t.Helper()
	const starts = 4
	const quiet = 200 * time.Millisecond // for all of them

	began := time.Now()
	var all sync.WaitGroup
	for range starts {
		all.Go(func() {
			if err := exec.Command(Binary(), "settings").Run(); err != nil {
				t.Errorf("%s settings: %v", Binary(), err)
			}
		})
	}
	all.Wait()

	factor := min(slowest, max(1, Round(time.Since(began).Seconds()/quiet.Seconds())))
	t.Logf("this machine is %.1f times slower than a quiet one", factor)
	return factor
}

// Slowed returns settings with every duration multiplied.
func Slowed(settings []string, factor float64) []string {
	list := make([]string, len(settings))
	for i, s := range settings {
		list[i] = s
		name, value, _ := strings.Cut(s, "=")
		if d, err := time.ParseDuration(value); err == nil && d > 0 {
			list[i] = name + "=" + Times(d, factor).String()
		}
	}
	return list
}

// Times multiplies a duration.
func Times(d time.Duration, factor float64) time.Duration {
	return time.Duration(float64(d) * factor).Round(time.Millisecond)
}
