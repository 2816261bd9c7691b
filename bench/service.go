package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/emulator/ups"
)

// A service is a running binary with a database of its own. With everything on
// it runs all roles, delivers webhooks, and buys from an emulated UPS.
type service struct {
	title    string
	binary   string
	conn     *pgx.Conn
	database string
	folder   string // of its spool
	addr     string
	account  string
	testKey  string
	liveKey  string // empty without the emulated UPS
	settings []string

	process  *exec.Cmd
	emulator *exec.Cmd        // nil without everything
	receiver *httptest.Server // of webhooks; nil without everything

	orders atomic.Int64
}

// openService starts a binary. The service is returned with the error, so that
// what was started can be ended.
func openService(ctx context.Context, title, binary string, o options) (*service, error) {
	s := &service{title: title, binary: binary}
	var err error
	if s.database, s.conn, err = makeDatabase(ctx, title); err != nil {
		return nil, err
	}
	if s.folder, err = os.MkdirTemp("", "waybill-bench"); err != nil {
		return s, err
	}
	s.settings = append(os.Environ(),
		"DATABASE_URL="+s.database,
		"SPOOL_DIR="+s.folder,
		"SECRET_KEY="+strings.Repeat("ab", 32),
		"METRICS_LISTEN=off",
		"LOG_LEVEL=WARN",
		"RATE_LIMIT=1000000",
		"RATE_BURST=1000000",
		"DATABASE_CONNECTIONS=32")

	if _, err := s.waybill("migrate"); err != nil {
		return s, err
	}
	if err := age(ctx, s.conn, o.months); err != nil {
		return s, fmt.Errorf("age the database: %w", err)
	}
	if err := s.makeAccount(); err != nil {
		return s, err
	}

	if !o.everything {
		return s, s.start("--roles", "api")
	}
	if err := s.emulateUPS(); err != nil {
		return s, err
	}
	if err := s.start(); err != nil {
		return s, err
	}
	return s, s.subscribe(ctx)
}

func (s *service) waybill(args ...string) (string, error) {
	cmd := exec.Command(s.binary, args...)
	cmd.Env = s.settings
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("waybill %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (s *service) makeAccount() error {
	out, err := s.waybill("account", "create", "--name", "bench")
	if err != nil {
		return err
	}
	s.account = strings.Fields(out)[0]
	s.testKey, err = s.waybill("key", "create", "--account", s.account, "--name", "bench")
	return err
}

// emulateUPS starts an emulator and connects the account to it.
func (s *service) emulateUPS() error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	s.emulator = exec.Command(s.binary, "emulate", "ups", "--listen", addr)
	s.emulator.Stderr = os.Stderr
	if err := s.emulator.Start(); err != nil {
		return err
	}
	if err := await("http://" + addr + "/_emulator/faults"); err != nil {
		return fmt.Errorf("the emulated UPS: %w", err)
	}

	s.settings = append(s.settings, "CARRIER_URLS=ups=http://"+addr+"/api")
	_, err = s.waybill("connection", "add", "--account", s.account, "--live", "--carrier", "ups", "--name", "Main",
		"--set", "client_id="+ups.ClientID, "--set", "client_secret="+ups.ClientSecret, "--set", "account_number="+ups.Account)
	if err != nil {
		return err
	}
	s.liveKey, err = s.waybill("key", "create", "--live", "--account", s.account, "--name", "bench")
	return err
}

func (s *service) start(args ...string) error {
	var err error
	if s.addr, err = freeAddr(); err != nil {
		return err
	}
	s.process = exec.Command(s.binary, append([]string{"serve"}, args...)...)
	s.process.Env = append(s.settings, "LISTEN="+s.addr, "WEBHOOK_ALLOW_LOOPBACK=on")
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		return err
	}
	return await("http://" + s.addr + "/readyz")
}

// subscribe has all events delivered to a receiver that takes them.
func (s *service) subscribe(ctx context.Context) error {
	s.receiver = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, key := range []string{s.testKey, s.liveKey} {
		body := strings.NewReader(`{"url":"` + s.receiver.URL + `"}`)
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.addr+"/v1/webhooks", body)
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+key)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}

		var problem bytes.Buffer
		_, _ = problem.ReadFrom(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusCreated {
			return fmt.Errorf("add a webhook endpoint: %s: %s", response.Status, &problem)
		}
	}
	return nil
}

// freeAddr returns an address on which nobody listens.
func freeAddr() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// await waits until the URL is answered with 200.
func await(url string) error {
	for range 500 {
		response, err := http.Get(url)
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("%s is not answered", url)
}

func (s *service) close() {
	for _, process := range []*exec.Cmd{s.process, s.emulator} {
		if process != nil && process.Process != nil {
			_ = process.Process.Signal(syscall.SIGTERM)
			_ = process.Wait()
		}
	}
	if s.receiver != nil {
		s.receiver.Close()
	}
	_ = os.RemoveAll(s.folder)
	dropDatabase(s.conn, s.database)
}

func (s *service) contender() contender {
	return contender{
		name: s.title,
		pid:  s.process.Process.Pid,
		work: map[string]work{
			"creation":      s.creation,
			"creation_live": s.purchase,
			"tracking":      s.lookup,
		},
		conn: s.conn,
	}
}

func (s *service) creation(ctx context.Context, clients int, lasts time.Duration) (sample, error) {
	return s.load(ctx, clients, lasts, http.StatusCreated, s.order(s.testKey, "Jane Doe", ""))
}

// purchase buys from the emulated UPS. Without it, the destination has the
// sandbox sell at once, but take the way of a live carrier.
func (s *service) purchase(ctx context.Context, clients int, lasts time.Duration) (sample, error) {
	if s.liveKey == "" {
		return s.load(ctx, clients, lasts, http.StatusCreated, s.order(s.testKey, "FAULT EXCEPTION", ""))
	}
	return s.load(ctx, clients, lasts, http.StatusCreated, s.order(s.liveKey, "Jane Doe",
		`,"carrier":"ups","service":"ground","origin":{"name":"Shop","address1":"1 Market Street","city":"San Francisco","state":"CA","zip":"94105","country":"US","phone":"4155550100"}`))
}

func (s *service) lookup(ctx context.Context, clients int, lasts time.Duration) (sample, error) {
	// 7919 is prime, so its multiples reach every parcel.
	var position atomic.Int64
	return s.load(ctx, clients, lasts, http.StatusOK, func(buffer []byte) []byte {
		return s.appendLookup(buffer, position.Add(7919)%lookedUp)
	})
}

// disk returns how many bytes a shipment takes with all its rows and indexes,
// by table.
func (s *service) disk(ctx context.Context) (map[string]float64, error) {
	rows, err := s.conn.Query(ctx, `
SELECT coalesce(p.relname, c.relname), sum(pg_total_relation_size(c.oid))::float8 / (SELECT count(*) FROM shipments)
FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
WHERE c.relkind = 'r' AND coalesce(p.relname, c.relname) IN ('shipments', 'shipment_states', 'labels', 'lookup_keys', 'events', 'sandbox_polls', 'idempotency_keys')
GROUP BY 1`)
	if err != nil {
		return nil, err
	}

	sizes := map[string]float64{}
	var table string
	var size float64
	_, err = pgx.ForEachRow(rows, []any{&table, &size}, func() error {
		sizes[table] = round(size)
		sizes["total"] = round(sizes["total"] + size)
		return nil
	})
	return sizes, err
}
