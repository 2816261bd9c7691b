package carrierkit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// script answers with the status that is set at the moment: zero hangs, a
// negative number resets the connection.
type script struct {
	status int
	sent   map[carrier.Operation]int
}

func (s *script) answer(r *http.Request) (*http.Response, error) {
	s.sent[carrier.OperationOf(r.Context())]++
	switch {
	case s.status == 0:
		return hangs(r)
	case s.status < 0:
		return nil, errors.New("connection reset")
	}
	return says(s.status)
}

// calls sends n calls one after the other and returns the last error.
func calls(t *testing.T, via carrier.Doer, op carrier.Operation, n int) (err error) {
	t.Helper()
	for range n {
		err = send(t.Context(), via, op, 100*time.Millisecond)
	}
	return err
}

func TestTheBreakerOpensAtHalfOfTwentyCalls(t *testing.T) {
	for name, tc := range map[string]struct {
		bad        int
		good, fail int
		want       string
	}{
		"ten of twenty resets":      {-1, 10, 10, "open"},
		"ten of twenty 500":         {500, 10, 10, "open"},
		"nine of nineteen":          {500, 10, 9, "closed"},
		"eleven of twenty-three":    {500, 12, 11, "closed"},
		"nineteen of nineteen":      {500, 0, 19, "closed"},
		"twenty of twenty refusals": {400, 0, 20, "closed"},
		"twenty of twenty 401":      {401, 0, 20, "closed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{sent: map[carrier.Operation]int{}}
				traffic := over(s.answer)
				via := traffic.Doer(carrier.Spec{Name: "ups"}, "a")
				s.status = 200
				_ = calls(t, via, carrier.OpRates, tc.good)
				s.status = tc.bad
				_ = calls(t, via, carrier.OpRates, tc.fail)
				if got := stat(t, traffic, carrier.OpRates).Breaker; got != tc.want {
					t.Errorf("the breaker is %s, want %s", got, tc.want)
				}
			})
		})
	}
}

func TestFailuresOfLongAgoDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{status: 500, sent: map[carrier.Operation]int{}}
		traffic := over(s.answer)
		via := traffic.Doer(carrier.Spec{}, "a")
		_ = calls(t, via, carrier.OpRates, 19)
		time.Sleep(34 * time.Second)
		_ = calls(t, via, carrier.OpRates, 19)
		if got := stat(t, traffic, carrier.OpRates); got.Breaker != "closed" || got.Sent != 38 {
			t.Errorf("38 failures in two halves: %+v", got)
		}
	})
}

func TestFiveTimeoutsInARowOpenTheBreakerOfThatOperationAndConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{sent: map[carrier.Operation]int{}}
		traffic := over(s.answer)
		via, other := traffic.Doer(carrier.Spec{}, "a"), traffic.Doer(carrier.Spec{}, "b")
		_ = calls(t, via, carrier.OpRates, 4)
		s.status = 200
		_ = calls(t, via, carrier.OpRates, 1) // breaks the row
		s.status = 0
		_ = calls(t, via, carrier.OpRates, 4)
		if got := stat(t, traffic, carrier.OpRates).Breaker; got != "closed" {
			t.Fatalf("after four: %s", got)
		}
		_ = calls(t, via, carrier.OpRates, 1)
		began, before := time.Now(), s.sent[carrier.OpRates]
		err := send(t.Context(), via, carrier.OpRates, time.Second)
		if ship.KindOf(err) != ship.Unavailable || retryAfter(err) != 5*time.Second || time.Since(began) > 0 || s.sent[carrier.OpRates] != before {
			t.Errorf("after five: %v, retry after %v, took %v", err, retryAfter(err), time.Since(began))
		}
		s.status = 200
		if err := send(t.Context(), via, carrier.OpTrack, time.Second); err != nil {
			t.Errorf("another operation: %v", err)
		}
		if err := send(t.Context(), other, carrier.OpRates, time.Second); err != nil {
			t.Errorf("another connection: %v", err)
		}
	})
}

func TestOneProbeAtATimeAfterAWaitThatGrows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{sent: map[carrier.Operation]int{}}
		traffic := over(s.answer)
		via := traffic.Doer(carrier.Spec{}, "a")
		_ = calls(t, via, carrier.OpRates, 5)
		for _, want := range []time.Duration{5, 10, 20, 40, 60, 60} {
			want *= time.Second
			if got := retryAfter(calls(t, via, carrier.OpRates, 1)); got != want {
				t.Fatalf("the wait is %v, want %v", got, want)
			}
			time.Sleep(want)
			before := s.sent[carrier.OpRates]
			done := make(chan error)
			for range 10 {
				go func() { done <- send(t.Context(), via, carrier.OpRates, time.Second) }()
			}
			for range 10 {
				<-done
			}
			if probes := s.sent[carrier.OpRates] - before; probes != 1 {
				t.Fatalf("%d probes at once", probes)
			}
		}
		time.Sleep(time.Minute)
		s.status = 200
		if err := calls(t, via, carrier.OpRates, 50); err != nil {
			t.Errorf("after a good probe: %v", err)
		}
		s.status = 0
		if got := retryAfter(calls(t, via, carrier.OpRates, 6)); got != 5*time.Second {
			t.Errorf("the next time the wait is %v", got)
		}
	})
}

// A purchase is never used to probe a carrier.
func TestOnlyAnotherOperationClosesTheBreakerOfPurchases(t *testing.T) {
	for op, closes := range map[carrier.Operation]bool{
		carrier.OpRates: true, carrier.OpCheck: true, carrier.OpFind: true, carrier.OpTrack: false, carrier.OpVoid: false,
	} {
		t.Run(string(op), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{sent: map[carrier.Operation]int{}}
				traffic := over(s.answer)
				via := traffic.Doer(carrier.Spec{}, "a")
				_ = calls(t, via, carrier.OpBuy, 5)
				s.status = 200
				_ = calls(t, via, op, 1) // too early to mean anything
				time.Sleep(time.Hour)
				if err := calls(t, via, carrier.OpBuy, 3); ship.KindOf(err) != ship.Unavailable || s.sent[carrier.OpBuy] != 5 {
					t.Fatalf("an hour later %d purchases were sent to try: %v", s.sent[carrier.OpBuy]-5, err)
				}
				s.status = 500
				_ = calls(t, via, op, 1)
				if err := calls(t, via, carrier.OpBuy, 1); ship.KindOf(err) != ship.Unavailable || s.sent[carrier.OpBuy] != 5 {
					t.Fatalf("a failed %s let a purchase pass: %v", op, err)
				}
				s.status = 200
				_ = calls(t, via, op, 1)
				if err := calls(t, via, carrier.OpBuy, 1); (err == nil) != closes {
					t.Errorf("after a good %s: %v", op, err)
				}
			})
		})
	}
}

func TestPurchasesThatFailAgainWaitLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{sent: map[carrier.Operation]int{}}
		via := over(s.answer).Doer(carrier.Spec{}, "a")
		for _, want := range []time.Duration{5, 10, 20} {
			s.status = 0
			if got := retryAfter(calls(t, via, carrier.OpBuy, 6)); got != want*time.Second {
				t.Errorf("the wait is %v, want %v", got, want*time.Second)
			}
			s.status = 200
			time.Sleep(want * time.Second)
			_ = calls(t, via, carrier.OpRates, 1)
		}
	})
}

func TestAProbeIsAskedForWhenNobodyElseCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{sent: map[carrier.Operation]int{}}
		var traffic *carrierkit.Traffic
		asked := 0
		traffic = over(s.answer, func(o *carrierkit.TrafficOptions) {
			o.Probe = func(name, connection string) {
				asked++
				_ = send(context.Background(), traffic.Doer(carrier.Spec{Name: name}, connection), carrier.OpCheck, time.Second)
			}
		})
		via := traffic.Doer(carrier.Spec{Name: "ups"}, "a")
		_ = calls(t, via, carrier.OpBuy, 8)
		if asked != 0 {
			t.Errorf("asked %d times before it was time", asked)
		}
		time.Sleep(5 * time.Second)
		for range 12 { // while the carrier hangs, over twelve seconds
			_ = calls(t, via, carrier.OpBuy, 10)
			time.Sleep(time.Second)
		}
		if asked < 2 || asked > 3 || s.sent[carrier.OpBuy] != 5 {
			t.Errorf("asked %d times in 12 s, %d purchases sent", asked, s.sent[carrier.OpBuy])
		}
		s.status = 200
		time.Sleep(5 * time.Second)
		_ = calls(t, via, carrier.OpBuy, 1)
		synctest.Wait()
		if err := calls(t, via, carrier.OpBuy, 1); err != nil {
			t.Errorf("after the probe: %v", err)
		}
	})
}

func TestACallerThatLeavesEarlySaysNothingOfTheCarrier(t *testing.T) {
	for name, tc := range map[string]struct {
		stays time.Duration
		want  string
	}{
		"early": {time.Second, "closed"},
		"late":  {6 * time.Second, "open"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				traffic := over(hangs)
				via := traffic.Doer(carrier.Spec{}, "a")
				for range 30 {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(tc.stays, cancel)
					_ = send(ctx, via, carrier.OpRates, time.Hour)
				}
				if got := stat(t, traffic, carrier.OpRates).Breaker; got != tc.want {
					t.Errorf("the breaker is %s, want %s", got, tc.want)
				}
			})
		})
	}
}

// A call that spent its time in our queues does not say anything about the
// carrier, either.
func TestACallThatHadNoTimeLeftIsNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := over(hangs)
		via := traffic.Doer(carrier.Spec{Quota: carrier.Quota{Calls: 360, Per: time.Hour, Burst: 1}}, "a")
		_ = send(t.Context(), via, carrier.OpFind, time.Millisecond)
		for range 10 {
			_ = send(t.Context(), via, carrier.OpFind, 10*time.Second+time.Millisecond)
		}
		if got := stat(t, traffic, carrier.OpFind); got.Breaker != "closed" || got.Sent != 11 {
			t.Errorf("after ten calls with a millisecond left: %+v", got)
		}
	})
}

func TestAProbeWhoseCallerLeavesIsMadeByTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{sent: map[carrier.Operation]int{}}
		via := over(s.answer).Doer(carrier.Spec{}, "a")
		_ = calls(t, via, carrier.OpRates, 5)
		time.Sleep(5 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_ = send(ctx, via, carrier.OpRates, time.Minute)
		s.status = 200
		if err := calls(t, via, carrier.OpRates, 1); err != nil || s.sent[carrier.OpRates] != 7 {
			t.Errorf("the next: %v, %d sent", err, s.sent[carrier.OpRates])
		}
	})
}

// A call that was sent before the breaker opened says nothing about the
// carrier's present state.
func TestLateAnswersNeitherCloseNorProlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := over(func(r *http.Request) (*http.Response, error) {
			wait, _ := strconv.Atoi(r.URL.Fragment)
			select {
			case <-time.After(time.Duration(wait) * time.Second):
				return says(200)
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})
		via := traffic.Doer(carrier.Spec{}, "a")
		begin := func(answersIn string, within time.Duration) {
			go func() {
				ctx, cancel := context.WithTimeout(carrier.WithOperation(t.Context(), carrier.OpRates), within)
				defer cancel()
				_ = carrierkit.Call{Method: "GET", URL: "http://carrier.test/#" + answersIn}.Do(ctx, via, nil)
			}()
		}
		for range 5 {
			begin("99", time.Second)
		}
		begin("3", time.Minute)
		begin("99", 4*time.Second)
		time.Sleep(4500 * time.Millisecond)
		if err := send(t.Context(), via, carrier.OpRates, time.Second); retryAfter(err) != 1500*time.Millisecond {
			t.Errorf("4.5 s later: %v, retry after %v; want 1.5 s", err, retryAfter(err))
		}
	})
}

func TestAnAnswerThatIsCutIsAFailureAndFreesItsSlot(t *testing.T) {
	traffic := over(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(cutOff{})}, nil
	})
	via := traffic.Doer(carrier.Spec{}, "a")
	if err := calls(t, via, carrier.OpFind, 20); ship.KindOf(err) != ship.Unavailable {
		t.Fatal(err)
	}
	if got := stat(t, traffic, carrier.OpFind); got.Breaker != "open" || got.InFlight != 0 {
		t.Errorf("after 20 cut answers: %+v", got)
	}
}

type cutOff struct{}

func (cutOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
