//go:build chaos

package cells_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/test/proving"
)

// What is killed during a move. "source" and "target" are the sides of the move.
const (
	killMover      = "mover"
	killRouter     = "router"
	killCopySource = "copy of the source"
	killCopyTarget = "copy of the target"
	killSource     = "Postgres of the source"
	killTarget     = "Postgres of the target"
)

// plan is what is killed during ten moves, in any order; in the rest of them nothing
// is.
var plan = []string{killMover, killMover, killRouter, killCopySource, killCopyTarget, killSource, killTarget, "", "", ""}

// TestProveMoves moves shards under load, while movers, the router, copies of the
// service and the servers of both sides are killed in every state of a move.
func TestProveMoves(t *testing.T) {
	moves := proving.Pick(t, 10, 200)
	if given, err := strconv.Atoi(os.Getenv("MOVES")); err == nil {
		moves = given
	}
	seed := proving.Seed(t)
	rng := rand.New(rand.NewPCG(seed, 1))
	c := newCity(t, 2, "")
	shops := make([]*shop, min(6, moves))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var clients sync.WaitGroup
	for i := range shops {
		shops[i] = c.newShop(fmt.Sprint("shop", i))
		shops[i].hook()
		shops[i].open(ctx, &clients)
	}

	began := time.Now()
	kills := map[string]int{}
	states := map[string]int{} // of a move, in which something was killed
	var undisturbed, disturbed []time.Duration
	var order []string
	for n := range moves {
		if len(order) == 0 {
			order = slices.Clone(plan)
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		m := c.newMove(rng, shops[n%len(shops)], (n/len(shops)+1)%2, order[0])
		order = order[1:]
		m.run()
		if m.killed == "" {
			undisturbed = append(undisturbed, m.paused)
		} else {
			disturbed = append(disturbed, m.paused)
			kills[m.killed]++
			states[m.killed+" while "+string(m.killedIn)]++
		}
		t.Logf("move %d of %s: %.1f s, paused for %d ms, killed: %s %s", n+1, m.shop.name, m.took.Seconds(), m.paused.Milliseconds(), m.killed, m.killedIn)
	}
	moved := time.Since(began)

	stop()
	clients.Wait()
	c.verify(shops)
	events, again := c.verifyWebhooks()

	total := 0
	for _, n := range kills {
		total += n
	}
	made, bought := 0, 0
	longest := time.Duration(0)
	for _, s := range shops {
		made += len(s.made)
		bought += len(s.bought)
		longest = max(longest, s.longest)
	}
	pauseP99 := proving.Quantile(undisturbed, 0.99)
	if pauseP99 >= 3000 && os.Getenv("PROVE") == "full" {
		c.violate("pause", "a shard is paused for %.0f ms at p99 where nothing is killed", pauseP99)
	}
	violations := c.violated()
	proving.Report(t, "cells.json", func(p *proving.Proof) {
		p.N = moves
		p.Moves = moves
		p.Kills = int64(total)
		p.Crashes = int64(kills[killSource] + kills[killTarget])
		p.Seed = seed
		p.Violations = violations
		p.Bound95 = proving.Upper95(violations) / float64(moves)
		p.Seconds = proving.Round(time.Since(began).Seconds())
		p.Settings = quickly
	}, map[string]any{
		"shipments":             made,
		"purchases":             bought,
		"pushes":                2 * bought,
		"events":                events,
		"webhooksAgain":         again,
		"triesAgain":            c.tries.Load(),
		"kills":                 kills,
		"killsByState":          states,
		"secondsAMove":          proving.Round(moved.Seconds() / float64(moves)),
		"pauseP50Millis":        proving.Quantile(undisturbed, 0.5),
		"pauseP99Millis":        pauseP99,
		"pauseKilledP50Millis":  proving.Quantile(disturbed, 0.5),
		"pauseKilledP99Millis":  proving.Quantile(disturbed, 0.99),
		"longestRequestSeconds": proving.Round(longest.Seconds()),
		"violations":            violations,
	})
}

// verify compares all shops with what their clients, the carrier and both databases
// know.
func (c *city) verify(shops []*shop) {
	c.t.Helper()
	proving.Ready(c.t, c.programs())
	c.purge()

	// A label whose purchase was interrupted is adopted or taken back.
	orders := map[string]string{}
	for _, s := range shops {
		for order, id := range s.bought {
			orders[id] = order
			orders[order] = order
		}
	}
	var sales map[string][]sale
	for began := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		sales = c.sales(orders)
		open := 0
		for order, labels := range sales {
			if orders[order] == "" || len(labels) > 1 {
				open++
			}
		}
		if open == 0 || time.Since(began) > settles {
			break
		}
	}
	for order, labels := range sales {
		if orders[order] == "" {
			c.violate("paid and unknown", "the carrier sold %v for %q", labels, order)
		}
	}
	for _, s := range shops {
		s.verify(sales)
	}

	// Every shipment is in one of the databases.
	for _, s := range shops {
		found := 0
		sides := 0
		for i := range c.clusters {
			var n int
			if err := c.conn(i).QueryRow(c.t.Context(), "SELECT count(*) FROM shipments WHERE account_id = $1", fmt.Sprintf("%x", s.account.Raw())).Scan(&n); err != nil {
				c.t.Fatal(err)
			}
			found += n
			if n > 0 {
				sides++
			}
		}
		if want := len(s.made) + len(s.bought); found != want || sides != 1 {
			c.violate("rows", "%s has %d shipments in %d databases, %d were acknowledged", s.name, found, sides, want)
		}
	}
}

// purge deletes what sources have kept.
func (c *city) purge() {
	var out []byte
	for range 40 {
		var err error
		if out, err = c.command(0, "shard", "purge", "--now").CombinedOutput(); err == nil {
			return
		}
		time.Sleep(500 * time.Millisecond)
	}
	c.t.Errorf("nothing is purged: %s", out)
}

// A move is one of a shop's shard, during which something may be killed.
type move struct {
	*city
	shop     *shop
	from, to int
	kill     string
	killIn   store.MoveState // the state of the move to kill it in
	killWait time.Duration   // after the state was seen

	mu       sync.Mutex
	mover    *exec.Cmd
	died     bool   // the mover did
	killed   string // what was
	killedIn store.MoveState
	paused   time.Duration
	took     time.Duration
}

// killStates are the states of a move in their order.
var killStates = []store.MoveState{store.MoveCopying, store.MoveCatchingUp, store.MoveFrozen, store.MoveSwitched, store.MovePurging}

func (c *city) newMove(rng *rand.Rand, s *shop, to int, kill string) *move {
	states := killStates
	if kill == killMover {
		states = killStates[:4] // its work is done in the last
	}
	return &move{
		city:     c,
		shop:     s,
		from:     1 - to,
		to:       to,
		kill:     kill,
		killIn:   states[rng.IntN(len(states))],
		killWait: time.Duration(rng.Int64N(int64(150 * time.Millisecond))),
	}
}

// movePatience is how long a move is tried again: a server that was killed accepts no
// connections until it has recovered.
const movePatience = 3 * time.Minute

// run moves the shard with the program, again if it fails, and purges the source.
func (m *move) run() {
	began := time.Now()
	ctx, stop := context.WithCancel(m.t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { m.watch(ctx) })
	for {
		out, err := m.start()
		if err == nil {
			break
		}
		if time.Since(began) > movePatience {
			m.violate("move", "shard %d does not get to %s: %v: %s", m.shop.shard, nameOf(m.to), err, out)
			break
		}
		if strings.Contains(err.Error(), "killed") {
			m.died = true
		} else {
			m.t.Logf("shard %d to %s: %v: %s", m.shop.shard, nameOf(m.to), err, out[max(0, len(out)-400):])
			time.Sleep(300 * time.Millisecond)
		}
	}
	m.took = time.Since(began)
	m.purge()
	stop()
	watching.Wait()
	if m.kill == killMover && !m.died {
		m.killed = "" // it had ended before
	}
}

func (m *move) start() (string, error) {
	var said strings.Builder
	cmd := m.command(0, "shard", "move", strconv.Itoa(m.shop.shard), nameOf(m.to), "--keep", "0s")
	cmd.Stderr = &said
	m.mu.Lock()
	err := cmd.Start()
	m.mover = cmd
	m.mu.Unlock()
	if err != nil {
		return "", err
	}
	err = cmd.Wait()
	return said.String(), err
}

const sqlWatchMove = `
SELECT coalesce(m.state, 'done'), s.moving_to IS NOT NULL
FROM shards s LEFT JOIN shard_moves m ON m.shard = s.shard AND m.state <> 'done'
WHERE s.shard = $1`

// watch follows the move in the directory, measures for how long requests of the
// shard are held, and kills what is to be killed in its state.
func (m *move) watch(ctx context.Context) {
	var conn *pgx.Conn
	var killing sync.WaitGroup
	var heldSince time.Time
	defer killing.Wait()
	defer func() {
		if conn != nil {
			_ = conn.Close(context.Background())
		}
	}()
	for ; ctx.Err() == nil; time.Sleep(15 * time.Millisecond) {
		if conn == nil || conn.IsClosed() {
			var err error
			if conn, err = pgx.Connect(ctx, m.clusters[0].URL); err != nil {
				conn = nil
				continue // it was killed; whatever was held still is
			}
		}
		var state store.MoveState
		var isHeld bool
		if err := conn.QueryRow(ctx, sqlWatchMove, m.shop.shard).Scan(&state, &isHeld); err != nil {
			continue
		}

		switch {
		case isHeld && heldSince.IsZero():
			heldSince = time.Now()
		case !isHeld && !heldSince.IsZero():
			m.paused += time.Since(heldSince)
			heldSince = time.Time{}
		}
		if m.kill != "" && m.killed == "" && slices.Index(killStates, state) >= slices.Index(killStates, m.killIn) {
			m.killed = m.kill
			m.killedIn = state
			killing.Go(func() {
				time.Sleep(m.killWait)
				m.killNow()
			})
		}
	}
}

func (m *move) killNow() {
	switch m.kill {
	case killMover:
		m.mu.Lock()
		defer m.mu.Unlock()
		_ = m.mover.Process.Kill() // it may have ended just now
	case killRouter:
		m.router.Kill()
	case killCopySource:
		m.copies[m.from].Kill()
	case killCopyTarget:
		m.copies[m.to].Kill()
	case killSource:
		m.clusters[m.from].Crash()
	case killTarget:
		m.clusters[m.to].Crash()
	}
}
