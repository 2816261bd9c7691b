package api

import (
	"crypto/sha256"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// keyOf makes a key as in.
func (c *contract) keyOf(in account.NewKeyInput) (string, account.APIKey) {
	c.Helper()
	in.Account = c.owner
	key, made, err := c.account.NewKey(c.Context(), in)
	if err != nil {
		c.Fatal(err)
	}
	return string(key), made
}

func TestContractThePrefixOfAKeyDecidesTheMode(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	live := c.newKey(true)
	if !strings.HasPrefix(c.key, "sk_test_") || !strings.HasPrefix(live, "sk_live_") {
		t.Errorf("keys begin %.8s and %.8s", c.key, live)
	}
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody)
	if sh["livemode"] != false || sh["simulated"] != true {
		t.Errorf("livemode %v, simulated %v", sh["livemode"], sh["simulated"])
	}
	c.as("sk_live_"+c.key[8:]).do(http.StatusUnauthorized, "GET", "/v1/shipments", "")
	if list, _ := c.as(live).do(http.StatusOK, "GET", "/v1/shipments", ""); len(list["data"].([]any)) != 0 {
		t.Errorf("live mode shows %v", list["data"])
	}
}

func TestContractALiveKeyNeedsAnOriginAndACarrier(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	live := c.as(c.newKey(true))
	origin := `"origin":{"name":"Shop","address1":"1 Market Street","city":"San Francisco","state":"CA","zip":"94105","country":"US"}`
	if p, _ := live.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", specBody); p["code"] != "origin_required" {
		t.Errorf("without an origin: %v", p)
	}
	if p, _ := live.do(http.StatusUnprocessableEntity, "POST", "/v1/shipments", to("Ada", origin)); p["code"] != "no_carrier" {
		t.Errorf("without a carrier: %v", p)
	}
	if list, _ := live.do(http.StatusOK, "GET", "/v1/carriers", ""); len(list["data"].([]any)) != 0 {
		t.Errorf("live carriers: %v", list)
	}
}

func TestContractAKeyEndsByExpiryAndRevocation(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	expired, _ := c.keyOf(account.NewKeyInput{Name: "expired", ExpiresAt: time.Now().Add(-time.Minute)})
	lasting, _ := c.keyOf(account.NewKeyInput{Name: "lasting", ExpiresAt: time.Now().Add(time.Hour)})
	revoked, made := c.keyOf(account.NewKeyInput{Name: "revoked"})
	if err := c.account.Revoke(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	stranger := ship.NewKey(3, false)
	for _, key := range []string{expired, revoked, string(stranger), "sk_test_x", "x"} {
		p, w := c.as(key).do(http.StatusUnauthorized, "GET", "/v1/carriers", "")
		if p["code"] != "invalid_api_key" || w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%v %v", p, w.Header())
		}
	}
	c.as(lasting).do(http.StatusOK, "GET", "/v1/carriers", "")
}

func TestContractAKeyIsUsedFromItsNetworksAlone(t *testing.T) {
	t.Parallel()
	c := newContract(t, func(w *wiring) { w.api.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }).opened()
	key, _ := c.keyOf(account.NewKeyInput{Networks: []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}})
	fenced := c.as(key) // requests come from the proxy 192.0.2.1
	for _, forwarded := range []string{"198.51.100.7", "203.0.113.9, 198.51.100.7"} {
		if p, _ := fenced.do(http.StatusForbidden, "GET", "/v1/carriers", "", "X-Forwarded-For: "+forwarded); p["code"] != "ip_not_allowed" {
			t.Errorf("from %s: %v", forwarded, p)
		}
	}
	fenced.do(http.StatusOK, "GET", "/v1/carriers", "", "X-Forwarded-For: 203.0.113.9")
}

func TestContractAKeyIsStoredAsItsHashAndKnownByItsLastUse(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	key, made := c.keyOf(account.NewKeyInput{Name: "web", Scopes: []string{"carriers"}})
	c.as(key).do(http.StatusOK, "GET", "/v1/carriers", "")
	if p, _ := c.as(key).do(http.StatusForbidden, "GET", "/v1/shipments", ""); p["code"] != "insufficient_scope" {
		t.Errorf("beyond its scope: %v", p)
	}
	if err := c.account.RecordUse(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := c.account.Keys(t.Context(), c.owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		if k.ID == made.ID && (k.Name != "web" || k.LastUsedAt.IsZero() || len(k.Scopes) != 1) {
			t.Errorf("key %+v", k)
		}
	}
	hash := sha256.Sum256([]byte(key))
	var n int
	row := storetest.Conn(t, c.url).QueryRow(t.Context(), "SELECT count(*) FROM api_keys k WHERE key_hash = $1 AND k::text NOT LIKE '%' || $2 || '%'", hash[:], key)
	if err := row.Scan(&n); err != nil || n != 1 {
		t.Errorf("%d rows have the hash and not the key, %v", n, err)
	}
}

func TestContractIdsAndKeysCarryTheAccountsShard(t *testing.T) {
	t.Parallel()
	c := newContract(t).opened()
	shard := c.owner.Raw().Shard()
	key, ok := ship.ParseKey(c.key)
	if !ok || key.Shard() != shard {
		t.Errorf("the key is of shard %d, the account of %d", key.Shard(), shard)
	}
	sh, _ := c.do(http.StatusCreated, "POST", "/v1/shipments", specBody)
	tr, _ := c.do(http.StatusCreated, "POST", "/v1/trackers", `{"trackingNumber":"1Z5R89390357567127"}`)
	shipment, _ := ship.ParseShipmentID(sh["id"].(string))
	tracker, _ := ship.ParseTrackerID(tr["id"].(string))
	event, _ := ship.ParseShipmentID("shp_" + c.log(1)[0]["id"].(string)[4:]) // all ids are written alike
	for what, raw := range map[string]ship.RawID{"shipment": shipment.Raw(), "tracker": tracker.Raw(), "event": event.Raw()} {
		if raw.Shard() != shard || time.Since(raw.Time()).Abs() > time.Minute {
			t.Errorf("the %s is of shard %d and %s old", what, raw.Shard(), time.Since(raw.Time()))
		}
	}
}
