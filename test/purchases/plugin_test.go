//go:build chaos

package purchases

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// pluginName is the carrier of the plug-in.
const pluginName = "pigeon_post"

// pluginSecret signs between the service and the plug-in.
const pluginSecret = "whsec_cHVyY2hhc2VzLXBsdWctaW4tc2VjcmV0LTAxMjM0NTY="

// Whether the plug-in claims to find purchases by their reference.
const (
	canFind    = true
	cannotFind = false
)

// newPluginWorld opens a world whose only carrier is a plug-in: a process in Python.
func newPluginWorld(t *testing.T, finds bool, settings ...string) *world {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("the plug-in of this proof needs python3")
	}
	postgres := proving.NewCluster(t, "WAYBILL_PG_SHARED_BUFFERS=128MB")
	return openWorld(t, postgres, postgres.URL, func(w *world) { w.openPlugin(finds) }, settings...)
}

// openPlugin starts the plug-in. It behaves.
func (w *world) openPlugin(finds bool) {
	s := w.newStand(pluginName, map[string]string{"account_number": "A1", "api_key": "live-key-of-pigeons"})
	s.secret = pluginSecret
	s.Command = func() *exec.Cmd {
		cmd := exec.Command("python3", "carrier.py", s.Addr, s.ledger, s.faults)
		if !finds {
			cmd.Args = append(cmd.Args, "no-find")
		}
		cmd.Env = append(os.Environ(), "PLUGIN_SECRET="+pluginSecret)
		return cmd
	}
	s.Start(w.t)
	w.awaitStands()
	w.watch.add("plug-in secret", strings.TrimPrefix(pluginSecret, "whsec_"))
	w.watch.add("plug-in credential", s.accepts["api_key"])
}

// badPlugin is how the plug-in misbehaves: it does not answer for one sale in nine,
// or lies about it. All of it is what the contract calls uncertain. A plug-in that
// says unavailable, which means that nothing was sold, is believed.
var badPlugin = emulator.Faults{
	Latency:    emulator.Duration(5 * time.Millisecond),
	Spread:     emulator.Duration(30 * time.Millisecond),
	HangFor:    emulator.Duration(10 * time.Second),
	Limit:      0.002,
	Down:       0.01,
	Refuse:     0.02,
	Stall:      0.005,
	LookupFlap: 0.05,
	LookupLag:  new(emulator.Duration(2500 * time.Millisecond)),
	Buy: map[string]float64{
		"die":  0.003,
		"hang": 0.015, "slow": 0.01, "reset": 0.01,
		"404": 0.005, "500": 0.01, "502": 0.01, "error": 0.015,
		"truncate": 0.01, "incomplete": 0.005, "wrong_reference": 0.01, "unsigned": 0.005, "replay": 0.01,
	},
	Void: map[string]float64{"refuse": 0.02, "lost": 0.05, "hang": 0.02},
}

// pluginSize is how large the two experiments are.
func pluginSize(t *testing.T) killing {
	t.Helper()
	return proving.Pick(t,
		killing{orders: 300, kills: 10, lasts: 15 * time.Second, settles: 2 * time.Minute},
		killing{orders: 10_000, kills: 300, lasts: 450 * time.Second, settles: 10 * time.Minute})
}

// TestPluginUnderKills buys through a plug-in that dies, hangs, lies and repeats
// itself, while it and copies of the service are killed.
func TestPluginUnderKills(t *testing.T) {
	p := pluginSize(t)
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newPluginWorld(t, canFind)
	start := time.Now()
	c, orders, late, tail := w.buyFromPlugin(p, seed)

	j := w.judge(orders)
	j.add("not settled", late...)
	misdeeds := w.misdeeds()
	if len(misdeeds) < 5 {
		t.Errorf("the plug-in did little wrong: %v", misdeeds)
	}

	figures := j.figures(c, tail)
	figures["misdeeds"] = misdeeds
	proving.Report(t, "plugin.json", func(out *proving.Proof) {
		out.N = p.orders
		out.Kills = w.kills.Load()
		out.Seed = seed
		out.Settings = w.settings
		out.Violations = j.total()
		out.Bound95 = proving.Upper95(j.total()) / float64(p.orders)
		out.Seconds = proving.Round(time.Since(start).Seconds())
	}, figures)
	t.Logf("%d purchases, %d kills: %d violations", p.orders, w.kills.Load(), j.total())
	j.complain(t)
	w.guard(t)
}

// TestPluginThatCannotFind is the same with a plug-in that cannot look purchases up:
// what is lost is not bought again, and waits for a person.
func TestPluginThatCannotFind(t *testing.T) {
	p := pluginSize(t)
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newPluginWorld(t, cannotFind, "REVIEW_AFTER=20s") // 24h
	start := time.Now()
	c, orders, late, tail := w.buyFromPlugin(p, seed)

	j := w.newJudge(orders)
	j.reviewed = map[string]bool{}
	j.judge()
	j.add("not settled", late...)
	paid := j.boughtOnce()
	if paid == 0 {
		t.Error("no purchase was lost after its sale: nothing was shown")
	}

	figures := j.figures(c, tail)
	maps.Copy(figures, map[string]any{
		"n":               p.orders,
		"kills":           w.kills.Load(),
		"seed":            seed,
		"total":           j.total(),
		"bound95":         proving.Upper95(j.total()) / float64(p.orders),
		"seconds":         proving.Round(time.Since(start).Seconds()),
		"boughtAgain":     len(j.violations["bought again"]),
		"needsReview":     len(j.reviewed),
		"needsReviewSold": paid,
		"misdeeds":        w.misdeeds(),
	})
	proving.Report(t, "plugin.json", nil, figures)
	t.Logf("%d purchases, %d kills: %d violations; %d wait for a person, of which %d were sold", p.orders, w.kills.Load(), j.total(), len(j.reviewed), paid)
	j.complain(t)
	w.guard(t)
}

// buyFromPlugin buys while processes are killed, and waits until all is settled.
func (w *world) buyFromPlugin(p killing, seed uint64) (c *clients, orders []*order, late []string, tail time.Duration) {
	w.t.Helper()
	w.turnAll(badPlugin)
	for i := range p.orders {
		orders = append(orders, newOrder(fmt.Sprintf("plugin-%x-%d", seed, i), pluginName))
	}

	c = w.newClients(64, 0.05)
	var killers sync.WaitGroup
	killers.Go(func() { w.kill(seed, p.kills, p.lasts) })
	c.buyAll(orders, seed, p.lasts, p.settles)
	killers.Wait()
	w.t.Logf("%d clients have no answer", len(open(orders)))

	w.turnAll(emulator.Faults{})
	tail, late = w.settle(p.settles)
	c.vanish = 0

	// A sale that a killed copy has on its disk is recorded when it runs again, even
	// if the client has meanwhile read that a person must decide.
	reopen(orders)
	c.buyAll(open(orders), seed+1, time.Second, time.Minute)
	return c, orders, late, tail
}

// boughtOnce has every purchase answer for all that was ever sold for it, voided or
// not: where nothing can be looked up, nothing is bought a second time. It returns how
// many purchases were sold and wait for a person, who finds them in Needs attention.
func (j *judge) boughtOnce() (paid int) {
	sold := map[string]int{}
	for _, s := range j.sales {
		sold[j.keyOf[s.Reference]]++
	}
	for _, o := range j.orders {
		if sold[o.key] > 1 {
			j.add("bought again", o.key+": "+j.story(o.key))
		}
		if sold[o.key] > 0 && j.reviewed[o.key] {
			paid++
		}
	}

	waiting := j.count(`SELECT count(*) FROM shipment_states WHERE state = 'needs_review'`)
	if waiting != len(j.reviewed) {
		j.add("not in needs attention", fmt.Sprintf("%d purchases need review, %d wait for a person", len(j.reviewed), waiting))
	}
	return paid
}

// misdeeds counts what the plug-in did wrong, by what it was asked and what it did.
func (w *world) misdeeds() map[string]int {
	w.t.Helper()
	file, err := os.Open(w.stand(pluginName).ledger)
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()

	done := map[string]int{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var entry emulator.Entry
		if err := json.Unmarshal(lines.Bytes(), &entry); err != nil {
			w.t.Fatal(err)
		}
		if entry.Kind == "misdeed" {
			done[entry.Number]++
		}
	}
	if err := lines.Err(); err != nil {
		w.t.Fatal(err)
	}
	return done
}
