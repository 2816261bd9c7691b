//go:build chaos

package cells_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/test/proving"
)

// city is two cells with a server each, a copy of the service for each, and a
// router. All of them can be killed.
type city struct {
	t         *testing.T
	clusters  [2]*proving.Cluster
	copies    []*proving.Process
	router    *proving.Process
	databases string
	tries     atomic.Int64 // that clients made again
}

var names = [2]string{"eu-1", "eu-2"}

func newCity(t *testing.T) *city {
	t.Helper()
	c := &city{t: t}
	dir := t.TempDir()
	var list []string
	for i := range c.clusters {
		c.clusters[i] = proving.NewCluster(t, "WAYBILL_PG_OPTIONS=-c wal_level=logical", "WAYBILL_PG_SHARED_BUFFERS=64MB")
		c.waybill(i, "migrate")
		list = append(list, names[i]+"="+c.clusters[i].URL)
	}
	c.databases = strings.Join(list, ",")
	for i, name := range names {
		c.copies = append(c.copies, proving.NewCopy(t, name, dir, func() []string { return append(c.env(i), "CELL="+name) }))
		c.waybill(0, "cell", "add", name, "--url", "http://"+c.copies[i].Addr, "--cell-database", c.clusters[i].URL)
	}

	c.router = &proving.Process{Name: "router", Addr: proving.FreeAddr(t), Log: filepath.Join(dir, "router.log")}
	c.router.Command = func() *exec.Cmd {
		cmd := exec.Command(proving.Binary(), "route")
		cmd.Env = append(append(os.Environ(), c.env(0)...), "LISTEN="+c.router.Addr)
		return cmd
	}
	for _, p := range append(c.copies, c.router) {
		p.Start(t)
		t.Cleanup(func() { p.End(t) })
	}
	proving.Ready(t, append(c.copies, c.router))
	return c
}

func (c *city) env(i int) []string {
	return []string{
		"DATABASE_URL=" + c.clusters[i].URL, "LOG_LEVEL=ERROR", "RATE_LIMIT=0", "RATE_BURST=1000000", "CELL_DATABASES=" + c.databases,
		"SANDBOX_STEP=0", "DATABASE_CONNECTIONS=8", "BASE_URL=",
	}
}

func (c *city) command(i int, args ...string) *exec.Cmd {
	cmd := exec.Command(proving.Binary(), args...)
	cmd.Env = append(os.Environ(), c.env(i)...)
	return cmd
}

func (c *city) waybill(i int, args ...string) string {
	c.t.Helper()
	return proving.Output(c.t, c.command(i, args...))
}

// A shop is an account that a client creates shipments for.
type shop struct {
	key, account string
	shard        int
	made         map[string]string // shipments by order
	longest      time.Duration     // that a creation took, with all its tries
}

func (c *city) shop() *shop {
	c.t.Helper()
	account := strings.Fields(c.waybill(0, "account", "create", "--name", "shop"))[0]
	s := &shop{account: account, made: map[string]string{}}
	s.key = strings.TrimSpace(c.waybill(0, "key", "create", "--account", account))
	id, ok := ship.ParseAccountID(account)
	if !ok {
		c.t.Fatalf("%q is no account", account)
	}
	s.shard = int(id.Raw().Shard())
	return s
}

var client = &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 32}}

// create makes a shipment through the router, and tries again as the client
// libraries do until it is answered.
func (c *city) create(ctx context.Context, s *shop, order, address string) (id string, err error) {
	body := fmt.Sprintf(`{"orderId":%q,"destination":{"name":"B","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"},"parcel":{"weight":2.5}}`, order)
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/v1/shipments", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		r.Header.Set("Authorization", "Bearer "+s.key)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", order)
		response, err := client.Do(r)
		if err == nil {
			answer, _ := io.ReadAll(response.Body)
			response.Body.Close()
			var shipment struct{ ID string }
			_ = json.Unmarshal(answer, &shipment)
			switch {
			case response.StatusCode == http.StatusCreated && shipment.ID != "":
				return shipment.ID, nil
			case response.StatusCode != http.StatusConflict && response.StatusCode != http.StatusTooManyRequests && response.StatusCode < 500:
				return "", fmt.Errorf("order %s: %d %s", order, response.StatusCode, answer)
			}
		}
		c.tries.Add(1)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// trade creates shipments until ctx ends.
func (c *city) trade(ctx context.Context, s *shop) {
	for n := 0; ctx.Err() == nil; n++ {
		order := fmt.Sprintf("%s-%d", s.account[len(s.account)-6:], n)
		began := time.Now()
		id, err := c.create(context.WithoutCancel(ctx), s, order, "http://"+c.router.Addr)
		if err != nil {
			c.t.Error(err)
			return
		}
		s.made[order] = id
		took := time.Since(began)
		s.longest = max(s.longest, took)
		time.Sleep(20 * time.Millisecond)
	}
}

// move moves a shard with the program, which is killed now and then.
func (c *city) move(rng *rand.Rand, shard int, to string, kills *atomic.Int64) {
	for {
		cmd := c.command(0, "shard", "move", strconv.Itoa(shard), to, "--keep", "0s")
		var said strings.Builder
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			c.t.Error(err)
			return
		}
		var killing *time.Timer
		if rng.IntN(3) == 0 {
			killing = time.AfterFunc(time.Duration(rng.Int64N(int64(4*time.Second))), func() {
				_ = cmd.Process.Kill()
				kills.Add(1)
			})
		}
		err := cmd.Wait()
		if killing != nil {
			killing.Stop()
		}
		if err == nil {
			break
		}
		if c.t.Context().Err() != nil {
			return
		}
		if !strings.Contains(err.Error(), "killed") {
			c.t.Logf("shard %d to %s: %v: %s", shard, to, err, said.String()[max(0, said.Len()-400):])
			time.Sleep(500 * time.Millisecond)
		}
	}
	for range 20 {
		if out, err := c.command(0, "shard", "purge", "--now").CombinedOutput(); err == nil {
			return
		} else if c.t.Context().Err() == nil {
			c.t.Logf("purge: %s", out)
			time.Sleep(500 * time.Millisecond)
		}
	}
	c.t.Errorf("shard %d was not purged", shard)
}

// TestProveMoves moves shards under load, while movers, routers, copies of the
// service and the servers of both sides are killed.
func TestProveMoves(t *testing.T) {
	moves := proving.Pick(t, 4, 200)
	if given, err := strconv.Atoi(os.Getenv("MOVES")); err == nil {
		moves = given
	}
	seed := proving.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	c := newCity(t)
	began := time.Now()

	const shops = 3
	var list []*shop
	for range shops {
		list = append(list, c.shop())
	}
	ctx, stop := context.WithCancel(t.Context())
	var trading sync.WaitGroup
	for _, s := range list {
		trading.Go(func() { c.trade(ctx, s) })
	}

	var kills, crashes atomic.Int64
	var killing sync.WaitGroup
	killing.Go(func() { c.killThings(ctx, seed, &kills, &crashes) })

	for n := range moves {
		c.move(rng, list[n%shops].shard, names[(n/shops+1)%2], &kills)
	}
	time.Sleep(time.Second)
	stop()
	killing.Wait()
	proving.Ready(t, append(c.copies, c.router))
	trading.Wait()

	made := 0
	violations := 0
	for _, s := range list {
		made += len(s.made)
		violations += c.verify(s)
	}
	frozen := c.frozenTimes()
	longest := time.Duration(0)
	for _, s := range list {
		longest = max(longest, s.longest)
	}
	proving.Report(t, "cells.json", func(p *proving.Proof) {
		p.N = moves
		p.Kills = kills.Load()
		p.Crashes = crashes.Load()
		p.Seed = seed
		p.Violations = violations
		p.Bound95 = proving.Upper95(violations) / float64(moves)
		p.Seconds = proving.Round(time.Since(began).Seconds())
	}, map[string]any{
		"shipments":       made,
		"triesAgain":      c.tries.Load(),
		"frozenP50Millis": proving.Quantile(frozen, 0.5),
		"frozenP99Millis": proving.Quantile(frozen, 0.99),
		"longestMillis":   longest.Milliseconds(),
		"violations":      violations,
	})
}

// killThings kills the router, copies and servers now and then.
func (c *city) killThings(ctx context.Context, seed uint64, kills, crashes *atomic.Int64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	for {
		select {
		case <-time.After(4*time.Second + time.Duration(rng.Int64N(int64(6*time.Second)))):
		case <-ctx.Done():
			return
		}
		switch n := rng.IntN(6); n {
		case 0, 1:
			c.router.Kill()
			kills.Add(1)
		case 2, 3:
			c.copies[n-2].Kill()
			kills.Add(1)
		default:
			c.clusters[n-4].Crash()
			crashes.Add(1)
		}
	}
}

// frozenTimes are how long shards were frozen.
func (c *city) frozenTimes() []time.Duration {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), c.clusters[0].URL)
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close(context.Background())
	rows, _ := conn.Query(c.t.Context(), "SELECT switched_at - frozen_at FROM shard_moves WHERE switched_at IS NOT NULL")
	times, err := pgx.CollectRows(rows, pgx.RowTo[time.Duration])
	if err != nil {
		c.t.Fatal(err)
	}
	return times
}

// verify compares a shop's shipments and log with what was acknowledged.
func (c *city) verify(s *shop) (violations int) {
	c.t.Helper()
	wrong := func(format string, args ...any) {
		c.t.Errorf(format, args...)
		violations++
	}
	get := func(path string, into any) {
		for range 100 {
			r, _ := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "http://"+c.router.Addr+path, nil)
			r.Header.Set("Authorization", "Bearer "+s.key)
			response, err := client.Do(r)
			if err == nil {
				answer, _ := io.ReadAll(response.Body)
				response.Body.Close()
				if response.StatusCode == http.StatusOK && json.Unmarshal(answer, into) == nil {
					return
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		c.t.Fatalf("%s does not answer", path)
	}

	expected := map[string]bool{}
	for _, id := range s.made {
		expected[id] = true
	}
	sequences := map[string]int{}
	seen := map[string]bool{}
	path := "/v1/events?limit=100"
	for empty := 0; empty < 5; {
		var page struct {
			Data []struct {
				ID       string
				Sequence int
				Data     struct{ Shipment struct{ ID string } }
			}
			NextCursor string
		}
		get(path, &page)
		if page.NextCursor != "" {
			path = "/v1/events?limit=100&after=" + page.NextCursor
		}
		if len(page.Data) == 0 {
			empty++
			time.Sleep(100 * time.Millisecond)
		}
		for _, event := range page.Data {
			if seen[event.ID] {
				wrong("event %s comes twice", event.ID)
			}
			seen[event.ID] = true
			shipment := event.Data.Shipment.ID
			if sequences[shipment]++; event.Sequence != 0 && sequences[shipment] != event.Sequence {
				wrong("event %d of %s is number %d", event.Sequence, shipment, sequences[shipment])
			}
			if !expected[shipment] {
				wrong("%s was never acknowledged", shipment)
			}
		}
	}
	for id := range expected {
		if sequences[id] != 2 {
			wrong("%s has %d events", id, sequences[id])
		}
	}
	return violations
}
