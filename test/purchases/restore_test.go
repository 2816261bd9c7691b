//go:build chaos

package purchases

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/test/proving"
)

// TestProveRestore loses a machine with its disk, puts the database back to a
// moment before the purchases, and has the clients ask again under their old
// keys.
func TestProveRestore(t *testing.T) {
	n := proving.Pick(t, 150, 1000)
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newWorld(t)
	c := w.newClients(32, 0)
	before := newOrders(fmt.Sprintf("kept-%x", seed), n/10, rand.New(rand.NewPCG(seed, 1)))
	c.buyAll(before, seed, time.Second, time.Minute)
	backup := w.backUp()

	w.turnAll(emulator.Faults{Buy: map[string]float64{"reset": 0.03, "500": 0.03}})
	lost := newOrders(fmt.Sprintf("lost-%x", seed), n, rand.New(rand.NewPCG(seed, 2)))
	c.buyAll(lost, seed, time.Duration(n)*20*time.Millisecond, 90*time.Second)
	w.turnAll(emulator.Faults{})
	if _, late := w.settle(2 * time.Minute); len(late) > 0 {
		t.Fatal(late)
	}
	first := w.judge(append(before, lost...))
	first.complain(t)
	w.goBack(backup, false)
	w.waybill("restored") // with no disk left, nothing notices it
	for _, c := range w.copies {
		c.Start(t)
	}
	proving.Ready(t, w.copies)

	again := make([]*order, len(lost))
	for i, o := range lost {
		again[i] = &order{key: o.key, carrier: o.carrier, body: o.body}
	}
	began := time.Now()
	// A key is looked up once the slowest carrier of the account, FedEx, shows all that it
	// sold before the restore.
	c.buyAll(again, seed+1, time.Duration(n)*20*time.Millisecond, w.compressed(24*time.Hour)+3*time.Minute)
	took := time.Since(began)
	if _, late := w.settle(2 * time.Minute); len(late) > 0 {
		t.Error(late)
	}
	j := w.judgeRestored(first, before, lost, again)
	report(t, nil, map[string]any{
		"lost": n, "violations": j.total(), "abandoned": len(j.abandoned), "sameLabel": same(lost, again), "sold": len(j.sales),
		"stranded": j.orphaned, "retrySeconds": proving.Round(took.Seconds()), "labelStatus": j.ends,
	})
	t.Logf("%d purchases of the lost time were asked for again: %d violations", n, j.total())
	j.complain(t)
	w.guard(t)
}

// TestProveRestoreUnnamed puts the database back to a moment before purchases
// that have no keys, so that no client can ask for them again. The machines that
// made them still have their disks: the purchases are listed, nothing is voided by
// itself, and a person has all voided.
func TestProveRestoreUnnamed(t *testing.T) {
	n := proving.Pick(t, 60, 400)
	proving.Beside(t)
	seed := proving.Seed(t)
	w := newWorld(t)
	c := w.newClients(16, 0)
	before := newOrders(fmt.Sprintf("kept-%x", seed), n/10, rand.New(rand.NewPCG(seed, 1)))
	c.buyAll(before, seed, time.Second, time.Minute)
	backup := w.backUp()

	w.turnAll(emulator.Faults{Buy: map[string]float64{"reset": 0.05, "500": 0.05, "hang": 0.02}})
	lost := newOrders(fmt.Sprintf("lost-%x", seed), n, rand.New(rand.NewPCG(seed, 2)))
	for _, o := range lost {
		o.key = ""
	}
	c.buyAll(lost, seed, time.Duration(n)*20*time.Millisecond, 90*time.Second)
	w.turnAll(emulator.Faults{})
	kept := map[string]bool{}
	for _, o := range before {
		kept[o.shipment.TrackingNumber] = true
	}
	w.pool.Reset()
	abandoned := w.abandoned()
	w.goBack(backup, true)
	for _, c := range w.copies {
		c.Start(t)
	}
	proving.Ready(t, w.copies)

	// Each copy compares its log, and nothing is voided until a person says so.
	lasting := func() int { return len(w.leftOver(kept, abandoned)) }
	sold := lasting()
	for until := time.Now().Add(proving.Patiently(time.Minute)); w.count("SELECT count(*) FROM missing_purchases") < sold && time.Now().Before(until); {
		time.Sleep(200 * time.Millisecond)
	}
	missing := w.count("SELECT count(*) FROM missing_purchases WHERE state = 'missing'")
	if missing < sold || lasting() != sold || w.count("SELECT count(*) FROM orphaned_labels WHERE found_by = 'restore'") > 0 {
		t.Errorf("of %d lost labels %d are listed, and %d are live before anybody decided", sold, missing, lasting())
	}

	w.waybill("restored", "--void", "--all")
	began := time.Now()
	var left []string
	patience := proving.Patiently(time.Minute) + w.compressed(24*time.Hour)
	for left = w.leftOver(kept, abandoned); len(left) > 0 && time.Since(began) < patience; left = w.leftOver(kept, abandoned) {
		time.Sleep(500 * time.Millisecond)
	}
	took := time.Since(began)
	for _, s := range w.sales() {
		if kept[s.Number] && !s.live() {
			t.Errorf("%s %s was bought before the moment of the restore, and is voided", s.carrier, s.Number)
		}
	}
	report(t, nil, map[string]any{"lost": n, "listed": missing, "violations": len(left), "takenBackSeconds": proving.Round(took.Seconds())})
	t.Logf("%d purchases without a key were lost: %d are left after %.0f s", n, len(left), took.Seconds())
	if len(left) > 0 {
		t.Errorf("nobody has these labels, and they are live: %v", left)
	}
	w.guard(t)
}

// abandoned are the labels that nobody needs and that their carrier does not void.
func (w *world) abandoned() map[string]bool {
	list := map[string]bool{}
	rows, err := w.pool.Query(w.t.Context(), "SELECT tracking_number FROM orphaned_labels WHERE state = 'void_not_needed'")
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var number string
		if err := rows.Scan(&number); err != nil {
			w.t.Fatal(err)
		}
		list[number] = true
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return list
}

// leftOver are the live labels of the lost time of which nothing is written
// down. DHL Express voids nothing: there it is enough that a label is.
func (w *world) leftOver(kept, abandoned map[string]bool) (list []string) {
	for _, s := range w.sales() {
		if kept[s.Number] || abandoned[s.Number] || !s.live() {
			continue
		}
		if s.carrier == "dhl_express" && w.count("SELECT count(*) FROM orphaned_labels WHERE state = 'void_not_needed' AND found_by = 'restore' AND tracking_number = $1", s.Number) == 1 {
			continue
		}
		list = append(list, s.carrier+" "+s.Number)
	}
	return list
}

// judgeRestored judges by the references, which the keys alone determine: the
// shipments of the lost time have new ids.
func (w *world) judgeRestored(first *judge, before, lost, again []*order) *judge {
	j := w.newJudge(append(append([]*order{}, before...), again...))
	j.reviewed = map[string]bool{} // what is found without its label
	j.readAttempts()
	j.readOrphaned()
	maps.Copy(j.keyOf, first.keyOf)
	maps.Copy(j.abandoned, first.abandoned) // the database forgot them, and nobody is billed for them
	live := map[string][]*sale{}
	for _, s := range j.sales {
		if key := j.keyOf[s.Reference]; key == "" {
			j.add("paid and unknown", s.carrier+" "+s.Number)
		} else if s.live() && !j.abandoned[s.carrier+s.Number] {
			live[key] = append(live[key], s)
		}
	}
	for _, o := range j.orders {
		j.compareOrder(o, live[o.key])
	}
	for i, o := range again {
		if lost[i].status == http.StatusCreated && o.status != http.StatusCreated && !j.reviewed[o.key] {
			j.add("lost for good", fmt.Sprintf("%s was bought before the restore, and then answered %d %s", o.key, o.status, o.code))
		}
	}
	j.readEvents()
	j.fetchLabels()
	return j
}

// same counts the orders that ended with the label that they had before.
func same(lost, again []*order) (n int) {
	for i := range lost {
		if again[i].status == http.StatusCreated && again[i].shipment.TrackingNumber == lost[i].shipment.TrackingNumber {
			n++
		}
	}
	return n
}

// backUp copies the cluster while it is stopped.
func (w *world) backUp() string {
	backup := w.postgres.Data + ".backup"
	w.postgres.Do("stop")
	proving.Output(w.t, exec.Command("cp", "-a", w.postgres.Data, backup))
	w.postgres.Do("start")
	proving.Ready(w.t, w.copies)
	return backup
}

// goBack puts the copy back, and leaves the service stopped. After the loss of a machine,
// what the copies had on their disks is gone too.
func (w *world) goBack(backup string, disks bool) {
	for _, c := range w.copies {
		c.End(w.t)
	}
	w.pool.Reset()
	w.postgres.Do("stop")
	if err := os.RemoveAll(w.postgres.Data); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(backup, w.postgres.Data); err != nil {
		w.t.Fatal(err)
	}
	w.postgres.Do("start")
	for _, c := range w.copies {
		if !disks {
			proving.Output(w.t, exec.Command("rm", "-r", c.Spool))
		}
	}
}
