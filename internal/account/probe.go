package account

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// clockDrift is how far the carrier's clock may be from ours: tokens and
// signatures live by it.
const clockDrift = 60 * time.Second

// watch is the way of a check. It notes how the first answer came, or why
// none did.
type watch struct {
	via carrier.Doer

	mu   sync.Mutex
	took time.Duration // until the first answer
	date time.Time     // of the carrier's clock, if it told
	mid  time.Time     // of ours, halfway between request and answer
	err  error         // the last failure, until there is an answer
}

func (w *watch) Do(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := w.via.Do(req)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.took > 0:
	case err != nil:
		w.err = err
	default:
		w.took, w.err = max(time.Since(began), 1), nil
		w.mid = began.Add(w.took / 2)
		if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
			w.date = at
		}
	}
	return resp, err
}

// network judges the way that the first call took, and compares the clocks.
func (c *checkup) network(w *watch) bool {
	host := c.base
	if u, err := url.Parse(c.base); err == nil {
		host = u.Host
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		c.add(unreached(host, w.err))
		return false
	}
	if w.took > 0 {
		c.add(found("network", fmt.Sprintf("%s answers in %s", host, w.took.Round(time.Millisecond))))
	}
	if !w.date.IsZero() {
		c.add(clock(w.date.Sub(w.mid)))
	}
	return true
}

// clock judges how far the carrier's clock is ahead. It is told in seconds.
func clock(ahead time.Duration) Finding {
	off := ahead.Abs().Round(time.Second)
	switch {
	case off <= clockDrift:
		return found("clock", "agrees with the carrier's")
	case ahead < 0:
		return doubt("clock", fmt.Sprintf("this host's is %s ahead of the carrier's", off), "have this host keep time by NTP: carriers refuse tokens of the future")
	}
	return doubt("clock", fmt.Sprintf("this host's is %s behind the carrier's", off), "have this host keep time by NTP: tokens seem valid here after they have ended")
}

// unreached says at which step the way to the carrier ends.
func unreached(host string, err error) Finding {
	name, _, splitErr := net.SplitHostPort(host)
	if splitErr != nil {
		name = host
	}
	if known, ok := errors.AsType[*ship.Error](err); ok { // it was not even sent
		return doubt("network", known.Message, "wait and check again")
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return fault("network", "the name "+name+" cannot be resolved", "see whether this host has a working DNS resolver")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fault("network", "the certificate of "+name+" is not trusted", "install the host's CA certificates, and see whether a proxy breaks TLS open")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return fault("network", host+" does not speak TLS", "see whether a proxy answers in its place")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return fault("network", "no connection to "+host+": "+op.Err.Error(), "see whether a firewall lets this host out to "+host)
	}
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		return fault("network", host+" does not answer in time", "see whether a firewall lets this host out to "+host)
	}
	return fault("network", host+" ends the connection without an answer", "see whether a firewall or a proxy stands between")
}

// The sample parcel: to a well-known address in the origin's country if it is
// the United States, else back to the origin; and abroad where a carrier does
// not serve the country itself.
var (
	sampleUS = ship.Address{Name: "Sample", Company: "Sample", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118", Country: "US", Phone: "2125550100"}
	sampleDE = ship.Address{Name: "Sample", Company: "Sample", Address1: "Invalidenstr. 116", City: "Berlin", Zip: "10115", Country: "DE", Phone: "+4930123456"}
)

// samples are a domestic order and one that crosses a border.
func (c *checkup) samples() (home, abroad ship.Order, err error) {
	n := ship.Normalizing{Tenant: c.row.Tenant, Account: c.account, Quote: true, Now: time.Now()}
	o := ship.Order{Destination: sampleUS, Parcels: []ship.Parcel{{
		Weight: 1, WeightUnit: ship.Pound, Dimensions: &ship.Dimensions{Length: 8, Width: 6, Height: 4, Unit: ship.Inch},
	}}}
	if home, err = o.Normalize(n); err != nil {
		return home, abroad, err
	}
	o.Destination = sampleDE
	if home.Origin.Country == "DE" {
		o.Destination = sampleUS
	}
	if home.Origin.Country != "US" {
		home.Destination = home.Origin
	}
	abroad, err = o.Normalize(n)
	return home, abroad, err
}

// rates asks for the price of a parcel.
func (c *checkup) rates(ctx context.Context, opened *carrier.Carrier) {
	home, abroad, err := c.samples()
	if err != nil {
		c.add(doubt("rates", "were not tried: the account has no origin", "set one: waybill account update --account "+string(c.account.ID)+" --origin ..."))
		return
	}
	list, err := opened.Rates(ctx, home)
	lane := "within " + home.Origin.Country
	if ship.KindOf(err) == ship.Invalid && !ofAccount(err) { // many serve no lane within a country
		if l, again := opened.Rates(ctx, abroad); again == nil || ofAccount(again) {
			list, err, lane = l, again, "from "+abroad.Origin.Country+" to "+abroad.Destination.Country
		}
	}
	switch kind := ship.KindOf(err); {
	case err == nil:
		c.add(found("rates", fmt.Sprintf("%d services quote a parcel %s", len(list), lane)))
	case ofAccount(err):
		c.add(fault("account", saysOf(err), accountAdvice))
	case kind == ship.Forbidden:
		c.add(fault("rates", saysOf(err), "the app in the carrier's developer portal lacks the product for rates: add it there"))
	case kind == ship.Invalid:
		c.add(doubt("rates", "a sample parcel was refused: "+saysOf(err), "see whether the account's origin is right and served by the carrier"))
	default:
		c.add(doubt("rates", saysOf(err), "check again in a few minutes"))
	}
}

// tracking asks for a parcel that does not exist: a carrier that looks for it
// would find another.
func (c *checkup) tracking(ctx context.Context, opened *carrier.Carrier) {
	_, err := opened.Track(ctx, []string{"000000000000"})
	switch ship.KindOf(err) {
	case "", ship.NotFound, ship.Invalid:
		c.add(found("tracking", "the account may ask for parcels"))
	case ship.Forbidden:
		c.add(fault("tracking", saysOf(err), "the app in the carrier's developer portal lacks the product for tracking: add it there"))
	default:
		c.add(doubt("tracking", saysOf(err), "check again in a few minutes"))
	}
}

// Words of carriers' refusals that speak of the account number and not of the
// parcel: always, and in what is not a lack of rights.
var (
	numberWords  = []string{"account number", "account.number", "accountnumber", "eps account", "shipper number", "shippernumber", "crid", "mailer id"}
	accountWords = append([]string{"account"}, numberWords...)
)

const accountAdvice = "the account number must be one that the owner of the credentials may use, in the country of the origin, and registered for the API: compare it with the carrier's portal"

// ofAccount reports whether the carrier refuses because of the account number.
func ofAccount(err error) bool {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return false
	}
	words := map[ship.Kind][]string{ship.Invalid: accountWords, ship.Forbidden: numberWords}[e.Kind]
	said := strings.ToLower(e.Refusal.Code + " " + e.Refusal.Message)
	if e.Kind == ship.Forbidden {
		said += " " + strings.ToLower(e.Message) // a driver may know what its carrier means
	}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(said, word) })
}

// saysOf is an error for a person: its message, and the carrier's own words.
func saysOf(err error) string {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return "something failed; the log says what"
	}
	text := e.Message
	for _, f := range e.Fields {
		text += "; " + strings.TrimPrefix(f.Pointer, "/") + " " + f.Detail
	}
	switch said := e.Refusal; {
	case said.Code != "" && said.Message != "":
		text += " (" + said.Code + ": " + said.Message + ")"
	case said.Code+said.Message != "":
		text += " (" + said.Code + said.Message + ")"
	}
	return text
}
