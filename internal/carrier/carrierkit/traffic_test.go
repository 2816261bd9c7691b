package carrierkit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// network stands in for the wire where only time matters.
type network func(*http.Request) (*http.Response, error)

func (n network) RoundTrip(r *http.Request) (*http.Response, error) { return n(r) }

// over returns traffic that goes to n, with the default limits except for the
// given ones.
func over(n network, change ...func(*carrierkit.TrafficOptions)) *carrierkit.Traffic {
	o := carrierkit.DefaultTrafficOptions()
	o.Wrap = func(http.RoundTripper) http.RoundTripper { return n }
	for _, c := range change {
		c(&o)
	}
	return carrierkit.NewTraffic(o)
}

// says builds a response of the carrier.
func says(status int, header ...string) (*http.Response, error) {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// hangs never answers.
func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// send makes one call of the operation in at most the given time.
func send(ctx context.Context, via carrier.Doer, op carrier.Operation, within time.Duration) error {
	ctx, cancel := context.WithTimeout(carrier.WithOperation(ctx, op), within)
	defer cancel()
	return carrierkit.Call{
		Method: "POST", URL: "http://carrier.test/", Body: 1, Effect: op == carrier.OpBuy || op == carrier.OpVoid,
	}.Do(ctx, via, nil)
}

func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		return e.RetryAfter
	}
	return -1
}

// stat returns the state of one operation of the only connection.
func stat(t *testing.T, traffic *carrierkit.Traffic, op carrier.Operation) carrierkit.Stat {
	t.Helper()
	for _, s := range traffic.Stats() {
		if s.Operation == op {
			return s
		}
	}
	t.Fatalf("%q is not in %+v", op, traffic.Stats())
	return carrierkit.Stat{}
}

func TestA429StopsTheWholeConnectionUntilItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		traffic := over(func(*http.Request) (*http.Response, error) {
			if sent++; sent == 1 {
				return says(429, "Retry-After", "90")
			}
			return says(200)
		})
		mine, other := traffic.Doer(carrier.Spec{Name: "ups"}, "a"), traffic.Doer(carrier.Spec{Name: "ups"}, "b")
		if err := send(t.Context(), mine, carrier.OpTrack, time.Second); ship.KindOf(err) != ship.Limited {
			t.Fatalf("the 429 itself: %v", err)
		}
		time.Sleep(30 * time.Second)
		for _, op := range []carrier.Operation{carrier.OpBuy, carrier.OpFind, carrier.OpVoid, carrier.OpRates, carrier.OpTrack, ""} {
			if err := send(t.Context(), mine, op, time.Hour); ship.KindOf(err) != ship.Limited || retryAfter(err) != time.Minute {
				t.Errorf("%q in the pause: %v after %v; want limited for a minute more", op, err, retryAfter(err))
			}
		}
		if sent != 1 {
			t.Errorf("%d calls were sent in the pause", sent-1)
		}
		if err := send(t.Context(), other, carrier.OpBuy, time.Second); err != nil {
			t.Errorf("another connection: %v", err)
		}
		time.Sleep(time.Minute)
		if err := send(t.Context(), mine, carrier.OpBuy, time.Second); err != nil {
			t.Errorf("after the pause: %v", err)
		}
	})
}

func TestA503StopsOnlyItsOperationSoThatAPurchaseCanBeLookedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := over(func(r *http.Request) (*http.Response, error) {
			if carrier.OperationOf(r.Context()) == carrier.OpBuy {
				return says(503, "Retry-After", "60")
			}
			return says(200)
		})
		via := traffic.Doer(carrier.Spec{Name: "ups"}, "a")
		if err := send(t.Context(), via, carrier.OpBuy, time.Second); ship.KindOf(err) != ship.Uncertain {
			t.Fatalf("the 503 itself: %v", err)
		}
		err := send(t.Context(), via, carrier.OpBuy, time.Second)
		if ship.KindOf(err) != ship.Unavailable || retryAfter(err) != time.Minute || stat(t, traffic, carrier.OpBuy).Sent != 1 {
			t.Errorf("a purchase in the pause: %v, %+v", err, stat(t, traffic, carrier.OpBuy))
		}
		if err := send(t.Context(), via, carrier.OpFind, time.Second); err != nil {
			t.Errorf("a look-up in the pause: %v", err)
		}
	})
}

func TestNoCarrierHoldsUsOffForMoreThanAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		via := over(func(*http.Request) (*http.Response, error) { return says(429, "Retry-After", "86400") }).Doer(carrier.Spec{}, "a")
		_ = send(t.Context(), via, carrier.OpRates, time.Second)
		if err := send(t.Context(), via, carrier.OpRates, time.Second); retryAfter(err) != time.Hour {
			t.Errorf("held off for %v", retryAfter(err))
		}
	})
}

func TestACallWithoutTimeLeftIsNotSent(t *testing.T) {
	var sent atomic.Int32
	traffic := over(func(*http.Request) (*http.Response, error) { sent.Add(1); return says(200) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := send(ctx, traffic.Doer(carrier.Spec{}, "a"), carrier.OpBuy, time.Second)
	if ship.KindOf(err) != ship.Unavailable || sent.Load() != 0 {
		t.Errorf("err = %v after %d sent; want unavailable, not uncertain", err, sent.Load())
	}
}

func TestARequestThatIsNotSentHasItsBodyClosed(t *testing.T) {
	traffic := over(func(*http.Request) (*http.Response, error) { return says(429, "Retry-After", "60") })
	via := traffic.Doer(carrier.Spec{}, "a")
	_ = send(t.Context(), via, carrier.OpRates, time.Second)
	closed := make(chan struct{})
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://carrier.test/", body{closed})
	if resp, err := via.Do(req); err == nil {
		resp.Body.Close()
		t.Error("the request was sent")
	}
	select {
	case <-closed:
	default:
		t.Error("the body is still open")
	}
}

type body struct{ closed chan struct{} }

func (body) Read([]byte) (int, error) { return 0, io.EOF }
func (b body) Close() error           { close(b.closed); return nil }

func TestDoersAreCachedPerCarrierAndConnection(t *testing.T) {
	traffic := carrierkit.NewTraffic(carrierkit.TrafficOptions{})
	ups := carrier.Spec{Name: "ups"}
	if traffic.Doer(ups, "a") != traffic.Doer(ups, "a") {
		t.Error("one connection has two Doers, and so two paces")
	}
	if traffic.Doer(ups, "a") == traffic.Doer(ups, "b") || traffic.Doer(ups, "a") == traffic.Doer(carrier.Spec{Name: "usps"}, "a") {
		t.Error("two connections have one Doer")
	}
}

func TestStatsTellWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traffic := over(hangs, func(o *carrierkit.TrafficOptions) { o.Tracks = 2 })
		via := traffic.Doer(carrier.Spec{Name: "ups", Quota: carrier.Quota{Calls: 100, Per: time.Hour}}, "a")
		for i := range 3 {
			go func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				_ = send(t.Context(), via, carrier.OpTrack, time.Minute-time.Duration(i)*time.Second)
			}()
		}
		go func() { _ = send(t.Context(), via, carrier.OpBuy, time.Minute) }()
		time.Sleep(time.Second)
		want := carrierkit.Stat{
			Carrier: "ups", Connection: "a", Operation: carrier.OpTrack, Breaker: "closed", InFlight: 2, Waiting: 1, QuotaLeft: 96, Sent: 2,
		}
		if got := stat(t, traffic, carrier.OpTrack); got != want {
			t.Errorf("stats = %+v\nwant    %+v", got, want)
		}
		time.Sleep(2 * time.Minute)
		want.InFlight, want.Waiting, want.QuotaLeft, want.Shed = 0, 0, 97, 1
		if got := stat(t, traffic, carrier.OpTrack); got != want {
			t.Errorf("afterwards %+v\nwant       %+v", got, want)
		}
	})
}
