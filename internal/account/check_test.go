package account_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// check checks a connection and returns its findings by subject.
func (b *bench) check(t *testing.T, live bool, id ship.ConnectionID) map[string]account.Finding {
	t.Helper()
	list, err := b.CheckConnection(t.Context(), b.tenant(live), id)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]account.Finding{}
	for _, f := range list {
		if f.Level != account.LevelOK && f.Advice == "" && f.Subject != "connection" {
			t.Errorf("no advice with %+v", f)
		}
		if strings.Contains(f.Message+f.Advice, "canary") {
			t.Errorf("a secret is shown: %+v", f)
		}
		found[f.Subject] = f
	}
	return found
}

func TestAHealthyConnectionPassesTheCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.connect(t, true, "")
	found := b.check(t, true, c.ID)
	for _, subject := range []string{"credentials", "network", "clock", "token", "rates", "labels", "tracking", "addresses"} {
		if found[subject].Level != account.LevelOK {
			t.Errorf("%s: %+v", subject, found[subject])
		}
	}
	list, err := b.Connections(t.Context(), b.tenant(true))
	if err != nil || list[0].CheckedAt.IsZero() || len(list[0].Findings) != len(found) {
		t.Errorf("the result is not kept: %+v, %v", list, err)
	}
}

func TestACheckOpensTheConnectionAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.connect(t, false, "Main").ID
	opened := func() *carrier.Carrier {
		c, err := b.Carrier(t.Context(), b.tenant(false), id)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}

	before := opened()
	if opened() != before {
		t.Error("the connection is opened for each use; a token that was refused would be requested again")
	}
	b.check(t, false, id)
	after := opened()
	if after == before {
		t.Error("after a check the connection still knows that its credentials were refused")
	}
	if opened() != after {
		t.Error("after a check the connection is opened for each use")
	}
}

func TestACheckSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		live    bool
		spoil   func(*bench)
		subject string
		level   account.Level
		says    string
		advice  string
	}{
		"the key is wrong":               {false, func(b *bench) { b.test.key = "other" }, "token", account.LevelFail, "BAD.KEY", "Account number, API key"},
		"a live connection of the other": {true, func(b *bench) { b.live.key, b.test.key = "other", "canary-live-key" }, "mode", account.LevelFail, "is live", "without --live"},
		"a test connection of the other": {false, func(b *bench) { b.test.key, b.live.key = "other", "canary-test-key" }, "mode", account.LevelFail, "is for tests", "with --live"},
		"the account is another's":       {true, func(b *bench) { b.live.number = "A2" }, "account", account.LevelFail, "ACCOUNT.NUMBER.MISMATCH", "compare it"},
		"the account is told at sign-in": {true, func(b *bench) { b.live.refuse["/api/check"] = `{"code":"1","message":"Invalid Shipper Number"}` }, "account", account.LevelFail, "Shipper", "compare it"},
		"rates are not allowed":          {true, func(b *bench) { b.live.refuse["/api/rates"] = "{}" }, "rates", account.LevelFail, "does not allow", "product for rates"},
		"labels are not allowed":         {true, func(b *bench) { b.live.refuse["/api/rehearse"] = "{}" }, "labels", account.LevelFail, "does not allow", "product for labels"},
		"the account may not buy": {true, func(b *bench) {
			b.live.refuse["/api/rehearse"] = `{"code":"1","message":"The billing number is not yours"}`
		}, "account", account.LevelFail, "billing number", "compare it"},
		"addresses are not allowed": {true, func(b *bench) { b.live.refuse["/api/address"] = "{}" }, "addresses", account.LevelWarn, "does not allow", "product for addresses"},
		"tracking is not allowed":   {true, func(b *bench) { b.live.refuse["/api/track"] = "{}" }, "tracking", account.LevelFail, "does not allow", "product for tracking"},
		"our clock is behind":       {true, func(b *bench) { b.live.skew = 5 * time.Minute }, "clock", account.LevelWarn, " behind", "NTP"},
		"our clock is ahead":        {true, func(b *bench) { b.live.skew = -2 * time.Minute }, "clock", account.LevelWarn, " ahead", "NTP"},
		"nobody listens":            {true, func(b *bench) { b.live.Close() }, "network", account.LevelFail, "no connection", "firewall"},
		"the answer is cut off":     {true, func(b *bench) { b.live.Config.Handler = cut{} }, "network", account.LevelFail, "without a response", "proxy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c := b.connect(t, tc.live, "")
			tc.spoil(b)
			got := b.check(t, tc.live, c.ID)[tc.subject]
			if got.Level != tc.level || !strings.Contains(got.Message, tc.says) || !strings.Contains(got.Advice, tc.advice) {
				t.Errorf("%+v, want %s %q -> %q", got, tc.level, tc.says, tc.advice)
			}
		})
	}
}

// cut ends every connection.
type cut struct{}

func (cut) ServeHTTP(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestACheckTellsTheStepsOfTheWayApart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.connect(t, false, "")
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for address, want := range map[string]string{
		"https://carrier.invalid": "cannot be resolved",
		secure.URL:                "is not trusted",
		strings.Replace(b.test.URL, "http://", "https://", 1): "does not speak TLS",
	} {
		config := b.config
		config.URLs = map[string]string{"acme": address}
		there := &bench{Service: account.NewWith(config), account: b.account}
		if got := there.check(t, false, c.ID)["network"]; got.Level != account.LevelFail || !strings.Contains(got.Message, want) {
			t.Errorf("%s: %+v", address, got)
		}
	}
}

func TestRatesAreNotTriedWithoutAnOrigin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var err error
	if b.account, err = b.Create(t.Context(), account.Settings{Name: new("New")}); err != nil {
		t.Fatal(err)
	}
	if got := b.check(t, true, b.connect(t, true, "").ID)["rates"]; got.Level != account.LevelWarn || !strings.Contains(got.Advice, "--origin") {
		t.Errorf("%+v", got)
	}
	if got := b.check(t, false, b.connect(t, false, "").ID)["rates"]; got.Level != account.LevelOK { // from the sample warehouse
		t.Errorf("%+v", got)
	}
}

func TestTheOperatorMovesACarrierElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.connect(t, true, "")
	for suffix, path := range map[string]string{"": "/api/check", "/": "/check", "/ups/": "/ups/check"} {
		side := newSide(t, "canary-live-key")
		config := b.config
		config.URLs = map[string]string{"acme": side.URL + suffix}
		opened, err := account.NewWith(config).Carrier(t.Context(), b.tenant(true), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if err := opened.Check(t.Context()); err != nil || side.count(path) != 1 {
			t.Errorf("%q: %v, not called at %s", suffix, err, path)
		}
	}
	if b.live.count("/api/check") != 0 {
		t.Error("the carrier itself is called")
	}
}

func TestACarrierThatThisProgramDoesNotKnowIsReported(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.connect(t, false, "")
	config := b.config
	config.Specs = []carrier.Spec{{Name: "other"}}
	there := &bench{Service: account.NewWith(config), account: b.account}
	if got := there.check(t, false, c.ID)["carrier"]; got.Level != account.LevelFail {
		t.Errorf("%+v", got)
	}
	if list, err := there.Carriers(t.Context(), b.tenant(false)); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
