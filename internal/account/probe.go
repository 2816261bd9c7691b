package account

import (
	"context"
	"crypto/rand"
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

// clockDrift is how far the carrier's clock may be from ours: the validity of
// tokens and signatures depends on it.
const clockDrift = 60 * time.Second

// firstAnswer is the Doer of a check. It notes how the first answer came, or
// why none did.
type firstAnswer struct {
	via carrier.Doer

	mu   sync.Mutex
	took time.Duration // until the first answer
	date time.Time     // of the carrier's clock, if the answer has it
	mid  time.Time     // of ours, halfway between request and answer
	err  error         // the last failure, until there is an answer
}

func (f *firstAnswer) Do(request *http.Request) (*http.Response, error) {
	began := time.Now()
	response, err := f.via.Do(request)

	f.mu.Lock()
	defer f.mu.Unlock()
	if f.took > 0 {
		return response, err
	}
	if err != nil {
		f.err = err
		return response, err
	}

	// Zero means that there was no answer yet, so the fastest takes 1 ns.
	f.took = max(time.Since(began), 1)
	f.err = nil

	// The carrier reads its clock somewhere between request and answer; the
	// middle has the smallest possible error.
	f.mid = began.Add(f.took / 2)
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		f.date = date
	}
	return response, nil
}

// judgeNetwork judges how the first call reached the carrier, and compares the
// clocks. It reports whether the carrier answered.
func (c *checkup) judgeNetwork(first *firstAnswer) bool {
	host := c.base
	if u, err := url.Parse(c.base); err == nil {
		host = u.Host
	}

	first.mu.Lock()
	defer first.mu.Unlock()
	if first.err != nil {
		c.add(unreachable(host, first.err))
		return false
	}

	if first.took > 0 {
		c.add(passed("network", fmt.Sprintf("%s responds in %s", host, first.took.Round(time.Millisecond))))
	}
	if !first.date.IsZero() {
		c.add(judgeClock(first.date.Sub(first.mid)))
	}
	return true
}

// judgeClock judges how far the carrier's clock is ahead. The Date header has a
// resolution of a second.
func judgeClock(ahead time.Duration) Finding {
	off := ahead.Abs().Round(time.Second)
	switch {
	case off <= clockDrift:
		return passed("clock", "matches the carrier's clock")
	case ahead < 0:
		return warning("clock", fmt.Sprintf("this host's clock is %s ahead of the carrier's", off), "synchronize this host's clock with NTP: carriers reject tokens dated in the future")
	}
	return warning("clock", fmt.Sprintf("this host's clock is %s behind the carrier's", off), "synchronize this host's clock with NTP: tokens seem valid here after they have expired")
}

// unreachable says at which step the way to the carrier ends.
func unreachable(host string, err error) Finding {
	name, _, splitErr := net.SplitHostPort(host)
	if splitErr != nil {
		name = host
	}

	// An error of our own means that the call was not sent: the breaker or the
	// quota held it back.
	if own, ok := errors.AsType[*ship.Error](err); ok {
		return warning("network", own.Message, "wait, then run the check again")
	}

	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return failure("network", "the host name "+name+" cannot be resolved", "make sure that this host has a working DNS resolver")
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return failure("network", "the certificate of "+name+" is not trusted", "install the CA certificates of this host, and check whether a proxy intercepts TLS")
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return failure("network", host+" does not speak TLS", "check whether a proxy answers in its place")
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return failure("network", "no connection to "+host+": "+dial.Err.Error(), "check whether a firewall blocks connections from this host to "+host)
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return failure("network", host+" does not respond in time", "check whether a firewall blocks connections from this host to "+host)
	}
	return failure("network", host+" closes the connection without a response", "check whether a firewall or proxy is in between")
}

// The sample parcel: to a well-known address in the origin's country if it is
// the United States, else back to the origin; and abroad where a carrier does
// not serve the country itself.
var (
	sampleUS = ship.Address{Name: "Sample", Company: "Sample", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118", Country: "US", Phone: "2125550100"}
	sampleDE = ship.Address{Name: "Sample", Company: "Sample", Address1: "Invalidenstr. 116", City: "Berlin", Zip: "10115", Country: "DE", Phone: "+4930123456"}
)

// sampleOrders returns a domestic order and one that crosses a border.
func (c *checkup) sampleOrders() (domestic, abroad ship.Order, err error) {
	normalizing := ship.Normalizing{
		Tenant:  c.row.Tenant,
		Account: c.account,
		Quote:   true,
		Now:     time.Now(),
	}
	order := ship.Order{
		Destination: sampleUS,
		Parcels: []ship.Parcel{{
			Weight:     1,
			WeightUnit: ship.Pound,
			Dimensions: &ship.Dimensions{Length: 8, Width: 6, Height: 4, Unit: ship.Inch},
		}},
	}
	if domestic, err = order.Normalize(normalizing); err != nil {
		return domestic, abroad, err
	}

	// The origin is the account's, and only known once the order is
	// normalized.
	origin := domestic.Origin
	order.Destination = sampleDE
	if origin.Country == "DE" {
		order.Destination = sampleUS
	}
	if origin.Country != "US" {
		domestic.Destination = origin
	}
	abroad, err = order.Normalize(normalizing)
	return domestic, abroad, err
}

// tryRates asks for the price of a parcel.
func (c *checkup) tryRates(ctx context.Context, opened *carrier.Carrier) {
	domestic, abroad, err := c.sampleOrders()
	if err != nil {
		c.add(warning("rates", "were not tested: the account has no origin", "set one: waybill account update --account "+string(c.account.ID)+" --origin ..."))
		return
	}

	quoted := domestic
	route := "within " + domestic.Origin.Country
	list, err := opened.Rates(ctx, domestic)

	// Many carriers have no domestic service in a country that they serve
	// across its border.
	if ship.KindOf(err) == ship.Invalid && !isAboutAccount(err) {
		if offers, abroadErr := opened.Rates(ctx, abroad); abroadErr == nil || isAboutAccount(abroadErr) {
			quoted = abroad
			route = "from " + abroad.Origin.Country + " to " + abroad.Destination.Country
			list = offers
			err = abroadErr
		}
	}

	switch kind := ship.KindOf(err); {
	case err == nil:
		c.add(passed("rates", fmt.Sprintf("%d services quoted for a parcel %s", len(list), route)))
		c.offer = carrier.BuyOrder{Order: quoted, Service: list[0].Service, Selection: list[0].Selection}
	case isAboutAccount(err):
		c.add(failure("account", describeError(err), accountAdvice))
	case kind == ship.Forbidden:
		c.add(failure("rates", describeError(err), "the app in the carrier's developer portal lacks the product for rates: add it there"))
	case kind == ship.Invalid:
		c.add(warning("rates", "a sample parcel was refused: "+describeError(err), "make sure that the account's origin is correct and served by the carrier"))
	default:
		c.add(warning("rates", describeError(err), "run the check again in a few minutes"))
	}
}

// tryPurchase has the carrier check the purchase of a sample parcel, which is not
// made: a carrier can quote prices to an account that may not buy, and some do not
// quote at all.
func (c *checkup) tryPurchase(ctx context.Context, opened *carrier.Carrier) {
	request := c.offer
	if request.Service == "" {
		domestic, _, err := c.sampleOrders()
		if err != nil || !opened.TakesFrom(domestic.Origin.Country) || slices.Contains(opened.Abilities(), "rates") {
			return
		}
		request = carrier.BuyOrder{Order: domestic, Service: c.spec.Services[0].Code}
	}
	request.Reference = ship.Reference([]byte(rand.Text()), c.row.Tenant, "check", 1)

	err := opened.Rehearse(ctx, request)
	switch kind := ship.KindOf(err); {
	case err == nil:
		c.add(passed("labels", c.spec.Title+" would sell a label for a sample parcel; nothing was bought"))
	case kind == ship.Unsupported: // the carrier's test environment cannot
	case isAboutAccount(err):
		c.add(failure("account", describeError(err), accountAdvice))
	case kind == ship.Forbidden:
		c.add(failure("labels", describeError(err), "the app in the carrier's developer portal lacks the product for labels: add it there"))
	case kind == ship.Invalid:
		c.add(warning("labels", "a sample parcel was refused: "+describeError(err), "make sure that the account's origin is correct and that the contract covers "+request.Service))
	default:
		c.add(warning("labels", describeError(err), "run the check again in a few minutes"))
	}
}

// tryTracking asks for a parcel that does not exist: an answer that it is
// unknown proves that the account may ask.
func (c *checkup) tryTracking(ctx context.Context, opened *carrier.Carrier) {
	_, err := opened.Track(ctx, []string{"000000000000"})
	switch ship.KindOf(err) {
	case "", ship.NotFound, ship.Invalid:
		c.add(passed("tracking", "the account can track parcels"))
	case ship.Forbidden:
		c.add(failure("tracking", describeError(err), "the app in the carrier's developer portal lacks the product for tracking: add it there"))
	default:
		c.add(warning("tracking", describeError(err), "run the check again in a few minutes"))
	}
}

// tryAddresses checks a well-known address. A carrier that may not check addresses
// can still quote, sell and track, so that is only a warning.
func (c *checkup) tryAddresses(ctx context.Context, opened *carrier.Carrier) {
	address := sampleUS
	if c.spec.AddressCoverage.DepthIn(address.Country) == carrier.NotChecked {
		address = sampleDE
	}

	_, err := opened.CheckAddress(ctx, address)
	switch ship.KindOf(err) {
	case "":
		c.add(passed("addresses", "the account can check addresses"))
	case ship.Unsupported: // the carrier's test environment cannot
		c.add(passed("addresses", "were not tested: "+describeError(err)))
	case ship.Forbidden:
		c.add(warning("addresses", describeError(err), "the app in the carrier's developer portal lacks the product for addresses: add it there if this carrier should check them"))
	default:
		c.add(warning("addresses", describeError(err), "run the check again in a few minutes"))
	}
}

// Words of carriers' refusals that speak of the account number and not of the
// parcel: always, and in what is not a lack of rights.
var (
	numberWords  = []string{"account number", "billing number", "billingnumber", "account.number", "accountnumber", "eps account", "shipper number", "shippernumber", "crid", "mailer id"}
	accountWords = append([]string{"account"}, numberWords...)
)

const accountAdvice = "the account number must belong to the owner of the credentials, be in the country of the origin, and be registered for the API: compare it with the carrier's portal"

// isAboutAccount reports whether the carrier refuses because of the account
// number.
func isAboutAccount(err error) bool {
	refused, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return false
	}

	var words []string
	text := refused.Refusal.Code + " " + refused.Refusal.Message
	switch refused.Kind {
	case ship.Invalid:
		words = accountWords
	case ship.Forbidden:
		// The driver may know what its carrier means, so its message counts
		// beside the carrier's.
		words = numberWords
		text += " " + refused.Message
	}

	text = strings.ToLower(text)
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// describeError returns an error for a person: its message, and the carrier's
// own words.
func describeError(err error) string {
	known, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return "an internal error occurred; see the log"
	}

	text := known.Message
	for _, field := range known.Fields {
		text += "; " + strings.TrimPrefix(field.Pointer, "/") + " " + field.Detail
	}

	switch refusal := known.Refusal; {
	case refusal.Code != "" && refusal.Message != "":
		text += " (" + refusal.Code + ": " + refusal.Message + ")"
	case refusal.Code+refusal.Message != "":
		text += " (" + refusal.Code + refusal.Message + ")"
	}
	return text
}
