package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed anchor
var anchorFiles embed.FS

// anchorAccount is the account of the anchor's shipments.
const anchorAccount = "0199f3a0-0000-7000-8000-000000000001"

// An anchor is bare Postgres: the rows of a creation and of a look-up, written
// and read by pgbench in a database of their own.
type anchor struct {
	conn     *pgx.Conn
	database string
	folder   string            // pgbench writes its logs there
	values   map[string]string // of a shipment
}

func openAnchor(ctx context.Context) (*anchor, error) {
	a := &anchor{values: map[string]string{}}
	var err error
	if a.database, a.conn, err = makeDatabase(ctx, "anchor"); err != nil {
		return nil, err
	}
	if a.folder, err = os.MkdirTemp("", "waybill-bench"); err != nil {
		return nil, err
	}
	if _, err := a.conn.Exec(ctx, anchorFile("schema.sql")); err != nil {
		return nil, fmt.Errorf("the anchor's schema: %w", err)
	}

	if err := json.Unmarshal([]byte(anchorFile("values.json")), &a.values); err != nil {
		return nil, err
	}
	a.values["account"] = anchorAccount
	a.values["fingerprint"] = `\x` + strings.Repeat("ab", 32)
	return a, nil
}

// anchorFile returns a file of the anchor.
func anchorFile(name string) string {
	data, err := anchorFiles.ReadFile("anchor/" + name)
	if err != nil {
		panic(err) // the files are embedded
	}
	return string(data)
}

func (a *anchor) close() {
	_ = os.RemoveAll(a.folder)
	dropDatabase(a.conn, a.database)
}

func (a *anchor) contender() contender {
	return contender{
		name: "engine",
		work: map[string]work{
			"creation": func(ctx context.Context, clients int, lasts time.Duration) (sample, error) {
				return a.pgbench(ctx, "creation.sql", clients, lasts)
			},
			"tracking": func(ctx context.Context, clients int, lasts time.Duration) (sample, error) {
				return a.pgbench(ctx, "lookup.sql", clients, lasts)
			},
		},
		conn: a.conn,
	}
}

// lookedUp is how many parcels the look-ups choose from, as in lookup.sql.
const lookedUp = 20_000

// seedLookups gives parcels numbers that pgbench can make up, and a few scans.
//
// Where the measurements before made fewer parcels, create makes more.
func seedLookups(ctx context.Context, conn *pgx.Conn, create work) error {
	for {
		var n int
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM shipment_states WHERE state = 'purchased' AND NOT livemode").Scan(&n); err != nil {
			return err
		}
		if n >= lookedUp {
			break
		}
		if _, err := create(ctx, 16, time.Second); err != nil {
			return err
		}
	}

	for _, sql := range []string{anchorFile("parcels.sql"), "VACUUM ANALYZE lookup_keys", "VACUUM ANALYZE shipment_states", "VACUUM ANALYZE tracking_events"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// pgbench runs a script with prepared statements as the role that serves
// tenants: the cost of row-level security is measured too.
func (a *anchor) pgbench(ctx context.Context, script string, clients int, lasts time.Duration) (sample, error) {
	file := filepath.Join(a.folder, script)
	if err := os.WriteFile(file, []byte(anchorFile(script)), 0o600); err != nil {
		return sample{}, err
	}

	args := []string{
		"-n", "-M", "prepared",
		"-c", strconv.Itoa(clients),
		"-j", strconv.Itoa(min(clients, 2)),
		"-T", strconv.Itoa(int(lasts.Seconds())),
		"-f", file,
		"-l", "--sampling-rate=0.2",
	}
	for name, value := range a.values {
		args = append(args, "-D", name+"="+value)
	}
	cmd := exec.CommandContext(ctx, "pgbench", append(args, a.database)...)
	cmd.Dir = a.folder
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c role=waybill_app "+os.Getenv("BENCH_PGOPTIONS"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("%w\n%s", err, out)
	}

	var got sample
	if got.PerSecond, err = parseNumber(out, `tps = ([0-9.]+)`); err != nil {
		return got, err
	}
	count, err := parseNumber(out, `actually processed: ([0-9]+)`)
	got.count = int(count)
	got.P50, got.P99 = a.readTimes()
	return got, err
}

func parseNumber(out []byte, pattern string) (float64, error) {
	match := regexp.MustCompile(pattern).FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("pgbench printed something else:\n%s", out)
	}
	return strconv.ParseFloat(string(match[1]), 64)
}

// readTimes reads the times that pgbench logged, in milliseconds, and removes
// the logs.
func (a *anchor) readTimes() (p50, p99 float64) {
	var times []float64
	files, _ := filepath.Glob(filepath.Join(a.folder, "pgbench_log.*"))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		lines := bufio.NewScanner(bytes.NewReader(data))
		for lines.Scan() {
			if fields := strings.Fields(lines.Text()); len(fields) > 2 {
				micros, _ := strconv.ParseFloat(fields[2], 64)
				times = append(times, micros/1000)
			}
		}
		_ = os.Remove(file)
	}

	if len(times) == 0 {
		return 0, 0
	}
	slices.Sort(times)
	return round(times[len(times)/2]), round(times[int(float64(len(times)-1)*0.99)])
}
