package carrierkit_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// issuer is a carrier that issues tokens, and notes who asked when.
type issuer struct {
	mu     sync.Mutex
	status int // of its answers; zero issues a token
	retry  string
	times  []time.Time
	who    []string
}

func (i *issuer) answer(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.times = append(i.times, time.Now())
	i.who = append(i.who, strings.TrimPrefix(r.URL.Path, "/"))

	response := &http.Response{StatusCode: i.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil))}
	if i.status == 0 {
		response.StatusCode = http.StatusOK
		response.Body = io.NopCloser(strings.NewReader(`{"token":"t"}`))
	}
	if i.retry != "" {
		response.Header.Set("Retry-After", i.retry)
	}
	return response, nil
}

func (i *issuer) set(status int, retry string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status = status
	i.retry = retry
}

func (i *issuer) requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.times)
}

// fetchBy returns the fetch of a connection.
func fetchBy(via carrier.Doer, name string) carrierkit.Fetch {
	return func(ctx context.Context) (string, time.Duration, error) {
		var answer struct{ Token string }
		call := carrierkit.Call{Method: http.MethodPost, URL: "https://carrier.example/" + name}
		err := call.Do(ctx, via, &answer)
		return answer.Token, time.Hour, err
	}
}

// doerOf returns the way of a connection of an account.
func doerOf(traffic *carrierkit.Traffic, account, connection string) carrier.Doer {
	return traffic.Doer(carrier.Spec{}, connection).(interface {
		OfAccount(account string) carrier.Doer
	}).OfAccount(account)
}

func TestRefusedCredentialsAreNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &issuer{status: 401}
		via := over(host.answer).Doer(carrier.Spec{}, "a")
		token := carrierkit.NewToken()
		for range 50 {
			_, err := token.Get(t.Context(), fetchBy(via, "a"))
			if ship.KindOf(err) != ship.Forbidden {
				t.Fatalf("err = %v, want forbidden", err)
			}
			time.Sleep(time.Hour)
		}
		if n := host.requests(); n != 1 {
			t.Errorf("%d requests with credentials that the carrier refused, want one", n)
		}

		// A check opens the connection anew.
		host.set(0, "")
		if _, err := carrierkit.NewToken().Get(t.Context(), fetchBy(via, "a")); err != nil {
			t.Errorf("after a check: %v", err)
		}
	})
}

func TestAnyOtherRefusalOfATokenIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &issuer{status: 404} // of a gateway that is being moved
		via := over(host.answer).Doer(carrier.Spec{}, "a")
		token := carrierkit.NewToken()
		if _, err := token.Get(t.Context(), fetchBy(via, "a")); ship.KindOf(err) != ship.Forbidden {
			t.Fatalf("err = %v, want forbidden", err)
		}
		host.set(0, "")
		time.Sleep(5 * time.Second)
		if _, err := token.Get(t.Context(), fetchBy(via, "a")); err != nil {
			t.Errorf("after 5 seconds: %v", err)
		}
	})
}

func TestTokenRequestsBackOffAfterFailures(t *testing.T) {
	for name, status := range map[string]int{"server error": 500, "rate limit": 429, "overloaded": 503} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := &issuer{status: status}
				via := over(host.answer, func(o *carrierkit.TrafficOptions) {
					o.Breaker.Calls = 1 << 30 // only the back-off of tokens is tested
				}).Doer(carrier.Spec{}, "a")
				token := carrierkit.NewToken()

				// Somebody needs a token ten times a second, for an hour.
				for range 36_000 {
					_, err := token.Get(t.Context(), fetchBy(via, "a"))
					if err == nil || ship.ErrorOf(err).RetryAfter > 10*time.Minute {
						t.Fatalf("err = %v", err)
					}
					time.Sleep(100 * time.Millisecond)
				}

				var waits []time.Duration
				for i := 1; i < len(host.times); i++ {
					waits = append(waits, host.times[i].Sub(host.times[i-1]).Round(time.Second))
				}
				want := []time.Duration{5, 10, 20, 40, 80, 160, 320, 600, 600, 600, 600}
				for i := range want {
					want[i] *= time.Second
				}
				if !slices.Equal(waits, want) {
					t.Errorf("the requests followed after %v, want %v", waits, want)
				}
			})
		})
	}
}

func TestATokenTimeOutBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		via := over(func(r *http.Request) (*http.Response, error) {
			sent++
			return hangs(r)
		}).Doer(carrier.Spec{}, "a")
		token := carrierkit.NewToken()
		began := time.Now()
		_, err := token.Get(t.Context(), fetchBy(via, "a"))
		if took := time.Since(began); ship.KindOf(err) != ship.Unavailable || took != 10*time.Second {
			t.Errorf("after %v: %v, want unavailable after 10s", took, err)
		}
		_, err = token.Get(t.Context(), fetchBy(via, "a"))
		if ship.KindOf(err) != ship.Unavailable || ship.ErrorOf(err).RetryAfter != 5*time.Second || sent != 1 {
			t.Errorf("%d requests: %v, want one and a retry after 5s", sent, err)
		}
	})
}

func TestAHostGetsTwoTokenRequestsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &issuer{}
		traffic := over(host.answer)
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				name := fmt.Sprint("c", i)
				via := doerOf(traffic, name, name)
				if _, err := carrierkit.NewToken().Get(t.Context(), fetchBy(via, name)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		all.Wait()

		for i := 2; i < len(host.times); i++ {
			if gap := host.times[i].Sub(host.times[i-2]); gap < time.Second {
				t.Fatalf("three requests within %v", gap)
			}
		}
		if len(host.times) != 60 || host.times[59].Sub(host.times[0]) != 29*time.Second {
			t.Errorf("%d requests in %v, want 60 in 29s", len(host.times), host.times[59].Sub(host.times[0]))
		}
	})
}

func TestAnAccountGetsAQuarterOfTheTokenRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := &issuer{}
		traffic := over(host.answer)
		var all sync.WaitGroup
		ask := func(account string, connection int) {
			all.Go(func() {
				name := fmt.Sprint(account, connection)
				via := doerOf(traffic, account, name)
				if _, err := carrierkit.NewToken().Get(t.Context(), fetchBy(via, account)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
		}
		for i := range 40 {
			ask("large", i)
		}
		synctest.Wait()
		for i := range 4 {
			for _, account := range []string{"b", "c", "d", "e"} {
				ask(account, i)
			}
		}
		all.Wait()

		// Until one of the other accounts has all of its tokens, four accounts wait
		// beside the large one. When fewer do, all of them have more than a quarter.
		last := len(host.who)
		for _, account := range []string{"b", "c", "d", "e"} {
			for i, who := range host.who[:last] {
				if who == account && !slices.Contains(host.who[i+1:], account) {
					last = i
				}
			}
		}
		large := 0
		for _, who := range host.who[2 : last+1] {
			if who == "large" {
				large++
			}
		}
		if large > (last-1+3)/4 {
			t.Errorf("the large account had %d of %d requests while others waited: %v", large, last-1, host.who[:last+1])
		}
	})
}

func TestAHostPausesOnlyWhenItSaysSo(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		retry  string
		pause  time.Duration
	}{
		"rate limit":                {429, "30", 30 * time.Second},
		"overloaded":                {503, "20", 20 * time.Second},
		"locked out":                {403, "600", 10 * time.Minute},
		"rate limit for an hour":    {429, "3600", 10 * time.Minute},
		"server error":              {500, "", 0},
		"credentials not accepted":  {401, "", 0},
		"not allowed without pause": {403, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := &issuer{status: tc.status, retry: tc.retry}
				traffic := over(host.answer)
				first := doerOf(traffic, "a", "a")
				if _, err := carrierkit.NewToken().Get(t.Context(), fetchBy(first, "a")); err == nil {
					t.Fatal("a token was issued")
				}

				host.set(0, "")
				began := time.Now()
				other := carrierkit.NewToken()
				via := doerOf(traffic, "b", "b")
				for {
					_, err := other.Get(t.Context(), fetchBy(via, "b"))
					if err == nil {
						break
					}
					if ship.KindOf(err) != ship.Limited || host.requests() != 1 {
						t.Fatalf("err = %v after %d requests", err, host.requests())
					}
					time.Sleep(time.Second)
				}
				if took := time.Since(began); took != tc.pause {
					t.Errorf("another account got its token after %v, want %v", took, tc.pause)
				}
			})
		})
	}
}

func TestLockedKeysPauseTheirHostOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := map[string]int{}
		traffic := over(func(r *http.Request) (*http.Response, error) {
			sent[r.URL.Path]++
			if r.URL.Path == "/locked" {
				return (&issuer{status: 403, retry: "600"}).answer(r)
			}
			return (&issuer{}).answer(r)
		})
		locked := carrierkit.NewToken()
		get := func(token *carrierkit.Token, name string) error {
			_, err := token.Get(t.Context(), fetchBy(doerOf(traffic, name, name), name))
			return err
		}

		failures := 0
		for i := range 240 {
			_ = get(locked, "locked")
			if get(carrierkit.NewToken(), fmt.Sprint("other", i)) != nil {
				failures++
			}
			time.Sleep(time.Minute)
		}
		if sent["/locked"] != 2 || failures != 10 {
			t.Errorf("locked keys were sent %d times, and %d minutes went by without tokens for others; want 2 and 10", sent["/locked"], failures)
		}
	})
}

func TestA401OfANewTokenIsNotBecauseOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c counter
		token := carrierkit.NewToken()
		for range 100 {
			_ = token.Use(t.Context(), c.fetch, func(string) error {
				return &ship.Error{Kind: ship.Forbidden, Err: carrierkit.Status(401)}
			})
		}
		if c.fetches != 2 {
			t.Errorf("%d tokens were fetched for calls that are not allowed, want 2", c.fetches)
		}
	})
}

func TestCallsNameTheProgram(t *testing.T) {
	var got []string
	via := over(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.Header.Get("User-Agent"))
		return says(200)
	}, func(o *carrierkit.TrafficOptions) { o.UserAgent = "Waybill/1.2.3" }).Doer(carrier.Spec{}, "a")
	for _, own := range []string{"", "Waybill (Language=Go)"} {
		call := carrierkit.Call{Method: http.MethodGet, URL: "https://carrier.example/"}
		if own != "" {
			call.Header = http.Header{"User-Agent": {own}}
		}
		if err := call.Do(t.Context(), via, nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"Waybill/1.2.3", "Waybill/1.2.3 (Language=Go)"}; !slices.Equal(got, want) {
		t.Errorf("the calls came from %q, want %q", got, want)
	}
}
