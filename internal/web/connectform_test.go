package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/carrier/usps"
	"github.com/waybillhq/waybill/internal/emulator"
	uspsemulator "github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/site"
)

// withUSPS connects the dashboard to a USPS emulator.
func (b *bench) withUSPS(change ...func(*carrier.Spec)) *carrierkit.Traffic {
	b.Helper()
	spec := usps.Spec
	for _, edit := range change {
		edit(&spec)
	}
	ledger, err := emulator.OpenLedger("")
	b.must(err)
	server := httptest.NewServer(uspsemulator.New(ledger))
	b.Cleanup(server.Close)
	box, err := seal.New([]byte("0123456789abcdef0123456789abcdef"))
	b.must(err)

	traffic := carrierkit.NewTraffic(carrierkit.TrafficOptions{})
	b.web.Account = account.NewWith(account.Config{
		Store:   b.store,
		Wrapper: box,
		Specs:   []carrier.Spec{spec},
		Via:     traffic.Doer,
		URLs:    map[string]string{"usps": server.URL},
		Log:     b.web.Log,
	})
	return traffic
}

func TestTypedCredentialsSurviveAnErrorAndAStepUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	traffic := b.withUSPS()
	b.web.Waits = func(id ship.ConnectionID) map[carrier.Operation]time.Duration { return traffic.Waits(string(id)) }
	filled := form("connection-name", "Main", "client_id", uspsemulator.ClientID, "client_secret", "wrong-secret-canary", "crid", uspsemulator.CRID,
		"mid", uspsemulator.MID, "manifest_mid", uspsemulator.ManifestMID, "account_number", uspsemulator.Account)

	// The carrier refuses the secret: the page says so and keeps all of it.
	w := b.send(member.Owner, b.home+"/connect/usps", filled)
	page := w.Body.String()
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(page, "Nothing was connected.") || strings.Contains(page, "canary") {
		t.Fatalf("%d %s", w.Code, page)
	}
	again := formOn(t, page, "connect")
	if again.Get("client_id") != uspsemulator.ClientID || again.Get("client_secret") != "" || again.Get(site.KeptSecret("client_secret")) == "" {
		t.Errorf("the form is shown with %v", again)
	}
	if again.Get("crid") == "" || again.Get("connection-name") != "Main" {
		t.Error("other fields are lost")
	}

	// If the secret is right and another field is wrong, the secret is kept.
	again.Set("client_secret", uspsemulator.ClientSecret)
	again.Set("mid", "12")
	page = b.send(member.Owner, b.home+"/connect/usps", again).Body.String()
	if strings.Contains(page, uspsemulator.ClientSecret) {
		t.Error("the secret stands readable in the page")
	}
	third := formOn(t, page, "connect")
	third.Set("mid", uspsemulator.MID)

	// Now the sign-in is also too old.
	b.stale()
	confirm := b.send(member.Owner, b.home+"/connect/usps", third)
	done := b.send(member.Owner, "/app/confirm", form("password", testPassword, "held", heldOn(t, confirm.Body.String())))
	if done.Code != http.StatusSeeOther || !strings.Contains(done.Header().Get("Location"), b.home+"/carriers/con_") {
		t.Fatalf("the account is not connected: %d", done.Code)
	}
}

func TestACarrierAccountSaysWhatIsLimitedAndUntilWhen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.withUSPS()
	c, _, err := b.web.Account.AddChecked(t.Context(), account.AddConnectionInput{
		Tenant:  ship.Tenant{Account: b.owner.ID},
		Carrier: "usps",
		Name:    "Main",
		Credentials: carrier.Credentials{
			"client_id": uspsemulator.ClientID, "client_secret": uspsemulator.ClientSecret, "crid": uspsemulator.CRID, "mid": uspsemulator.MID,
			"manifest_mid": uspsemulator.ManifestMID, "account_number": uspsemulator.Account,
		},
	})
	b.must(err)

	until := time.Now().Add(7 * time.Minute)
	for _, tc := range []struct {
		waits map[carrier.Operation]time.Duration
		want  string
	}{
		{map[carrier.Operation]time.Duration{carrier.OpRates: 7 * time.Minute}, "Rates limited until " + until.UTC().Format("15:04") + " UTC · labels and tracking work"},
		{map[carrier.Operation]time.Duration{carrier.OpRates: 6 * time.Minute, carrier.OpTrack: 7 * time.Minute}, "Rates and tracking limited until " + until.UTC().Format("15:04") + " UTC · labels work"},
		{map[carrier.Operation]time.Duration{carrier.OpTrack: 7 * time.Minute}, "Tracking limited until " + until.UTC().Format("15:04") + " UTC · rates and labels work"},
		{map[carrier.Operation]time.Duration{carrier.OpRates: time.Second}, ""},
		{nil, ""},
	} {
		b.web.Waits = func(ship.ConnectionID) map[carrier.Operation]time.Duration { return tc.waits }
		for _, path := range []string{b.home + "/carriers", b.home + "/carriers/" + string(c.ID)} {
			text := strings.Join(strings.Fields(withoutMarkup(b.send(member.Owner, path, nil).Body.String())), " ")
			if strings.Contains(text, "limited until") != (tc.want != "") || !strings.Contains(text, tc.want) {
				t.Errorf("%s with %v lacks %q: %s", path, tc.waits, tc.want, text)
			}

			// Tracking can wait; a carrier that cannot quote is not working.
			isLimited := tc.waits[carrier.OpRates] > time.Minute
			if strings.Contains(text, " Limited ") != isLimited {
				t.Errorf("%s with %v has another state: %s", path, tc.waits, text)
			}
		}

		needs := b.send(member.Owner, b.home+"/attention", nil).Body.String()
		if strings.Contains(needs, "USPS: limited until") != (tc.waits[carrier.OpRates] > time.Minute) {
			t.Errorf("with %v other things need attention: %s", tc.waits, needs)
		}
	}
}

func TestACarrierAccountShowsHowItsPurchasesAreLookedUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.withUSPS()
	tenant := ship.Tenant{Account: b.owner.ID}
	c, _, err := b.web.Account.AddChecked(t.Context(), account.AddConnectionInput{
		Tenant:  tenant,
		Carrier: "usps",
		Name:    "Main",
		Credentials: carrier.Credentials{
			"client_id": uspsemulator.ClientID, "client_secret": uspsemulator.ClientSecret, "crid": uspsemulator.CRID, "mid": uspsemulator.MID,
			"manifest_mid": uspsemulator.ManifestMID, "account_number": uspsemulator.Account,
		},
	})
	b.must(err)

	text := func(path string) string {
		return strings.Join(strings.Fields(withoutMarkup(b.send(member.Owner, path, nil).Body.String())), " ")
	}
	list, page := b.home+"/carriers", b.home+"/carriers/"+string(c.ID)
	if got := text(page); !strings.Contains(got, "1 minute Default of USPS") || !strings.Contains(got, "Last control None yet") {
		t.Errorf("before any look-up: %s", got)
	}

	shipment := ship.NewShipmentID(tenant.Shard(), time.Now())
	b.must(b.store.RaiseDelay(t.Context(), tenant, c.ID, 90*time.Minute, shipment))
	b.must(b.store.MeasureDelay(t.Context(), tenant, c.ID, 40*time.Second))
	b.must(b.store.RecordControl(t.Context(), tenant, c.ID, shipment, false))
	got := text(page)
	for _, want := range []string{"1 hour 30 minutes Raised", "40 seconds", "Not found", "Failing since"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q: %s", want, got)
		}
	}
	if !strings.Contains(text(list), "Look-up failing") {
		t.Error("the list does not say that the look-up fails")
	}

	b.must(b.store.RecordControl(t.Context(), tenant, c.ID, shipment, true))
	if got := text(page); strings.Contains(got, "Failing since") || strings.Contains(text(list), "Look-up failing") {
		t.Errorf("after a control was found: %s", got)
	}
}

func TestACarrierAccountShowsWhatIsOff(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.withUSPS(func(spec *carrier.Spec) {
		spec.Unconfirmed = []carrier.Ability{carrier.AbilityVoid, carrier.AbilityFind}
	})
	tenant := ship.Tenant{Account: b.owner.ID, Livemode: true}
	c, err := b.web.Account.AddConnection(t.Context(), account.AddConnectionInput{
		Tenant:  tenant,
		Carrier: "usps",
		Name:    "Main",
		Credentials: carrier.Credentials{
			"client_id": uspsemulator.ClientID, "client_secret": uspsemulator.ClientSecret, "crid": uspsemulator.CRID, "mid": uspsemulator.MID,
			"manifest_mid": uspsemulator.ManifestMID, "account_number": uspsemulator.Account,
		},
	})
	b.must(err)

	text := func(path string) string {
		return strings.Join(strings.Fields(withoutMarkup(b.send(member.Owner, path, nil).Body.String())), " ")
	}
	list := b.liveHome + "/carriers"
	page := list + "/" + string(c.ID)
	got := text(page)
	for _, want := range []string{
		"Off until confirmed",
		"Voiding labels Voids are refused before they are sent.",
		"or by a look-up that finds a purchase of the connection.",
		"waybill connection certify " + string(c.ID) + " --live --out DIR",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q: %s", want, got)
		}
	}
	if !strings.Contains(text(list), "Not confirmed") {
		t.Errorf("the list does not say that something is off: %s", text(list))
	}

	b.must(b.store.ConfirmAbility(t.Context(), tenant, c.ID, "void"))
	b.must(b.store.ConfirmAbility(t.Context(), tenant, c.ID, "find"))
	if strings.Contains(text(page), "Off until confirmed") || strings.Contains(text(list), "Not confirmed") {
		t.Errorf("after it was confirmed: %s", text(page))
	}
}
