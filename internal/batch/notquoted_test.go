package batch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/ship"
)

// quotaOf connects the carrier again, with a quota, in place of the connection
// that it has.
func (b *liveBench) quotaOf(name string, quota carrier.Quota) ship.ConnectionID {
	b.Helper()
	i := slices.IndexFunc(b.carriers, func(c *carrier.Carrier) bool { return c.Spec().Name == name })
	spec := all.Specs[slices.IndexFunc(all.Specs, func(s carrier.Spec) bool { return s.Name == name })]

	connected := b.connect(spec, quota)
	if i < 0 {
		b.carriers = append(b.carriers, connected)
	} else {
		b.carriers[i] = connected
	}
	return connected.Connection
}

// usOrders is a file of n orders that any carrier of the United States takes.
func usOrders(n int) string {
	var file strings.Builder
	file.WriteString("Order,Recipient,Street,City,State,Zip,Country,Phone,Weight,Length,Width,Height\n")
	for i := range n {
		fmt.Fprintf(&file, "%d,Ada Lovelace,%d Main St,Austin,TX,78701,US,2125550100,%d.5,10,8,4\n", 1001+i, i+1, 1+i%3)
	}
	return file.String()
}

// asked returns how often a carrier was sent a request for rates.
func (b *liveBench) asked(name string) (requests uint64) {
	for _, stat := range b.traffic.Stats() {
		if stat.Carrier == name && stat.Operation == carrier.OpRates {
			requests += stat.Sent
		}
	}
	return requests
}

// only leaves the named carriers.
func (b *liveBench) only(names ...string) {
	b.carriers = slices.DeleteFunc(b.carriers, func(c *carrier.Carrier) bool { return !slices.Contains(names, c.Spec().Name) })
}

// winners counts the lines that each carrier would be bought from.
func (b *liveBench) winners(id ship.BatchID) map[string]int {
	b.Helper()
	rows, _, err := b.Rows(b.Context(), b.tenant, id, 0, batch.MaxRows)
	b.must(err)

	counts := map[string]int{}
	for _, row := range rows {
		if row.Rate != nil {
			counts[row.Rate.Carrier]++
		}
	}
	return counts
}

// A carrier whose hourly quota is used up leaves a batch, and the batch says so
// before it is bought. Quoted again, no line asks a carrier that cannot be asked,
// and every line has the carrier's rate in the end.
func TestABatchSaysWhoDidNotQuoteAndWaits(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t)
	b.only("usps", "fedex")
	spent := b.quotaOf("usps", carrier.Quota{Calls: 10, Per: time.Hour})
	b.wait = func(id ship.ConnectionID, rates int) time.Duration {
		return b.traffic.WaitFor(string(id), carrier.OpRates, rates)
	}

	const lines = 20
	id := b.upload(usOrders(lines))
	if got := b.work(id); got.State != batch.Ready || got.Tally.Rows[batch.RowRated] != lines {
		t.Fatalf("after the check: %s %+v", got.State, got.Tally)
	}
	shown := b.winners(id)

	summary, err := b.QuoteSummary(t.Context(), b.tenant, id)
	b.must(err)
	if len(summary.Gaps) == 0 || summary.Orders != lines || summary.Waiting != 0 {
		t.Fatalf("the summary is %+v", summary)
	}
	gap := summary.Gaps[0] // the one with the most lines
	if gap.Carrier != "usps" || gap.Connection != spent || gap.Reason != ship.NotQuotedLimited || gap.Lines < lines-10 || !gap.RetryAt.After(time.Now()) {
		t.Errorf("the gap is %+v", gap)
	}
	if summary.Again != gap.Lines || summary.Takes < time.Hour || len(summary.Warnings()) != len(summary.Gaps) {
		t.Errorf("quoting %d lines again takes %v", summary.Again, summary.Takes)
	}

	// While USPS cannot be asked, nobody is asked, and the rates stay.
	before := b.asked("fedex")
	b.must(b.QuoteAgain(t.Context(), b.tenant, id))
	pause, err := b.Work(t.Context(), b.tenant, id)
	b.must(err)
	if pause <= 0 || b.asked("fedex") != before {
		t.Errorf("asked %d times more, goes on in %v", b.asked("fedex")-before, pause)
	}
	waiting, err := b.QuoteSummary(t.Context(), b.tenant, id)
	b.must(err)
	if waiting.Waiting != gap.Lines || b.winners(id)["fedex"] != shown["fedex"] {
		t.Errorf("waits for %d of %d lines, winners %v", waiting.Waiting, gap.Lines, b.winners(id))
	}

	// The hour is over.
	b.quotaOf("usps", carrier.Quota{})
	b.wait = nil
	if got := b.work(id); got.State != batch.Ready || got.Tally.Rows[batch.RowRated] != lines {
		t.Fatalf("after it was quoted again: %s %+v", got.State, got.Tally)
	}
	after, err := b.QuoteSummary(t.Context(), b.tenant, id)
	b.must(err)
	if slices.ContainsFunc(after.Gaps, func(left batch.QuoteGap) bool { return left.Reason == ship.NotQuotedLimited }) || b.winners(id)["usps"] <= shown["usps"] {
		t.Errorf("left are %+v, winners %v, before %v", after.Gaps, b.winners(id), shown)
	}
}

// A person who does not want to wait keeps the rates that there are.
func TestABatchThatWaitsCanBeBoughtAsItIs(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t)
	b.only("usps", "fedex")
	b.quotaOf("usps", carrier.Quota{Calls: 5, Per: time.Hour})
	b.wait = func(id ship.ConnectionID, rates int) time.Duration {
		return b.traffic.WaitFor(string(id), carrier.OpRates, rates)
	}
	id := b.upload(usOrders(8))
	b.work(id)
	b.must(b.QuoteAgain(t.Context(), b.tenant, id))
	if err := b.Buy(t.Context(), b.tenant, id, "pdf", ""); ship.KindOf(err) != ship.Conflict {
		t.Errorf("bought while it waits: %v", err)
	}

	b.must(b.KeepRates(t.Context(), b.tenant, id))
	if again, err := b.Work(t.Context(), b.tenant, id); again != 0 || err != nil {
		t.Errorf("the job that waited goes on in %v, %v", again, err)
	}
	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	if got := b.work(id); got.State != batch.Done || got.Tally.Rows[batch.RowBought]+got.Tally.Rows[batch.RowFailed] != 8 {
		t.Errorf("%s %+v", got.State, got.Tally)
	}
}

// What a carrier needs is a warning; that it does not serve a country is none.
func TestOnlyWhatCanChangeIsAWarning(t *testing.T) {
	t.Parallel()
	for reason, isWarning := range map[ship.NotQuotedReason]bool{
		ship.NotQuotedLimited: true, ship.NotQuotedTimeout: true, ship.NotQuotedPaused: true, ship.NotQuotedUnavailable: true,
		ship.NotQuotedCredentials: true, ship.NotQuotedIncomplete: true, ship.NotQuotedRefused: false,
	} {
		summary := batch.QuoteSummary{Gaps: []batch.QuoteGap{{NotQuoted: ship.NotQuoted{Reason: reason}, Lines: 1}}}
		if got := len(summary.Warnings()) == 1; got != isWarning {
			t.Errorf("%s: warning %t, want %t", reason, got, isWarning)
		}
	}
}
