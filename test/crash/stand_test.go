//go:build chaos

package crash

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
)

// A maker makes the stand-in of a carrier.
type maker struct {
	name  string
	open  func(*emulator.Ledger) *emulator.Server
	given carrier.Credentials
	// Where what is asked for: the method and the beginning of the path.
	buys, voids, rates string
}

var makers = []maker{
	{
		"ups", ups.New,
		carrier.Credentials{"client_id": ups.ClientID, "client_secret": ups.ClientSecret, "account_number": ups.Account},
		"POST /api/shipments/v2409/ship", "DELETE /api/shipments/v2409/void/", "POST /api/rating/",
	},
	{"fedex", fedex.New, carrier.Credentials{
		"client_id": fedex.ClientID, "client_secret": fedex.ClientSecret, "account_number": fedex.Account,
		"track_client_id": fedex.TrackClientID, "track_client_secret": fedex.TrackClientSecret,
	}, "POST /ship/v1/shipments", "PUT /ship/v1/shipments/cancel", "POST /rate/"},
	{
		"dhl_express", dhlexpress.New,
		carrier.Credentials{"api_key": dhlexpress.APIKey, "api_secret": dhlexpress.APISecret, "account_number": dhlexpress.Account},
		"POST /mydhlapi/shipments", "none", "POST /mydhlapi/rates",
	},
	{"usps", usps.New, carrier.Credentials{
		"client_id": usps.ClientID, "client_secret": usps.ClientSecret, "crid": usps.CRID, "mid": usps.MID, "manifest_mid": usps.ManifestMID, "account_number": usps.Account,
	}, "POST /labels/v3/label", "DELETE /labels/v3/label", "POST /shipments/v3/options/search"},
}

func makerOf(name string) maker {
	return makers[slices.IndexFunc(makers, func(m maker) bool { return m.name == name })]
}

// A stand is a carrier that misbehaves once: at the first purchase, and at the
// first void. From then on it is healthy.
type stand struct {
	maker
	*emulator.Server
	http *httptest.Server

	mu     sync.Mutex
	buy    *emulator.Faults // at the first purchase
	void   *emulator.Faults // at the first void
	cheap  bool             // it quotes half of what it charges
	silent bool             // after the first purchase it answers nothing else, until heal
	asked  bool             // for a purchase, a pickup, a manifest or a document
	hand   *emulator.Faults // at the first of these after arm
	armed  bool             // the next call that does something is one of these

	controls map[string]bool // numbers of labels that were sold before
}

func newStand(b *bench, s scenario) *stand {
	m := makerOf(s.carrier)
	ledger, err := b.openLedger(s.carrier)
	if err != nil {
		b.t.Fatal(err)
	}
	c := &stand{maker: m, Server: m.open(ledger), buy: s.outcome.faults(), cheap: s.overLimit, silent: s.review}
	if b.hasControl() {
		c.controls = b.controls.numbers
	}
	c.LookupScale = b.lookupScale
	if c.name == "fedex" {
		// The service has to assume a day, because nobody has measured it.
		c.LookupDelay = time.Hour
	}
	if s.voidFault != "" {
		c.void = &emulator.Faults{Void: map[string]float64{s.voidFault: 1}}
	}
	c.http = httptest.NewServer(http.HandlerFunc(c.serve))
	return c
}

// openLedger returns the ledger of a carrier, with the controls in it.
func (b *bench) openLedger(carrier string) (*emulator.Ledger, error) {
	kept := b.controls.ledgers[carrier]
	if kept == "" || !b.hasControl() {
		return emulator.OpenLedger("")
	}
	text, err := os.ReadFile(kept)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(b.dir, carrier+".jsonl")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	return emulator.OpenLedger(file)
}

// address is what the service is told to call.
func (c *stand) address() string {
	i := slices.IndexFunc(all.Specs, func(s carrier.Spec) bool { return s.Name == c.name })
	own, err := url.Parse(all.Specs[i].LiveURL)
	if err != nil {
		panic(err)
	}
	return c.http.URL + own.Path
}

func (c *stand) close() {
	c.http.CloseClientConnections()
	c.http.Close()
}

// arm has the carrier misbehave at the next pickup, manifest or document.
func (c *stand) arm(h handing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed, c.asked, c.silent = true, false, h.silent
	switch h.fault {
	case "":
	case "stall":
		c.hand = &emulator.Faults{Stall: 1}
	default:
		c.hand = &emulator.Faults{Day: map[string]float64{h.fault: 1}}
	}
}

// wasAsked reports whether the armed call has come.
func (c *stand) wasAsked() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked
}

// heal ends all misbehaviour.
func (c *stand) heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.buy, c.void, c.hand, c.silent = nil, nil, nil, false
}

func (c *stand) serve(w http.ResponseWriter, r *http.Request) {
	call := r.Method + " " + r.URL.Path
	faults, down := c.next(call)
	switch {
	case down:
		c.Fail(w, http.StatusServiceUnavailable)
	case faults != nil:
		_ = c.Turn(*faults) // they are fixed, and right
		defer func() { _ = c.Turn(emulator.Faults{}) }()
		c.ServeHTTP(w, r)
	case c.cheap && strings.HasPrefix(call, c.rates):
		c.halve(w, r)
	default:
		c.ServeHTTP(w, r)
	}
}

// handingCalls are the calls that book a pickup, close a manifest or send a document; at
// UPS that which attaches it, because what is only uploaded has no effect.
var handingCalls = regexp.MustCompile(`^(POST|PUT|DELETE) .*(pickup|scan-form|endofday|paperlessdocuments/v2/image|/documents/)`)

// next is how the next call is answered.
func (c *stand) next(call string) (faults *emulator.Faults, down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.armed && handingCalls.MatchString(call):
		c.asked, c.armed = true, false
		faults, c.hand = c.hand, nil
	case strings.HasPrefix(call, c.voids):
		faults, c.void = c.void, nil
	case strings.HasPrefix(call, c.buys):
		c.asked = true
		faults, c.buy = c.buy, nil
	default:
		down = c.silent && c.asked
	}
	return faults, down
}

// prices are the fields of rates that tell a price, of all carriers.
var prices = []string{"MonetaryValue", "totalNetCharge", "totalBaseCharge", "totalNetFedExCharge", "price", "totalBasePrice", "totalPrice"}

// halve answers rates with half the price.
func (c *stand) halve(w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, r)

	// FedEx compresses whether or not the client asks for it.
	var plain io.Reader = answer.Body
	if answer.Header().Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(plain)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		plain = unpacked
	}

	var body any
	dec := json.NewDecoder(plain)
	dec.UseNumber()
	if err := dec.Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var out bytes.Buffer
	_ = json.NewEncoder(&out).Encode(halved(body))
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(out.Bytes())
}

func halved(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = halved(v[i])
		}
	case map[string]any:
		for name, inner := range v {
			v[name] = halved(inner)
			if !slices.Contains(prices, name) {
				continue
			}
			switch p := inner.(type) {
			case string:
				v[name] = half(p)
			case json.Number:
				v[name] = json.Number(half(p.String()))
			}
		}
	}
	return v
}

func half(amount string) string {
	f, err := strconv.ParseFloat(amount, 64)
	if err != nil {
		return amount
	}
	return strconv.FormatFloat(f/2, 'f', 2, 64)
}

// sale is a label that the carrier sold, as its ledger tells.
type sale struct {
	number string
	live   bool
}

func (c *stand) sales() (list []sale) {
	for _, e := range c.Ledger.Entries() {
		if c.controls[e.Number] {
			continue
		}
		if e.Kind == "sold" {
			list = append(list, sale{e.Number, true})
			continue
		}
		for i := range list {
			if list[i].number == e.Number {
				list[i].live = false
			}
		}
	}
	return list
}
