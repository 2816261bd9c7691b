package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// trackedParcels is how many parcels the look-ups choose from.
const trackedParcels = 20_000

// learn creates one shipment and keeps its rows: pgbench writes the same.
func (s *stage) learn(ctx context.Context) error {
	if _, err := s.httpCreation("Jane Doe")(ctx, 1, 200*time.Millisecond); err != nil {
		return err
	}

	var request, purchase, format, carrier, first, second, estimate string
	var label []byte
	err := s.conn.QueryRow(ctx, `
SELECT s.account_id::text, s.request::text, s.purchase::text, l.format, l.data, s.carrier, e1.snapshot::text, e2.snapshot::text, st.estimated_delivery_at::text
FROM shipments s JOIN shipment_states st USING (id) JOIN labels l ON l.shipment_id = s.id
JOIN events e1 ON e1.subject_id = s.id AND e1.sequence = 1 JOIN events e2 ON e2.subject_id = s.id AND e2.sequence = 2 LIMIT 1`).
		Scan(&s.uuid, &request, &purchase, &format, &label, &carrier, &first, &second, &estimate)
	if err != nil {
		return fmt.Errorf("learn from a creation: %w", err)
	}

	s.vars = map[string]string{
		"account":     s.uuid,
		"request":     request,
		"purchase":    purchase,
		"format":      format,
		"label":       `\x` + hex.EncodeToString(label),
		"carrier":     carrier,
		"first":       first,
		"second":      second,
		"estimate":    estimate,
		"fingerprint": `\x` + strings.Repeat("ab", 32),
	}
	return nil
}

const setTenant = "SELECT set_config('waybill.account', :account, true), set_config('waybill.livemode', 'false', true);\n"

// creationValues replace the parameters of the statement of a creation. The ids
// are made by the statement itself, because pgbench knows only numbers.
var creationValues = map[int]string{
	1:  "(SELECT id FROM v)",
	2:  ":account",
	3:  "false",
	4:  "(SELECT key FROM v)",
	5:  ":fingerprint",
	6:  "1",
	7:  ":carrier",
	8:  "(SELECT name FROM v)",
	9:  ":request",
	10: ":purchase",
	11: "1",
	12: "now()",
	13: ":estimate",
	14: "'carrier'",
	15: "(SELECT number FROM v)",
	16: ":format",
	17: ":label",
	18: "(SELECT numbers FROM v)",
	19: "(SELECT due FROM v)",
	20: "(SELECT e1 FROM v)",
	21: ":first",
	22: "(SELECT e2 FROM v)",
	23: ":second",
	24: "1",
}

// newValues are those that differ from one creation to the next.
const newValues = `v AS MATERIALIZED (
  SELECT (h || l)::uuid AS id, (h || '0' || substr(l, 2))::uuid AS e1, (h || '1' || substr(l, 2))::uuid AS e2,
    'bench-' || l AS key, 'order-' || l AS name, l AS number, ARRAY[l] AS numbers, now() + interval '30 seconds' AS due
  FROM (SELECT lpad(to_hex(((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 16) | :s::bigint), 16, '0') AS h, lpad(to_hex(:lo::bigint), 16, '0') AS l) x
), `

// creationCasts are the types of parameters, which the driver would send.
var creationCasts = map[int]string{
	2:  "::uuid",
	5:  "::bytea",
	7:  "::text",
	9:  "::json",
	10: "::json",
	13: "::timestamptz",
	16: "::text",
	17: "::bytea",
	21: "::json",
	23: "::json",
}

func (s *stage) pgbenchCreation(ctx context.Context, clients int, lasts time.Duration) (sample, error) {
	sql, err := statement("sqlCreate")
	if err != nil {
		return sample{}, err
	}
	sql = strings.Replace(fill(sql, creationValues, creationCasts), "WITH ", "WITH "+newValues, 1)

	// The service sends the tenant and the statement in one round trip, so
	// pgbench does too.
	script := "\\set s random(0, 65535)\n\\set lo random(0, 4611686018427387903)\n\\startpipeline\n" + setTenant + oneLine(sql) + ";\n\\endpipeline\n"
	return s.pgbench(ctx, script, clients, lasts)
}

func (s *stage) pgbenchTracking(ctx context.Context, clients int, lasts time.Duration) (sample, error) {
	values := map[int]string{1: ":account", 2: "false", 3: "('B' || :i::int)"}
	script := fmt.Sprintf("\\set i random(0, %d)\n\\startpipeline\n%s", trackedParcels-1, setTenant)
	for _, name := range []string{"sqlFind", "sqlFindScans"} {
		sql, err := statement(name)
		if err != nil {
			return sample{}, err
		}
		script += oneLine(fill(sql, values, trackingCasts)) + ";\n"
	}
	return s.pgbench(ctx, script+"\\endpipeline\n", clients, lasts)
}

var trackingCasts = map[int]string{1: "::uuid"}

var parameter = regexp.MustCompile(`\$(\d+)`)

// fill replaces the parameters of a statement by values with casts.
func fill(sql string, values, casts map[int]string) string {
	return parameter.ReplaceAllStringFunc(sql, func(placeholder string) string {
		n, _ := strconv.Atoi(placeholder[1:])
		return values[n] + casts[n]
	})
}

func oneLine(sql string) string { return strings.Join(strings.Fields(sql), " ") }

// pgbench runs a script with prepared statements as the role that serves
// tenants: the cost of row-level security is measured too.
func (s *stage) pgbench(ctx context.Context, script string, clients int, lasts time.Duration) (sample, error) {
	file := filepath.Join(s.scripts, "script.sql")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
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
	for name, value := range s.vars {
		args = append(args, "-D", name+"="+value)
	}
	cmd := exec.CommandContext(ctx, "pgbench", append(args, s.database)...)
	cmd.Dir = s.scripts
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c role=waybill_app "+os.Getenv("BENCH_PGOPTIONS"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("%w\n%s", err, out)
	}

	got := sample{}
	if got.PerSecond, err = parseNumber(out, `tps = ([0-9.]+)`); err != nil {
		return got, err
	}
	count, err := parseNumber(out, `actually processed: ([0-9]+)`)
	got.count = int(count)
	got.P50, got.P99 = s.readTimes()
	return got, err
}

func parseNumber(out []byte, pattern string) (float64, error) {
	match := regexp.MustCompile(pattern).FindSubmatch(out)
	if match == nil {
		return 0, fmt.Errorf("pgbench says something else:\n%s", out)
	}
	return strconv.ParseFloat(string(match[1]), 64)
}

// readTimes reads the times that pgbench logged, in milliseconds, and removes
// the logs.
func (s *stage) readTimes() (p50, p99 float64) {
	var times []float64
	files, _ := filepath.Glob(filepath.Join(s.scripts, "pgbench_log.*"))
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

// seedTracking gives parcels numbers that pgbench can make up, and a few scans.
func (s *stage) seedTracking(ctx context.Context) error {
	for _, sql := range []string{
		fmt.Sprintf(`CREATE TEMP TABLE chosen AS SELECT account_id, livemode, id, 'B' || (row_number() OVER (ORDER BY id DESC) - 1) AS number
			FROM shipment_states WHERE state = 'purchased' ORDER BY id DESC LIMIT %d`, trackedParcels),
		`UPDATE lookup_keys l SET value = c.number FROM chosen c WHERE l.account_id = c.account_id AND l.livemode = c.livemode AND l.kind = 't' AND l.subject_id = c.id`,
		`UPDATE shipment_states st SET tracking_number = c.number FROM chosen c WHERE st.account_id = c.account_id AND st.livemode = c.livemode AND st.id = c.id`,
		`INSERT INTO tracking_events (account_id, livemode, subject_id, piece, code, occurred_at, status, description, location)
			SELECT account_id, livemode, id, 0, 'C' || g, date_trunc('second', now()) + g * interval '1 hour', (ARRAY['picked_up', 'in_transit', 'out_for_delivery'])[g]::tracking_status, 'Scanned', 'Louisville, KY, US'
			FROM chosen, generate_series(1, 3) g`,
		`VACUUM ANALYZE lookup_keys, shipment_states, tracking_events`,
	} {
		if _, err := s.conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("seed look-ups: %w", err)
		}
	}

	// With fewer parcels, pgbench would look for numbers that do not exist.
	var n int
	if err := s.conn.QueryRow(ctx, "SELECT count(*) FROM chosen").Scan(&n); err != nil || n < trackedParcels {
		return fmt.Errorf("only %d parcels to look up (%w)", n, err)
	}
	return nil
}
