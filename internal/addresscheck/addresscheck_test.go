package addresscheck_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/addresscheck"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// counter counts the requests to the simulated carriers.
type counter struct{ calls atomic.Int32 }

func (c *counter) Do(r *http.Request) (*http.Response, error) {
	c.calls.Add(1)
	return sandbox.Service{}.Do(r)
}

// world is a service whose carriers are behind HTTP.
type world struct {
	*addresscheck.Service
	tenant ship.Tenant
	sent   *counter
	wait   time.Duration // for the carriers' quota
}

func newWorld(t *testing.T) *world {
	t.Helper()
	st := storetest.Open(t)
	w := &world{tenant: storetest.Tenant(), sent: &counter{}}
	w.Service = addresscheck.New(addresscheck.Config{
		Store: st,
		Key:   []byte("0123456789abcdef0123456789abcdef"),
		Wait:  func(ship.ConnectionID) time.Duration { return w.wait },
		Log:   slog.New(slog.DiscardHandler),
		Accounts: carrier.Accounts{Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) {
			c, err := carrier.Open(sandbox.Specs()[0], carrier.Opening{Via: w.sent})
			if err != nil {
				return nil, err
			}
			c.Connection = "con_1"
			return []*carrier.Carrier{c}, nil
		}},
	})
	return w
}

func (w *world) request(street string) addresscheck.Request {
	return addresscheck.Request{Tenant: w.tenant, Address: ship.Address{
		Name: "Ada", Address1: street, City: "Austin", State: "TX", Zip: "78701", Country: "US",
	}}
}

func TestAnAnswerIsUsedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, name := range []string{"Ada", "Grace"} {
		request := w.request("Corrected Street")
		request.Address.Name = name
		check, err := w.Check(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if check.Verdict != ship.AddressCorrected || check.Address.Address1 != "1 Corrected Street" || check.Address.Name != name || check.CheckedBy != "ups" {
			t.Errorf("check %d: %+v", i, check)
		}
	}
	if n := w.sent.calls.Load(); n != 1 {
		t.Errorf("the carrier was asked %d times", n)
	}

	// Another account asks for itself.
	other := w.request("Corrected Street")
	other.Tenant = ship.Tenant{Account: ship.NewAccountID(8, time.Now())}
	if _, err := w.Check(t.Context(), other); err != nil || w.sent.calls.Load() != 2 {
		t.Errorf("%v, the carrier was asked %d times", err, w.sent.calls.Load())
	}
}

func TestAFailureIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 2 {
		check, err := w.Check(t.Context(), w.request("Unreachable Street"))
		if ship.KindOf(err) != ship.Unavailable || check.Verdict != ship.AddressUnknown || check.CheckedBy != ship.CheckedByRules {
			t.Errorf("%+v, %v", check, err)
		}
	}
	if n := w.sent.calls.Load(); n != 2 {
		t.Errorf("the carrier was asked %d times", n)
	}
}

func TestACarrierWithoutRoomIsSpared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.wait = time.Second
	request := w.request("500 Main St")
	request.Spare = true
	if _, err := w.Check(t.Context(), request); ship.KindOf(err) != ship.Unavailable || w.sent.calls.Load() != 0 {
		t.Errorf("%v after %d calls", err, w.sent.calls.Load())
	}

	request.Spare = false
	if check, err := w.Check(t.Context(), request); err != nil || check.Verdict != ship.AddressValid {
		t.Errorf("%+v, %v", check, err)
	}

	// What is known costs no call.
	request.Spare = true
	if check, err := w.Check(t.Context(), request); err != nil || check.Verdict != ship.AddressValid || w.sent.calls.Load() != 1 {
		t.Errorf("%+v, %v after %d calls", check, err, w.sent.calls.Load())
	}
}

func TestASlowCheckIsNotWaitedForAndIsKnownTheNextTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.Start(t.Context(), w.request("Slow Street")).Within(t.Context(), time.Now().Add(50*time.Millisecond)); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("%v, want unavailable", err)
	}

	deadline := time.Now().Add(20 * time.Second)
	request := w.request("Slow Street")
	request.Spare = true
	w.wait = time.Hour
	for {
		check, err := w.Check(t.Context(), request)
		if err == nil && check.Verdict == ship.AddressValid {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the answer is not known: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func TestTheRulesKnowBoxesAndMilitaryAddresses(t *testing.T) {
	t.Parallel()
	rules := addresscheck.New(addresscheck.Config{Log: slog.New(slog.DiscardHandler)})
	tests := []struct {
		line, city, state, zip string
		verdict                ship.AddressVerdict
		message                string
	}{
		{"500 Main St", "Austin", "TX", "78701", ship.AddressUnknown, ""},
		{"P.O. Box 12", "Austin", "TX", "78701", ship.AddressUnknown, "post office box"},
		{"Box Elder Road 4", "Austin", "TX", "78701", ship.AddressUnknown, ""},
		{"Main St", "Austin", "TX", "78701", ship.AddressUnknown, "house number"},
		{"PSC 3 Box 4", "APO", "AE", "09012", ship.AddressUnknown, "Only USPS"},
		{"PSC 3 Box 4", "Frankfurt", "AE", "09012", ship.AddressInvalid, "APO, FPO or DPO"},
	}
	for _, test := range tests {
		address := ship.Address{Name: "Ada", Address1: test.line, City: test.city, State: test.state, Zip: test.zip, Country: "US"}
		check, err := rules.Validate(t.Context(), addresscheck.Request{Address: address})
		messages := strings.Join(check.Messages, " ")
		if err != nil || check.Verdict != test.verdict || check.CheckedBy != ship.CheckedByRules ||
			test.message == "" && messages != "" || !strings.Contains(messages, test.message) {
			t.Errorf("%s: %+v, %v", test.line, check, err)
		}
	}
}

// unknowing is a carrier that checks addresses and does not know this one.
type unknowing struct{}

func (unknowing) Check(context.Context) error { return nil }

func (unknowing) CheckAddress(context.Context, ship.Address) (ship.AddressCheck, error) {
	return ship.AddressCheck{Verdict: ship.AddressUnknown, Messages: []string{"Knows other places."}}, nil
}

// TestACarrierThatDoesNotKnowLetsTheNextOneAnswer, and if there is none, the rules
// answer and a message says why.
func TestACarrierThatDoesNotKnowLetsTheNextOneAnswer(t *testing.T) {
	t.Parallel()
	everywhere := carrier.AddressCoverage{Streets: []string{"US"}}
	list := []*carrier.Carrier{carrier.New(carrier.Spec{Name: "first", AddressCoverage: everywhere}, unknowing{})}
	service := addresscheck.New(addresscheck.Config{
		Log: slog.New(slog.DiscardHandler),
		Accounts: carrier.Accounts{Connected: func(context.Context, ship.Tenant) ([]*carrier.Carrier, error) {
			return list, nil
		}},
	})
	request := addresscheck.Request{Tenant: ship.Tenant{Livemode: true}, Address: ship.Address{
		Address1: "500 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US",
	}}

	check, err := service.Validate(t.Context(), request)
	if err != nil || check.Verdict != ship.AddressUnknown || check.CheckedBy != ship.CheckedByRules || !strings.Contains(strings.Join(check.Messages, " "), "Knows other places.") {
		t.Errorf("alone: %+v, %v", check, err)
	}

	second, err := carrier.Open(sandbox.Specs()[1], carrier.Opening{})
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, second)
	if check, err := service.Validate(t.Context(), request); err != nil || check.Verdict != ship.AddressValid || check.CheckedBy != "usps" {
		t.Errorf("with a second: %+v, %v", check, err)
	}
}
