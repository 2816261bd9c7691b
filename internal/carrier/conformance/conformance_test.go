package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const secret = "hunter2-hunter2"

// A well-behaved driver with tokens passes.
func TestSuiteAcceptsADriverWithTokens(t *testing.T) {
	polite := subject(habits{})
	for _, demand := range polite.Cases() {
		t.Run(demand.Name, func(t *testing.T) {
			if err := demand.Run(polite, t); err != nil {
				t.Error(err)
			}
		})
	}
}

// Each bad habit is caught by the test case that is meant for it.
func TestSuiteNoticesBadHabits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		habits habits
		fails  string // a case that must fail
	}{
		{"buys again when the answer is lost", habits{retries: true}, "buy answer lost"},
		{"takes a lost purchase for none", habits{careless: true}, "buy server error"},
		{"never refreshes its token", habits{stale: true}, "buy not let in once"},
		{"repeats the request in its errors", habits{talkative: true}, "buy refused with the request repeated"},
		{"reads without end", habits{greedy: true}, "rates answer is endless"},
		{"makes a label up", habits{forges: true}, "buy answer lacks the label"},
		{"waits for ever", habits{deaf: true}, "rates never answers"},
		{"takes silence for absence", habits{assumes: true}, "find answer says nothing"},
		{"does not close", habits{leaks: true}, "rates works"},
		{"takes silence for a verdict", habits{guesses: true}, "addresses answer says nothing"},
		{"takes a proxy for the carrier", habits{guesses: true}, "addresses not found by a proxy"},
		{"repeats the address in its errors", habits{gossips: true}, "addresses refused by the carrier"},
		{"confuses homes and businesses", habits{confuses: true}, "addresses that are valid: 1 Perch St"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rude := subject(tc.habits)
			for _, c := range rude.cases() {
				if c.name == tc.fails {
					if c.run(rude, t) == nil {
						t.Errorf("%q passes", c.name)
					}
					return
				}
			}
			t.Fatalf("no case %q", tc.fails)
		})
	}
}

func subject(h habits) Subject {
	return Subject{
		Spec: carrier.Spec{
			Name: "parrot", Title: "Parrot Post",
			Fields:   []carrier.Field{{Name: "secret", Secret: true, Required: true}},
			Services: []carrier.Service{{Code: "fly", Name: "Fly"}},

			AddressCoverage: carrier.AddressCoverage{Streets: []string{"US"}},
			Open: func(o carrier.Opening) (carrier.Driver, error) {
				return &parrot{habits: h, secret: o.Credentials["secret"], via: o.Via, token: carrierkit.NewToken()}, nil
			},
		},
		Credentials: carrier.Credentials{"secret": secret},
		Service:     func(T) carrier.Doer { return &aviary{sold: map[string]bool{}} },
		Order: carrier.BuyOrder{
			Order: ship.Order{OrderID: "1", Parcels: []ship.Parcel{{WeightGrams: 1}}}, Service: "fly", Reference: "R1",
		},
		Refusal:    Refusal{Status: 400, Body: `{"error":{"code":"E7","text":"%s"}}`, Code: "E7"},
		TokenPaths: []string{"/token"},
		Addresses: []AddressExample{
			{Address: perch("1 Perch St"), Verdict: ship.AddressValid, Kind: "home"},
			{Address: perch("0 Perch St"), Verdict: ship.AddressInvalid},
		},
	}
}

func perch(line string) ship.Address {
	return ship.Address{Address1: line, City: "Albany", State: "NY", Zip: "12207", Country: "US"}
}

// aviary is a carrier with tokens.
type aviary struct {
	mu   sync.Mutex
	sold map[string]bool
}

func (a *aviary) Do(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	reference := string(bytes.Trim(body, "\"\n"))
	purchase := fmt.Sprintf(`{"number":"N-%s","ref":"C-%s","label":"%s"}`, reference, reference, strings.Repeat("L", 200))
	switch r.URL.Path {
	case "/token":
		return response(200, strings.NewReader(`{"token":"t","ttl":3600}`)), nil
	case "/check", "/void":
		return response(200, strings.NewReader(`{"ok":"yes"}`)), nil
	case "/address":
		known := "no"
		if strings.HasPrefix(reference, "1 ") {
			known = "yes"
		}
		return response(200, strings.NewReader(`{"known":"`+known+`"}`)), nil
	case "/rates":
		return response(200, strings.NewReader(`{"cents":999}`)), nil
	case "/buy":
		a.sold[reference] = true
		return response(200, strings.NewReader(purchase)), nil
	case "/find":
		if a.sold[reference] {
			return response(200, strings.NewReader(purchase)), nil
		}
	}
	return response(404, strings.NewReader(`{}`)), nil
}

// habits are ways to write a bad driver.
type habits struct {
	retries, careless, stale, talkative, greedy, forges, deaf, assumes, leaks bool
	guesses, gossips, confuses                                                bool
}

type parrot struct {
	habits
	secret string
	via    carrier.Doer
	token  *carrierkit.Token
}

type parrotAnswer struct {
	OK     string `json:"ok"`
	Cents  int64  `json:"cents"`
	Number string `json:"number"`
	Ref    string `json:"ref"`
	Label  string `json:"label"`
	Known  string `json:"known"`
}

func (p *parrot) ask(ctx context.Context, path string, effect bool, body any) (parrotAnswer, error) {
	if p.deaf {
		ctx = context.WithoutCancel(ctx)
		late, cancel := context.WithTimeout(ctx, 60*patience)
		defer cancel()
		ctx = late
	}
	var a parrotAnswer
	call := func(token string) error {
		c := carrierkit.Call{
			Method: http.MethodPost, URL: "https://parrot.invalid" + path, Body: body, Effect: effect && !p.careless,
			Header: http.Header{"Authorization": {"Bearer " + token}, "X-Client": {p.secret}},
			Refusal: func(body []byte) ship.Refusal {
				var said struct {
					Error struct{ Code, Text string }
				}
				if json.Unmarshal(body, &said) != nil {
					return ship.Refusal{}
				}
				return ship.Refusal{Code: said.Error.Code, Message: said.Error.Text}
			},
		}
		if p.greedy {
			c.Limit = 1 << 30
		}
		via := p.via
		if p.leaks {
			via = leaky{via}
		}
		err := c.Do(ctx, via, &a)
		if p.retries && ship.KindOf(err) == ship.Uncertain {
			err = c.Do(ctx, via, &a)
		}
		return err
	}
	if p.stale {
		token, err := p.token.Get(ctx, p.fetch)
		if err != nil {
			return a, err
		}
		return a, call(token)
	}
	err := p.token.Use(ctx, p.fetch, call)
	if e, ok := errors.AsType[*ship.Error](err); ok && p.talkative {
		e.Details = map[string]any{"request": p.secret}
	}
	return a, err
}

func (p *parrot) fetch(ctx context.Context) (string, time.Duration, error) {
	var a struct {
		Token string `json:"token"`
		TTL   int    `json:"ttl"`
	}
	err := carrierkit.Call{Method: http.MethodPost, URL: "https://parrot.invalid/token", Body: p.secret}.Do(ctx, p.via, &a)
	return a.Token, time.Duration(a.TTL) * time.Second, err
}

func (p *parrot) Check(ctx context.Context) error {
	a, err := p.ask(ctx, "/check", false, "")
	if err == nil && a.OK == "" {
		err = ship.Errorf(ship.Unavailable, "no answer")
	}
	return err
}

func (p *parrot) Rates(ctx context.Context, _ ship.Order) ([]ship.Rate, error) {
	a, err := p.ask(ctx, "/rates", false, "")
	return []ship.Rate{{Service: "fly", Price: ship.Money{Minor: a.Cents, Currency: "USD"}}}, err
}

func (p *parrot) Buy(ctx context.Context, b carrier.BuyOrder) (ship.Sale, error) {
	a, err := p.ask(ctx, "/buy", true, b.Reference)
	return p.purchase(a), err
}

func (p *parrot) Find(ctx context.Context, b carrier.BuyOrder) (ship.Sale, error) {
	a, err := p.ask(ctx, "/find", false, b.Reference)
	if p.assumes && err == nil && a.Number == "" {
		return ship.Sale{}, ship.Errorf(ship.NotFound, "nothing there")
	}
	return p.purchase(a), err
}

func (p *parrot) CheckAddress(ctx context.Context, address ship.Address) (ship.AddressCheck, error) {
	a, err := p.ask(ctx, "/address", false, address.Address1)
	if p.gossips && ship.KindOf(err) == ship.Invalid {
		return ship.AddressCheck{}, &ship.Error{
			Kind:    ship.Invalid,
			Message: "they do not like " + address.Address1,
			Refusal: ship.ErrorOf(err).Refusal,
		}
	}
	if p.guesses && ship.KindOf(err) == ship.NotFound {
		err = nil
	}
	if err != nil {
		return ship.AddressCheck{}, err
	}

	isHome := !p.confuses
	switch {
	case a.Known == "yes":
		return ship.AddressCheck{Verdict: ship.AddressValid, Address: address, Residential: &isHome}, nil
	case a.Known == "no" || p.guesses:
		return ship.AddressCheck{Verdict: ship.AddressInvalid, Messages: []string{"No such perch."}}, nil
	}
	return ship.AddressCheck{}, ship.Errorf(ship.Unavailable, "no answer")
}

func (p *parrot) purchase(a parrotAnswer) ship.Sale {
	if p.forges && a.Label == "" {
		a.Label = "blank"
	}
	return ship.Sale{
		TrackingNumber: a.Number, CarrierRef: a.Ref, Price: ship.Money{Minor: 999, Currency: "USD"},
		Label: ship.Label{Format: "pdf", Data: []byte(a.Label)},
	}
}

func (p *parrot) Void(ctx context.Context, d ship.Purchase) (carrier.VoidResult, error) {
	a, err := p.ask(ctx, "/void", true, d.CarrierRef)
	if a.OK == "" {
		return carrier.VoidResult{}, err
	}
	return carrier.VoidResult{State: ship.StateVoided}, err
}

// leaky keeps bodies open.
type leaky struct{ via carrier.Doer }

func (l leaky) Do(r *http.Request) (*http.Response, error) {
	resp, err := l.via.Do(r)
	if err == nil {
		resp.Body = io.NopCloser(resp.Body)
	}
	return resp, err
}
