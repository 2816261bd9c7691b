package shipping_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// patient has approvals wait for so long.
func patient(wait time.Duration) func(*settings) {
	return func(s *settings) { s.Waits.Approval = wait }
}

// agent has an order be one of a key whose every purchase needs an approval.
func (b liveBench) agent(n int) shipping.BuyInput {
	in := b.order(n)
	in.Key = ship.NewKeyID(b.tenant.Shard(), time.Now())
	in.Limits.ApprovalAbove = ship.Money{Currency: "USD"}
	return in
}

// ask buys and expects that the purchase waits.
func (b liveBench) ask(t *testing.T, in shipping.BuyInput) ship.Shipment {
	t.Helper()
	got, err := b.Buy(t.Context(), in)
	if err != nil || !got.Pending || got.Shipment.State != ship.StateAwaitingApproval {
		t.Fatalf("Buy = %+v, %v", got, err)
	}
	if got.Shipment.Approval == nil || got.Shipment.Approval.Status != ship.ApprovalWaiting || got.Shipment.State.LabelStatus() != "pending" {
		t.Fatalf("the approval is %+v", got.Shipment.Approval)
	}
	return got.Shipment
}

func (b liveBench) decide(t *testing.T, id ship.ApprovalID, status ship.ApprovalStatus) {
	t.Helper()
	decision := shipping.Decision{Status: status, By: ship.NewPersonID(time.Now()), Name: "Ada"}
	if _, err := b.DecideApproval(t.Context(), b.tenant, id, decision); err != nil {
		t.Fatal(err)
	}
}

// sold counts what the carrier ever sold.
func (b liveBench) sold() (n int) {
	for _, e := range b.emulator.Ledger.Entries() {
		if e.Kind == "sold" {
			n++
		}
	}
	return n
}

func (b liveBench) expectNoViolation(t *testing.T) {
	t.Helper()
	if list, err := b.store.Violations(t.Context(), time.Now().Add(time.Second)); err != nil || len(list) > 0 {
		t.Errorf("violations %+v, %v", list, err)
	}
}

func TestAnApprovedPurchaseIsBoughtOnce(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", patient(time.Hour))
	in := b.agent(1)
	asked := b.ask(t, in)

	// Nothing goes on before somebody decides, whoever looks.
	if again, err := b.Settle(t.Context(), b.tenant, asked.ID); err != nil || again != 0 {
		t.Errorf("settled before the approval: again in %s, %v", again, err)
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	replayed, err := b.Buy(t.Context(), in)
	if err != nil || !replayed.Pending || !replayed.Replayed || replayed.Shipment.ID != asked.ID || replayed.Shipment.Approval.Status != ship.ApprovalWaiting {
		t.Errorf("the key again: %+v, %v", replayed, err)
	}
	if b.sold() != 0 {
		t.Fatal("a label was sold before the approval")
	}

	b.decide(t, asked.Approval.ID, ship.ApprovalApproved)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			if _, err := b.Settle(context.WithoutCancel(t.Context()), b.tenant, asked.ID); err != nil {
				t.Error(err)
			}
		})
	}
	all.Go(func() {
		if err := b.Sweep(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	all.Wait()

	bought := b.settle(t, asked.ID, ship.StatePurchased)
	if alive := b.alive(); len(alive) != 1 || alive[0] != bought.Purchase.TrackingNumber || b.sold() != 1 {
		t.Errorf("%d were sold, alive are %v", b.sold(), alive)
	}
	b.expectEvents(t, asked.ID, "[1 shipment.created awaiting_approval 2 label.generated purchased]")
	replayed, err = b.Buy(t.Context(), in)
	if err != nil || replayed.Pending || replayed.Shipment.ID != asked.ID || replayed.Shipment.Approval.Status != ship.ApprovalApproved {
		t.Errorf("the key after the purchase: %+v, %v", replayed, err)
	}
	read, err := b.Shipment(t.Context(), b.tenant, asked.ID)
	if err != nil || read.Approval == nil || read.Approval.Status != ship.ApprovalApproved || read.Approval.Decider != "Ada" {
		t.Errorf("read again: %+v, %v", read.Approval, err)
	}
	b.expectNoViolation(t)
}

func TestAPurchaseThatIsNotApprovedBuysNothing(t *testing.T) {
	t.Parallel()
	for status, code := range map[ship.ApprovalStatus]string{ship.ApprovalDenied: "approval_denied", ship.ApprovalExpired: "approval_expired"} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			wait := time.Hour
			if status == ship.ApprovalExpired {
				wait = 500 * time.Millisecond
			}
			b := newLiveBench(t, "ups", patient(wait))
			in := b.agent(1)
			asked := b.ask(t, in)
			if status == ship.ApprovalDenied {
				b.decide(t, asked.Approval.ID, status)
			} else {
				time.Sleep(time.Until(asked.Approval.ExpiresAt) + 10*time.Millisecond)
				late := shipping.Decision{Status: ship.ApprovalApproved, By: ship.NewPersonID(time.Now())}
				if _, err := b.DecideApproval(t.Context(), b.tenant, asked.Approval.ID, late); ship.KindOf(err) != ship.Conflict {
					t.Errorf("approved after it expired: %v", err)
				}
			}
			if err := b.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}

			read, err := b.Shipment(t.Context(), b.tenant, asked.ID)
			if err != nil || read.State != ship.StateFailed || read.Approval.Status != status || read.Progress.Reason != ship.ReasonPurchaseFailed {
				t.Errorf("it is %s, %+v, because of %q, %v", read.State, read.Approval, read.Progress.Reason, err)
			}
			b.expectEvents(t, asked.ID, "[1 shipment.created awaiting_approval 2 shipment.exception failed]")
			if _, err := b.Buy(t.Context(), in); ship.CodeOf(err) != code || ship.KindOf(err) != ship.Invalid {
				t.Errorf("the key again: %v", err)
			}
			decision := shipping.Decision{Status: ship.ApprovalApproved, By: ship.NewPersonID(time.Now())}
			if _, err := b.DecideApproval(t.Context(), b.tenant, asked.Approval.ID, decision); ship.KindOf(err) != ship.Conflict {
				t.Errorf("approved after all: %v", err)
			}
			if err := b.Sweep(t.Context()); err != nil || b.sold() != 0 {
				t.Errorf("%d were sold, %v", b.sold(), err)
			}

			// What a person has denied needs nobody's attention; what nobody has
			// decided does.
			isExpired := status == ship.ApprovalExpired
			var failed int
			for range 50 { // what has just been committed may be counted a moment later
				if _, err := b.store.RollUp(t.Context()); err != nil {
					t.Fatal(err)
				}
				list, _, err := b.FailedPurchases(t.Context(), b.tenant, ship.Page{Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				if failed = len(list); failed > 0 {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
			counts, err := b.Attention(t.Context(), b.tenant)
			if err != nil || (failed == 1) != isExpired || (counts.Failed == 1) != isExpired {
				t.Errorf("%d failed purchases need attention and %d are listed, %v", counts.Failed, failed, err)
			}

			// The order is free again, and so is the request without a key.
			next := b.agent(1)
			next.IdempotencyKey = "another"
			next.OnDuplicate = "reject"
			b.ask(t, next)
			b.expectNoViolation(t)
		})
	}
}

// TestOnlyWhatIsAboveTheThresholdWaits buys what a key may spend by itself at once.
func TestOnlyWhatIsAboveTheThresholdWaits(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", patient(time.Hour))
	first, err := b.Buy(t.Context(), b.order(0))
	if err != nil {
		t.Fatal(err)
	}
	price := first.Shipment.Purchase.Price

	in := b.agent(1)
	in.Limits.ApprovalAbove = price
	got, err := b.Buy(t.Context(), in)
	if err != nil || got.Pending || got.Shipment.Approval != nil {
		t.Fatalf("at the threshold: %+v, %v", got, err)
	}
	if got.Shipment.Purchase.Limit != price {
		t.Errorf("the label may cost %s without an approval", got.Shipment.Purchase.Limit)
	}

	in = b.agent(2)
	in.Limits.ApprovalAbove.Minor = price.Minor - 1
	waiting := b.ask(t, in)
	if waiting.Approval.Price != price || waiting.Purchase.Limit != price {
		t.Errorf("asked for %s, and it may cost %s", waiting.Approval.Price, waiting.Purchase.Limit)
	}

	test := b.agent(3)
	test.Tenant.Livemode = false
	if got, err := b.Buy(t.Context(), test); err == nil && got.Shipment.State == ship.StateAwaitingApproval {
		t.Error("a test purchase waits for an approval")
	}

	// What waits is reserved: the day's money is not promised twice.
	in = b.agent(4)
	in.Limits.Daily = ship.Money{Minor: price.Minor + price.Minor/2, Currency: price.Currency}
	reserved := b.ask(t, in)
	second := b.agent(5)
	second.Key = in.Key
	second.Limits = in.Limits
	if _, err := b.Buy(t.Context(), second); ship.CodeOf(err) != "spend_limit_reached" {
		t.Errorf("beside one that waits: %v", err)
	}
	b.decide(t, reserved.Approval.ID, ship.ApprovalDenied)
	b.settle(t, reserved.ID, ship.StateFailed)
	b.ask(t, second)
}

// TestAnApprovalOfAnotherTenantIsNotFound tries the other account and mode.
func TestAnApprovalOfAnotherTenantIsNotFound(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t, "ups", patient(time.Hour))
	asked := b.ask(t, b.agent(1))
	for _, other := range []ship.Tenant{
		{Account: b.tenant.Account},
		{Account: ship.NewAccountID(b.tenant.Shard(), time.Now()), Livemode: true},
	} {
		decision := shipping.Decision{Status: ship.ApprovalApproved, By: ship.NewPersonID(time.Now())}
		if _, err := b.DecideApproval(t.Context(), other, asked.Approval.ID, decision); ship.KindOf(err) != ship.NotFound {
			t.Errorf("%+v decided: %v", other, err)
		}
		list, _, err := b.WaitingApprovals(t.Context(), other, ship.RawID{}, 10)
		if err != nil || len(list) > 0 {
			t.Errorf("%+v sees %v, %v", other, list, err)
		}
	}
	list, more, err := b.WaitingApprovals(t.Context(), b.tenant, ship.RawID{}, 10)
	if err != nil || more || len(list) != 1 || list[0].Shipment.ID != asked.ID {
		t.Errorf("its own: %+v, %t, %v", list, more, err)
	}
}

// TestAnApprovedPurchaseSurvivesItsProcess has the process die at each step between
// the approval and the label, however long ago the purchase was asked for.
func TestAnApprovedPurchaseSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"approved", "begun", "answer lost"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := newLiveBench(t, "ups", patient(time.Hour), func(s *settings) { s.Waits.Rebuy = time.Minute })
			b.sellControl(t)
			asked := b.ask(t, b.agent(1))
			b.decide(t, asked.Approval.ID, ship.ApprovalApproved)

			switch step {
			case "begun":
				sh, err := b.store.Shipment(t.Context(), b.tenant, asked.ID)
				if err == nil {
					err = b.store.BeginApproved(t.Context(), sh, 1)
				}
				if err != nil {
					t.Fatal(err)
				}
				if err := b.store.BeginApproved(t.Context(), sh, 1); ship.KindOf(err) != ship.Conflict {
					t.Errorf("begun twice: %v", err)
				}
			case "answer lost":
				b.turn(t, emulator.Faults{Buy: map[string]float64{"reset": 1}})
				if _, err := b.Settle(t.Context(), b.tenant, asked.ID); err != nil {
					t.Fatal(err)
				}
				b.turn(t, emulator.Faults{})
			}

			bought := b.settle(t, asked.ID, ship.StatePurchased)
			if alive := b.alive(); len(alive) != 1 || alive[0] != bought.Purchase.TrackingNumber {
				t.Errorf("alive are %v", alive)
			}
			b.expectNoViolation(t)
		})
	}
}

// TestARetryThatCostsMoreNowWaits repeats a purchase that is known to have bought
// nothing, under a key that needs an approval meanwhile.
func TestARetryThatCostsMoreNowWaits(t *testing.T) {
	t.Parallel()
	isDown := true
	b := newLiveBench(t, "ups", patient(time.Hour), func(s *settings) {
		open := s.Accounts.Connection
		s.Accounts.Connection = func(ctx context.Context, t ship.Tenant, id ship.ConnectionID) (*carrier.Carrier, error) {
			if isDown {
				return nil, ship.Errorf(ship.Unavailable, "the credentials cannot be opened")
			}
			return open(ctx, t, id)
		}
	})
	in := b.agent(1)
	in.Limits = ship.SpendingLimits{}
	if _, err := b.Buy(t.Context(), in); ship.KindOf(err) != ship.Unavailable {
		t.Fatalf("while the carrier is down: %v", err)
	}
	isDown = false
	in.Limits.ApprovalAbove = ship.Money{Currency: "USD"}
	asked := b.ask(t, in)
	if b.sold() != 0 {
		t.Fatal("a label was sold before the approval")
	}
	b.decide(t, asked.Approval.ID, ship.ApprovalApproved)
	b.settle(t, asked.ID, ship.StatePurchased)
	if b.sold() != 1 {
		t.Errorf("%d were sold", b.sold())
	}
	b.expectEvents(t, asked.ID, "[1 shipment.created awaiting_approval 2 label.generated purchased]")
}
