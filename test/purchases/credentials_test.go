//go:build chaos

package purchases

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// TestProveCredentials has everything go wrong that could make somebody print
// a secret, at the level of logs that prints the most.
func TestProveCredentials(t *testing.T) {
	n := proving.Pick(t, 60, 400)
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newWorld(t, "LOG_LEVEL=DEBUG")
	c := w.newClients(16, 0.05)

	// At least one label is stored, for the control at the end: on a slow machine the
	// clients below may give up before any is.
	first := newOrder(fmt.Sprintf("first-%x", seed), "ups")
	c.buyAll([]*order{first}, seed, 0, time.Minute)
	if first.status != http.StatusCreated {
		t.Fatalf("a healthy carrier sold nothing: %d %s", first.status, first.code)
	}

	for round, k := range []emulator.Faults{
		{Expired: 0.5},
		{Limit: 0.2, Down: 0.3},
		{Refuse: 0.5, Buy: map[string]float64{"500": 0.2, "502": 0.2, "truncate": 0.2, "wrong_reference": 0.2}},
	} {
		w.turnAll(k)
		orders := newOrders(fmt.Sprintf("secret-%x-%d", seed, round), n/3, rand.New(rand.NewPCG(seed, uint64(round))))
		c.buyFor(orders, seed, time.Second, 3*time.Second)
		_, _, _ = w.call(w.copies[0], http.MethodPost, "/v1/rates", "", ratesBody)
	}
	w.turnAll(emulator.Faults{})
	w.wrongCredentials()
	_, _, _ = w.call(w.copies[0], http.MethodGet, "/v1/carriers", "", "")
	looked := w.guard(t)
	w.control(t)
	report(t, nil, map[string]any{"secrets": len(w.watch.secrets), "lookedAtMB": proving.Round(float64(looked) / 1e6), "seen": len(w.watch.leaks())})
}

// wrongCredentials connects accounts with secrets that are refused: what is
// said about them must not repeat them.
func (w *world) wrongCredentials() {
	for _, s := range w.carriers {
		args := []string{"connection", "add", "--account", w.account, "--live", "--carrier", s.Name, "--name", "Wrong"}
		for field, value := range s.accepts {
			if secretFields[field] {
				value = "canary-" + s.Name + "-" + field
				w.watch.add(s.Name+" wrong "+field, value)
			}
			args = append(args, "--set", field+"="+value)
		}
		for _, args := range [][]string{args, {"connection", "check", "--account", w.account, "--live"}, {"connection", "list", "--account", w.account}} {
			cmd := exec.Command(proving.Binary(), args...)
			cmd.Env = w.env()
			out, _ := cmd.CombinedOutput() // whether it is refused or not
			w.watch.see("what waybill "+strings.Join(args[:2], " ")+" says", out)
		}
	}
	_, _, _ = w.call(w.copies[0], http.MethodPost, "/v1/rates", "", ratesBody)
}

// guard looks for secrets in all that a run leaves behind: the logs and disks
// of the copies, their metrics, a dump of the database. Answers were looked at
// as they came.
func (w *world) guard(t *testing.T) (looked int64) {
	t.Helper()
	for _, c := range w.copies {
		looked += w.inspect(t, "the log of "+c.Name, mustOpen(t, c.Log))
		err := filepath.WalkDir(c.Spool, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				f, err := os.Open(name)
				if errors.Is(err, fs.ErrNotExist) {
					return nil // it was recorded just now
				}
				if err != nil {
					return err
				}
				looked += w.inspect(t, "the spool of "+c.Name, f)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
		slow := http.Client{Timeout: proving.Patiently(10 * time.Second)}
		resp, err := slow.Get("http://" + c.Metrics + "/metrics")
		if err != nil {
			t.Error(err)
			continue
		}
		looked += w.inspect(t, "the metrics of "+c.Name, resp.Body)
	}
	looked += w.inspectDump(t)
	for _, leak := range w.watch.leaks() {
		t.Error(leak)
	}
	return looked
}

func mustOpen(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// control makes sure that the guard is able to see: what is in the database in
// clear, and what is there as bytes, it finds.
func (w *world) control(t *testing.T) {
	t.Helper()
	secrets := w.watch
	defer func() { w.watch = secrets }()
	w.watch = &watch{secrets: map[string][][]byte{}, seen: map[string]bool{}}
	w.watch.add("an account number", credentials["ups"]["account_number"])
	w.watch.add("a label", "%PDF-1.")
	w.inspectDump(t)
	if seen := w.watch.leaks(); len(seen) < 2 {
		t.Errorf("a dump shows only %d of 2 things that are in it", len(seen))
	}
}

// inspect looks at a stream in pieces that overlap.
func (w *world) inspect(t *testing.T, where string, in io.ReadCloser) (looked int64) {
	t.Helper()
	defer in.Close()
	const piece, overlap = 1 << 20, 512
	buffer := make([]byte, 0, piece)
	for {
		n, err := io.ReadFull(in, buffer[len(buffer):piece])
		buffer = buffer[:len(buffer)+n]
		looked += int64(n)
		w.watch.see(where, buffer)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v", where, err)
			}
			return looked
		}
		buffer = append(buffer[:0], buffer[piece-overlap:]...)
	}
}

// inspectDump looks at a dump of the database.
func (w *world) inspectDump(t *testing.T) int64 {
	t.Helper()
	programs, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_dump")
	program := "pg_dump"
	if len(programs) > 0 {
		program = programs[len(programs)-1]
	}
	cmd := exec.Command(program, "--dbname="+w.database)
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = os.Stderr
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	looked := w.inspect(t, "a dump of the database", io.NopCloser(bufio.NewReader(out)))
	if err := cmd.Wait(); err != nil {
		t.Errorf("pg_dump: %v", err)
	}
	return looked
}
