package batch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/quoting"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// bench is the service over a database of its own, with the simulated carriers.
type bench struct {
	*testing.T
	*batch.Service
	url      string // of the database
	store    *store.Store
	quoting  *quoting.Service
	shipping *shipping.Service
	tenant   ship.Tenant
	account  ship.Account
	accounts *account.Service
	lose     func(n int64) bool // the answer of the n-th purchase
	fails    func(batch.Request) error
	quotes   func(batch.Request) (batch.Quoted, error)
	wait     func(connection ship.ConnectionID, rates int) time.Duration
	check    func(ctx context.Context, address ship.Address) (ship.AddressCheck, error)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, url: storetest.URL(t)}
	var err error
	b.store, err = store.Open(context.Background(), store.Options{URL: b.url, Connections: 8})
	b.must(err)
	t.Cleanup(b.store.Close)
	var carriers []*carrier.Carrier
	for _, spec := range sandbox.Specs() {
		c, err := carrier.Open(spec, carrier.Opening{})
		b.must(err)
		carriers = append(carriers, c)
	}
	labels, err := label.NewRenderer("")
	b.must(err)
	log := slog.New(slog.DiscardHandler)
	waits := shipping.Waits{
		Answer: 300 * time.Millisecond, Settle: 500 * time.Millisecond, Look: 20 * time.Millisecond, Rebuy: time.Millisecond, Review: time.Hour,
	}
	sellers := carrier.Accounts{Simulated: carriers}
	b.quoting = quoting.New(quoting.Config{Accounts: sellers, SigningKey: []byte("0123456789abcdef0123456789abcdef")})
	b.shipping = shipping.New(shipping.Config{
		Store: b.store, Accounts: sellers, Quoting: b.quoting, Labels: labels, SigningKey: []byte("0123456789abcdef0123456789abcdef"), BaseURL: "http://x", Waits: waits, Log: log,
	})
	b.begin()
	b.tenant = ship.Tenant{Account: b.account.ID}
	return b
}

// begin makes the account, and wires batches to what ships.
func (b *bench) begin() {
	b.Helper()
	b.accounts = account.New(b.store)
	var err error
	b.account, err = b.accounts.Create(b.Context(), account.Settings{Name: new("Northwind"), Origin: &ship.Address{
		Name: "Warehouse", Company: "Northwind", Address1: "1201 S Figueroa St", City: "Los Angeles", State: "CA", Zip: "90015", Country: "US", Phone: "+12135550100",
	}})
	b.must(err)
	var bought atomic.Int64
	b.Service = batch.New(batch.Config{
		Store: b.store, Account: b.accounts.AccountIn, Retention: 24 * time.Hour, Log: slog.New(slog.DiscardHandler),
		Carriers: func(ctx context.Context, t ship.Tenant) (list []batch.Carrier, err error) {
			known, err := b.shipping.Carriers(ctx, t)
			for _, c := range known {
				one := batch.Carrier{Name: c.Name, Title: c.Title, Origins: c.Origins}
				for _, s := range c.Services {
					one.Services = append(one.Services, batch.Offered{Code: s.Code, Name: s.Name})
				}
				list = append(list, one)
			}
			return list, err
		},
		Quote: func(ctx context.Context, r batch.Request) (batch.Quoted, error) {
			if b.quotes != nil {
				return b.quotes(r)
			}
			offered, err := b.quoting.Offer(ctx, quoting.DryRunInput{Tenant: r.Tenant, Account: r.Account, Order: r.Order, OneParcel: len(r.Order.Parcels) == 1, Carrier: r.Carrier, Service: r.Service, ForPurchase: true})
			return batch.Quoted{Rate: offered.Rate, NotQuoted: offered.NotQuoted, Warnings: offered.Warnings}, err
		},
		Wait: func(id ship.ConnectionID, rates int) time.Duration {
			if b.wait == nil {
				return 0
			}
			return b.wait(id, rates)
		},
		CheckAddress: func(ctx context.Context, _ ship.Tenant, address ship.Address) (ship.AddressCheck, error) {
			if b.check == nil {
				return ship.AddressCheck{Verdict: ship.AddressValid, Address: address}, nil
			}
			return b.check(ctx, address)
		},
		Purchase: func(ctx context.Context, r batch.Request) (ship.Shipment, error) {
			if b.fails != nil {
				if err := b.fails(r); err != nil {
					return ship.Shipment{}, err
				}
			}
			var limits ship.SpendingLimits
			if r.APIKey != "" {
				var err error
				if limits, err = b.accounts.LimitsOfKey(ctx, r.Tenant.Account, r.APIKey); err != nil {
					return ship.Shipment{}, err
				}
			}
			got, err := b.shipping.Buy(ctx, shipping.BuyInput{
				Tenant: r.Tenant, Account: r.Account, Key: r.APIKey, Limits: limits, Order: r.Order, OneParcel: r.OneParcel, Carrier: r.Carrier, Service: r.Service,
				MaxAmount: r.Limit, MaxIsShown: r.LimitShown, OnDuplicate: r.OnDuplicate, IdempotencyKey: r.Key, Fingerprint: r.Fingerprint, FormerName: r.FormerName, AcceptDuplicate: r.AcceptDuplicate,
			})
			if b.lose != nil && b.lose(bought.Add(1)) {
				return ship.Shipment{}, errors.New("the line is cut")
			}
			return got.Shipment, err
		},
	})
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// orders is a file of n good lines; edit changes the text.
func orders(n int) string {
	var s strings.Builder
	s.WriteString("Order,Recipient,Street,City,State,Zip,Country,Weight\n")
	for i := range n {
		fmt.Fprintf(&s, "%d,Ada Lovelace,%d Main St,Austin,TX,78701,United States,%d.5\n", 1001+i, i+1, 1+i%9)
	}
	return s.String()
}

// upload keeps a file and has it checked as its titles say.
func (b *bench) upload(text string) ship.BatchID {
	b.Helper()
	up, err := b.Upload(b.Context(), b.tenant, `C:\orders.csv`, "Dana", []byte(text))
	b.must(err)
	b.must(b.Check(b.Context(), b.tenant, up.ID, up.ColumnMapping))
	return up.ID
}

// work does what the queue would, until the batch rests.
func (b *bench) work(id ship.BatchID) batch.Batch {
	b.Helper()
	for range 1000 {
		_, failed := b.Work(b.Context(), b.tenant, id)
		got, err := b.Batch(b.Context(), b.tenant, id)
		b.must(err)
		if failed == nil && got.State != batch.Rating && got.State != batch.Buying {
			return got
		}
	}
	b.Fatal("the batch does not rest")
	return batch.Batch{}
}

func (b *bench) shipments() int {
	b.Helper()
	list, _, err := b.shipping.Shipments(b.Context(), b.tenant, shipping.Filter{Page: ship.Page{Limit: 3000}})
	b.must(err)
	return len(list)
}

func TestABatchIsBoughtWithoutItsBadLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := orders(500)
	text = strings.Replace(text, "1010,Ada Lovelace", "1010,", 1)                      // nobody
	text = strings.Replace(text, "91 Main St,Austin,TX", "91 Main St,Austin,Tixas", 1) // no such state
	text = strings.Replace(text, "200 Main St,Austin,TX,78701,United States,2.5", "200 Main St,Austin,TX,78701,United States,heavy", 1)
	start := time.Now()
	id := b.upload(text)
	got := b.work(id)
	if got.State != batch.Ready || got.Tally.Rows[batch.RowBad] != 3 || got.Tally.Rows[batch.RowRated] != 497 || len(got.Tally.Costs) != 1 || got.Tally.Costs[0].Minor < 497*100 {
		t.Fatalf("after the check: %s %+v", got.State, got.Tally)
	}
	bad, _, err := b.Rows(t.Context(), b.tenant, id, 0, 10, batch.RowBad)
	b.must(err)
	for i, field := range []string{"name", "state", "weight"} {
		if bad[i].At(field) == "" || len(bad[i].Problems) != 1 {
			t.Errorf("line %d: %v, want a word at %s", bad[i].Number, bad[i].Problems, field)
		}
	}
	if at := bad[1].At("state"); !strings.Contains(at, "did you mean TX?") {
		t.Errorf("the state's mistake is %q", at)
	}
	row, err := b.Fix(t.Context(), b.tenant, id, bad[0].Number, map[string]string{"name": "Grace Hopper"})
	if err != nil || row.State != batch.RowRated || row.Rate == nil {
		t.Fatalf("mended: %+v %v", row, err)
	}
	if row, err = b.Skip(t.Context(), b.tenant, id, bad[1].Number); err != nil || row.State != batch.RowSkipped {
		t.Fatalf("skipped: %+v %v", row, err)
	}
	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	if err := b.Buy(t.Context(), b.tenant, id, "pdf", ""); ship.KindOf(err) != ship.Conflict {
		t.Errorf("a second click: %v, want a conflict", err)
	}
	got = b.work(id)
	if got.State != batch.Done || got.Tally.Rows[batch.RowBought] != 498 || got.Tally.Rows[batch.RowBad] != 1 || b.shipments() != 498 {
		t.Errorf("bought: %s %+v, %d shipments", got.State, got.Tally, b.shipments())
	}
	t.Logf("500 lines in %v", time.Since(start))
}

func TestAnswersThatAreLostBuyNothingTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.upload(orders(60))
	b.work(id)
	b.lose = func(n int64) bool { return n%3 == 0 }
	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	got := b.work(id)
	if got.State != batch.Done || got.Tally.Rows[batch.RowBought] != 60 || b.shipments() != 60 {
		t.Errorf("%s %+v, %d shipments, want 60", got.State, got.Tally, b.shipments())
	}
}

func TestTheSameFileTwiceIsNotShippedTwice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.upload(orders(5))
	b.work(first)
	b.must(b.Buy(t.Context(), b.tenant, first, "pdf", ""))
	b.work(first)

	second := b.upload(orders(6))
	got := b.work(second)
	if got.Tally.Rows[batch.RowSkipped] != 5 || got.Tally.Rows[batch.RowRated] != 1 {
		t.Fatalf("lines of a file that was bought before: %+v", got.Tally)
	}
	before, err := b.ShippedBefore(t.Context(), got)
	b.must(err)
	rows, _, err := b.Rows(t.Context(), b.tenant, second, 0, 10)
	b.must(err)
	bought, _, err := b.Rows(t.Context(), b.tenant, first, 0, 10)
	b.must(err)
	for i, row := range rows[:5] {
		if row.Earlier() != bought[i].Shipment || before[row.Number] != bought[i].Shipment {
			t.Errorf("line %d was shipped as %s; said are %s and %s", row.Number, bought[i].Shipment, row.Earlier(), before[row.Number])
		}
	}
	if rows[5].Earlier() != "" || len(before) != 5 {
		t.Errorf("a new order is taken for an old one: %+v, %v", rows[5], before)
	}

	b.must(b.Buy(t.Context(), b.tenant, second, "pdf", ""))
	b.work(second)
	if n := b.shipments(); n != 6 {
		t.Fatalf("%d shipments, want 6", n)
	}
}

func TestALineIsShippedAgainOnlyWhenAPersonSaysSo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second, third := b.upload(orders(1)), ship.BatchID(""), ship.BatchID("")
	b.work(first)
	b.must(b.Buy(t.Context(), b.tenant, first, "pdf", ""))
	b.work(first)

	// Two people want the order once more, and both saw the first shipment.
	second, third = b.upload(orders(1)), b.upload(orders(1))
	for _, id := range []ship.BatchID{second, third} {
		b.work(id)
		if row, err := b.ShipAgain(t.Context(), b.tenant, id, 1); err != nil || row.State != batch.RowRated || row.Earlier() != "" || row.Again == "" {
			t.Fatalf("%+v, %v", row, err)
		}
	}
	b.must(b.Buy(t.Context(), b.tenant, second, "pdf", ""))
	if got := b.work(second); got.Tally.Rows[batch.RowBought] != 1 {
		t.Fatalf("accepted and not bought: %+v", got.Tally)
	}

	// The one who comes later is asked about the second.
	b.must(b.Buy(t.Context(), b.tenant, third, "pdf", ""))
	if got := b.work(third); got.Tally.Rows[batch.RowFailed] != 1 || b.shipments() != 2 {
		t.Fatalf("an answer to another question buys: %+v, %d shipments", got.Tally, b.shipments())
	}
	row, err := b.Row(t.Context(), b.tenant, third, 1)
	b.must(err)
	bought, err := b.Row(t.Context(), b.tenant, second, 1)
	b.must(err)
	if row.Earlier() != bought.Shipment {
		t.Errorf("the line names %s, want %s", row.Earlier(), bought.Shipment)
	}
	if _, err := b.ShipAgain(t.Context(), b.tenant, third, 1); err != nil {
		t.Error(err)
	}
	b.must(b.Buy(t.Context(), b.tenant, third, "pdf", ""))
	if b.work(third); b.shipments() != 3 {
		t.Errorf("%d shipments, want 3", b.shipments())
	}
}

func TestOtherColumnsAreRecognizedAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.upload(orders(2))
	b.work(first)
	b.must(b.Buy(t.Context(), b.tenant, first, "pdf", ""))
	b.work(first)

	second := b.upload(orders(2))
	got := b.work(second)
	if got.Tally.Rows[batch.RowSkipped] != 2 {
		t.Fatalf("%+v", got.Tally)
	}
	// The order number is another one now: the line can be bought.
	if row, err := b.Fix(t.Context(), b.tenant, second, 1, map[string]string{"order": "another"}); err != nil || row.State != batch.RowRated {
		t.Errorf("%+v, %v", row, err)
	}
	b.must(b.Check(t.Context(), b.tenant, second, got.ColumnMapping))
	if got := b.work(second); got.Tally.Rows[batch.RowSkipped] != 1 || got.Tally.Rows[batch.RowRated] != 1 {
		t.Errorf("read again: %+v", got.Tally)
	}
}

func TestALineThatIsBoughtCannotBeChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.upload(orders(1))
	b.work(id)
	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	if _, err := b.Fix(t.Context(), b.tenant, id, 1, map[string]string{"name": "Eve"}); ship.KindOf(err) != ship.Conflict {
		t.Errorf("while it is bought: %v", err)
	}
	b.work(id)
	if _, err := b.Skip(t.Context(), b.tenant, id, 1); ship.KindOf(err) != ship.Conflict {
		t.Errorf("when it was bought: %v", err)
	}
	if err := b.Discard(t.Context(), b.tenant, id); ship.KindOf(err) != ship.Conflict {
		t.Errorf("discarded: %v", err)
	}
}

func TestALineThatNobodySellsIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := b.upload(orders(2)), b.upload(orders(3))
	b.work(first)
	b.work(second)
	b.must(b.Buy(t.Context(), b.tenant, first, "pdf", ""))
	b.work(first)
	b.must(b.Buy(t.Context(), b.tenant, second, "pdf", ""))
	if got := b.work(second); got.Tally.Rows[batch.RowFailed] != 2 || got.Tally.Rows[batch.RowBought] != 1 {
		t.Fatalf("%+v", got.Tally)
	}
	if row, err := b.Fix(t.Context(), b.tenant, second, 1, map[string]string{"order": "1001-b"}); err != nil || row.State != batch.RowRated {
		t.Fatal(row, err)
	}
	b.must(b.Retry(t.Context(), b.tenant, second))
	if got := b.work(second); got.State != batch.Ready || got.Tally.Rows[batch.RowRated] != 1 || got.Tally.Rows[batch.RowFailed] != 1 {
		t.Fatalf("%s %+v", got.State, got.Tally)
	}
	b.must(b.Buy(t.Context(), b.tenant, second, "pdf", ""))
	if got := b.work(second); got.Tally.Rows[batch.RowFailed] != 1 || got.Tally.Rows[batch.RowBought] != 2 {
		t.Fatalf("%+v", got.Tally)
	}
}

// The price that a person saw is the most that a line may cost.
func TestNoLineCostsMoreThanThePriceThatWasShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.upload(orders(2))
	b.work(id)

	// Since the rate was shown, the cheapest offer of the second line has
	// become one cent more expensive.
	_, err := storetest.Conn(t, b.store.System().Config().ConnString()).Exec(t.Context(), "UPDATE batch_rows SET amount_minor = amount_minor - 1 WHERE row_number = 2")
	b.must(err)

	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	got := b.work(id)
	if got.Tally.Rows[batch.RowBought] != 1 || got.Tally.Rows[batch.RowFailed] != 1 || b.shipments() != 1 {
		t.Fatalf("%+v and %d shipments, want one line bought and one not", got.Tally, b.shipments())
	}
	row, err := b.Row(t.Context(), b.tenant, id, 2)
	b.must(err)
	if !strings.Contains(row.At(""), "now costs more") {
		t.Errorf("the line says %+v, want that its price rose", row.Problems)
	}

	// Tried again, the line shows the new price and is bought for it.
	b.must(b.Retry(t.Context(), b.tenant, id))
	b.work(id)
	b.must(b.Buy(t.Context(), b.tenant, id, "pdf", ""))
	if got := b.work(id); got.Tally.Rows[batch.RowBought] != 2 || b.shipments() != 2 {
		t.Errorf("tried again: %+v and %d shipments, want both lines bought", got.Tally, b.shipments())
	}
}

// A line that a person wants shipped again stays so when it is tried again.
func TestAnAcceptedDuplicateIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := b.upload(orders(1))
	b.work(first)
	b.must(b.Buy(t.Context(), b.tenant, first, "pdf", ""))
	b.work(first)

	second := b.upload(orders(1))
	b.work(second)
	if row, err := b.ShipAgain(t.Context(), b.tenant, second, 1); err != nil || row.State != batch.RowRated {
		t.Fatalf("%+v, %v", row, err)
	}
	_, err := storetest.Conn(t, b.store.System().Config().ConnString()).Exec(t.Context(), "UPDATE batch_rows SET amount_minor = amount_minor - 1 WHERE state = 'rated'")
	b.must(err)
	b.must(b.Buy(t.Context(), b.tenant, second, "pdf", ""))
	if got := b.work(second); got.Tally.Rows[batch.RowFailed] != 1 {
		t.Fatalf("%+v, want a line that was not bought", got.Tally)
	}

	b.must(b.Retry(t.Context(), b.tenant, second))
	if got := b.work(second); got.Tally.Rows[batch.RowRated] != 1 {
		t.Fatalf("tried again: %+v, want a line with a rate", got.Tally)
	}
	b.must(b.Buy(t.Context(), b.tenant, second, "pdf", ""))
	if got := b.work(second); got.Tally.Rows[batch.RowBought] != 1 || b.shipments() != 2 {
		t.Errorf("%+v and %d shipments, want the order shipped again", got.Tally, b.shipments())
	}
}
