package emulator_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill/internal/emulator"
)

func open(t *testing.T, file string) *emulator.Ledger {
	t.Helper()
	l, err := emulator.OpenLedger(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func sell(t *testing.T, l *emulator.Ledger, e emulator.Entry) emulator.Entry {
	t.Helper()
	e.Kind = "sold"
	e, err := l.Append(e)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestALedgerOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger")
	before := open(t, file)
	first := sell(t, before, emulator.Entry{Number: "N1", Pieces: []string{"N1", "N2"}, ID: "own", Reference: "S1", Kept: json.RawMessage("{\n\"a\": 1}")})
	sell(t, before, emulator.Entry{Number: "N3"})
	if again, ok, err := before.Void("N2"); again || !ok || err != nil {
		t.Fatalf("void: %v, %v, %v", again, ok, err)
	}
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}
	after := open(t, file)
	for _, by := range []string{"N1", "N2", "own"} {
		e, voided, ok := after.Sold(by)
		if !ok || !voided || e.Reference != "S1" || string(e.Kept) != `{"a":1}` || !e.At.Equal(first.At) || e.Line != 1 {
			t.Errorf("by %s: %+v, %v, %v", by, e, voided, ok)
		}
	}
	if again, ok, err := after.Void("own"); !again || !ok || err != nil {
		t.Errorf("a second void: %v, %v, %v", again, ok, err)
	}
	if _, ok, _ := after.Void("other"); ok {
		t.Error("what was never sold is voided")
	}
	if n := len(after.Entries()); n != 3 {
		t.Errorf("%d lines, want two sales and one void", n)
	}
}

func TestATornLastLineIsCutOff(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger")
	l := open(t, file)
	sell(t, l, emulator.Entry{Number: "N1"})
	sell(t, l, emulator.Entry{Number: "N2"})
	_ = l.Close()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	second := strings.Index(string(whole), "\n") + 1
	for cut := second; cut < len(whole); cut++ {
		if err := os.WriteFile(file, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		l := open(t, file)
		if n := len(l.Entries()); n != 1 {
			t.Fatalf("cut at %d: %d lines, want the first", cut, n)
		}
		sell(t, l, emulator.Entry{Number: "N3"})
		_ = l.Close()
		if list := open(t, file).Entries(); len(list) != 2 || list[1].Number != "N3" {
			t.Fatalf("cut at %d: %+v", cut, list)
		}
	}
}

func TestALineThatIsNotALineIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger")
	if err := os.WriteFile(file, []byte("{\"line\":1}\nshopping list\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := emulator.OpenLedger(file); err == nil || !strings.Contains(err.Error(), "line 2 of the ledger") {
		t.Errorf("it is opened: %v", err)
	}
}

// TestNumbersAreGivenOnce covers sales of several pieces, for sales that were
// refused after their number was given, and over restarts.
func TestNumbersAreGivenOnce(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ledger")
	written := map[int]bool{}
	for range 5 {
		l := open(t, file)
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				pieces := []int{l.Next(), l.Next(), l.Next()}
				if i%4 == 0 {
					return // refused
				}
				sell(t, l, emulator.Entry{Number: "N"})
				mu.Lock()
				defer mu.Unlock()
				for _, n := range pieces {
					if written[n] {
						t.Errorf("number %d is given twice", n)
					}
					written[n] = true
				}
			})
		}
		all.Wait()
		_ = l.Close()
	}
}
