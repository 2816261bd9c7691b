// Package certify tries a connection against a carrier's test environment as a
// whole: sign-in, quotes, purchases, labels, look-ups, tracking and voids. It
// writes a report with the labels, the exchanges and the papers that the
// carrier's review before production asks for.
//
// A purchase is written to the report, and synced to disk, before the carrier
// is called. A lost answer is looked up by its reference and never repeated.
// Whatever was bought is voided at the end, where the carrier can.
package certify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// AllServices in Options.Services stands for every service that is quoted.
const AllServices = "all"

// Options are what to certify, and where the report goes.
type Options struct {
	Carrier *carrier.Carrier
	Tenant  ship.Tenant
	Account ship.Account
	Fields  map[string]string // of the connection, none of them secret
	Dir     string            // of the report; it must be empty or not exist
	Version string            // of this program

	// Services are those of which one further label each is bought: FedEx asks
	// for a label of every service that will be used.
	Services []string

	// LookupWait is for how long a look-up is repeated that finds nothing; zero
	// means as long as the carrier's Spec says, and two minutes at most.
	LookupWait time.Duration

	// Scale compresses visibility delays, for tests with emulated carriers.
	Scale float64
	// Measured is called with how long after its sale the first label was found.
	// If it is not found while the walk lasts, Measure hands it to the service,
	// which looks it up later and voids it. Nil measures nothing.
	Measured func(ctx context.Context, delay time.Duration) error
	Measure  func(ctx context.Context, later job.MeasureDelay) error

	Labels *label.Renderer
	// Progress is called with each check when it ends; nil is not called.
	Progress func(Check)
}

// longestWait is for how long a look-up is repeated unless the options say
// otherwise: a person waits for the report.
const longestWait = 2 * time.Minute

// A Walk is one certification. It is used once.
type Walk struct {
	options Options
	spec    carrier.Spec
	orders  sampleOrders
	made    time.Time // when the orders were made
	report  Report
	record  *recorder

	// quoted are the offers of each lane, by service.
	quoted map[lane]map[string]ship.Rate
	// bought are the purchases that the later checks look at.
	bought []*bought
}

// bought is a purchase whose answer is known.
type bought struct {
	entry    *Purchase
	order    carrier.BuyOrder
	purchase ship.Sale
	files    []string // of its labels, relative to the report
	lane     lane     // empty if a service was asked for
	wasLost  bool     // its sale was found by a look-up
	later    bool     // the service looks it up and voids it
}

// New prepares a certification. Nothing is sent and nothing is written yet.
func New(options Options) (*Walk, error) {
	spec := options.Carrier.Spec()
	for _, code := range options.Services {
		if _, known := spec.Service(code); !known && code != AllServices {
			return nil, fmt.Errorf("%s has no service %q; choose from %s, or %s", spec.Title, code, serviceCodes(spec), AllServices)
		}
	}

	now := time.Now()
	orders, err := newSampleOrders(options.Tenant, options.Account, spec.GoLive.DomesticOptional, now)
	if err != nil {
		return nil, err
	}
	if options.LookupWait == 0 {
		options.LookupWait = min(spec.Delay(), longestWait)
	}

	return &Walk{
		options: options,
		spec:    spec,
		orders:  orders,
		made:    now,
		quoted:  map[lane]map[string]ship.Rate{},
		report: Report{
			Carrier:     spec.Name,
			Title:       spec.Title,
			Connection:  options.Carrier.Connection,
			Environment: environment(options.Tenant),
			Version:     options.Version,
			Checks:      []Check{},
			Purchases:   []*Purchase{},
		},
	}, nil
}

func environment(t ship.Tenant) string {
	if t.Livemode {
		return "production"
	}
	return "test"
}

func serviceCodes(spec carrier.Spec) string {
	var codes []string
	for _, s := range spec.Services {
		codes = append(codes, s.Code)
	}
	return strings.Join(codes, ", ")
}

// Plan says what Run will buy, a line each.
func (w *Walk) Plan() []string {
	var lines []string
	for _, l := range boughtLanes {
		if l == multiPiece && w.spec.GoLive.NoMultiPiece != "" {
			continue
		}
		service := "the cheapest quoted service"
		if named, ok := w.spec.Service(w.unquoted(l)); ok && !w.can("rates") {
			service = named.Name
		}
		lines = append(lines, fmt.Sprintf("%s: %s, %s", l, describe(w.orders.order(l)), service))
	}
	switch {
	case slices.Contains(w.options.Services, AllServices):
		lines = append(lines, "one more label for every other quoted service")
	case len(w.options.Services) > 0:
		lines = append(lines, "one more label for each of "+strings.Join(w.options.Services, ", "))
	}
	return lines
}

// Voids reports whether the carrier takes labels back.
func (w *Walk) Voids() bool { return w.can("void") }

func (w *Walk) can(ability string) bool {
	return slices.Contains(w.options.Carrier.Abilities(), ability)
}

// Run walks through all checks and writes the report. An error means that the
// report could not be written; failed checks are in the report alone.
//
// When ctx ends, no further purchase is made; those that were made are still
// looked up and voided.
func (w *Walk) Run(ctx context.Context) (Report, error) {
	ctx = carrier.Unrestricted(ctx) // what works here is confirmed
	if err := w.prepareDir(); err != nil {
		return w.report, err
	}
	w.record = newRecorder(filepath.Join(w.options.Dir, "exchanges"))
	w.report.StartedAt = time.Now().UTC()
	if err := w.save(); err != nil {
		return w.report, err
	}

	err := w.check(ctx)
	if ctx.Err() != nil {
		w.add(Check{Name: "certification", Result: Failed, Message: "interrupted before it finished; the labels that were bought are voided"})
	}
	// Labels are voided whatever happened, and whether or not somebody waits.
	err = errors.Join(err, w.voidAll(context.WithoutCancel(ctx)))

	w.record.wait()
	w.report.Host = w.record.firstHost()
	w.report.FinishedAt = time.Now().UTC()
	return w.report, errors.Join(err, w.record.err(), w.save(), w.writePapers(), w.writeMarkdown())
}

// prepareDir makes the directory. Another report is never overwritten: it may
// be the only list of labels that are still to be voided.
func (w *Walk) prepareDir() error {
	entries, err := os.ReadDir(w.options.Dir)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: choose a new directory, so that reports of earlier purchases are not overwritten", w.options.Dir)
	}
	for _, sub := range []string{"labels", "documents", "exchanges", "go-live"} {
		if err := os.MkdirAll(filepath.Join(w.options.Dir, sub), 0o700); err != nil {
			return err
		}
	}
	return nil
}

// check runs all checks but the voids.
func (w *Walk) check(ctx context.Context) error {
	if !w.checkCredentials(ctx) {
		return nil
	}
	w.checkRates(ctx)
	if err := w.buyAll(ctx); err != nil {
		return err
	}
	for _, b := range w.bought {
		if err := w.checkLabels(b); err != nil {
			return err
		}
		if err := w.checkDocuments(b); err != nil {
			return err
		}
	}
	w.checkLookup(ctx)
	w.checkTracking(ctx)
	w.checkAddress(ctx)
	return nil
}

// checkCredentials proves that the carrier accepts the credentials.
func (w *Walk) checkCredentials(ctx context.Context) bool {
	err := w.options.Carrier.Check(w.record.context(ctx, "credentials"))
	if err != nil {
		w.addError("credentials", carrier.OpCheck, ship.Sale{}, err)
		return false
	}
	w.add(Check{Name: "credentials", Result: OK, Message: w.spec.Title + " accepts the credentials"})
	return true
}

// checkAddress checks the recipient of the domestic shipment. An account that may
// not check addresses can still ship, so that is no failure.
func (w *Walk) checkAddress(ctx context.Context) {
	const name = "address check"
	address := w.orders.order(domestic).Destination
	switch {
	case ctx.Err() != nil:
		return
	case !w.can("addresses"), w.spec.AddressCoverage.DepthIn(address.Country) == carrier.NotChecked:
		w.add(Check{Name: name, Result: Skipped, Message: fmt.Sprintf("%s does not check addresses in %s", w.spec.Title, address.Country)})
		return
	}

	found, err := w.options.Carrier.CheckAddress(w.record.context(ctx, "address"), address)
	switch {
	case ship.KindOf(err) == ship.Forbidden:
		w.add(Check{Name: name, Result: Skipped, CarrierCode: codeOf(err), Message: "the account may not check addresses: " + messageOf(err)})
	case err != nil:
		w.addError(name, carrier.OpCheckAddress, ship.Sale{}, err)
	case found.Verdict == ship.AddressUnknown:
		w.add(Check{Name: name, Result: NotTestable, Message: strings.Join(found.Messages, " ")})
	default:
		message := fmt.Sprintf("the recipient in %s is %s", address.City, found.Verdict)
		w.add(Check{Name: name, Result: OK, Message: strings.Join(append([]string{message}, found.Messages...), ": ")})
	}
}

// checkRates asks for the prices of every lane, and then looks at each service
// of the carrier.
func (w *Walk) checkRates(ctx context.Context) {
	if !w.can("rates") {
		w.add(Check{Name: "rates", Result: Skipped, Message: w.spec.Title + " does not quote prices: those of your contract come from a rate sheet"})
		return
	}

	var tried []string
	for _, l := range lanes {
		if ctx.Err() != nil {
			return
		}
		if l == multiPiece && w.spec.GoLive.NoMultiPiece != "" {
			continue
		}
		tried = append(tried, describe(w.orders.order(l)))
		w.checkLane(ctx, l)
	}

	for _, s := range w.spec.Services {
		w.checkService(s, tried)
	}
}

// checkLane asks for the prices of one lane.
func (w *Walk) checkLane(ctx context.Context, l lane) {
	name := "rates, " + string(l)
	order := w.orders.order(l)
	rates, err := w.options.Carrier.Rates(w.record.context(ctx, string(l)), order)
	if err != nil {
		if w.spec.GoLive.DomesticOptional && l.isDomestic() && ship.KindOf(err) == ship.Invalid {
			w.add(Check{
				Name:        name,
				Result:      Skipped,
				CarrierCode: codeOf(err),
				Message:     fmt.Sprintf("%s offers no service within %s: %s", w.spec.Title, order.Origin.Country, messageOf(err)),
			})
			return
		}
		w.addError(name, carrier.OpRates, ship.Sale{}, err)
		return
	}

	quoted := map[string]ship.Rate{}
	for _, r := range rates {
		if _, known := w.spec.Service(r.Service); !known {
			w.add(Check{Name: name, Result: Failed, Message: fmt.Sprintf("the service %q is not in Waybill's list for %s", r.Service, w.spec.Title)})
			return
		}
		if other, twice := quoted[r.Service]; !twice || isCheaper(r, other) {
			quoted[r.Service] = r
		}
	}
	w.quoted[l] = quoted
	w.add(Check{Name: name, Result: OK, Message: fmt.Sprintf("%d services quoted for %s", len(quoted), describe(order))})
}

// isCheaper compares two offers of one currency; an offer in another currency
// is never cheaper.
func isCheaper(a, b ship.Rate) bool {
	return a.Price.Currency == b.Price.Currency && a.Price.Minor < b.Price.Minor
}

// checkService says what a service costs, or that it was not offered. A
// service that is not offered is no failure: it may not serve these lanes.
func (w *Walk) checkService(s carrier.Service, tried []string) {
	check := Check{Name: "rate of " + s.Code}
	var prices []string
	for _, l := range lanes {
		if r, ok := w.quoted[l][s.Code]; ok {
			prices = append(prices, fmt.Sprintf("%s %s", l, r.Price))
		}
	}

	switch {
	case len(prices) > 0:
		check.Result = OK
		check.Message = s.Name + ": " + strings.Join(prices, ", ")
	case len(w.quoted) == 0:
		check.Result = Skipped
		check.Message = s.Name + ": no sample shipment could be quoted"
	default:
		check.Result = Skipped
		check.Message = fmt.Sprintf("%s is not offered to this account for %s", s.Name, strings.Join(tried, "; "))
	}
	w.add(check)
}

// cheapest is the offer of the lane that costs least.
func (w *Walk) cheapest(l lane) (ship.Rate, bool) {
	var best ship.Rate
	for _, s := range w.spec.Services { // in a fixed order, so that runs are alike
		if r, ok := w.quoted[l][s.Code]; ok && (best.Service == "" || isCheaper(r, best)) {
			best = r
		}
	}
	return best, best.Service != ""
}

// add records a check.
func (w *Walk) add(c Check) {
	w.report.Checks = append(w.report.Checks, c)
	if w.options.Progress != nil {
		w.options.Progress(c)
	}
}

// addError records how an operation failed. An answer that the carrier's test
// environment is known to give to correct requests is not a failure.
func (w *Walk) addError(name string, op carrier.Operation, p ship.Sale, err error) Result {
	check := Check{Name: name, Result: Failed, CarrierCode: codeOf(err), Message: messageOf(err)}
	if why := w.notTestable(op, p, err); why != "" {
		check.Result = NotTestable
		check.Message = why
	}
	w.add(check)
	return check.Result
}

// notTestable explains an answer of the test environment that proves nothing;
// empty for any other answer. Production has no such answers.
func (w *Walk) notTestable(op carrier.Operation, p ship.Sale, err error) string {
	if w.options.Tenant.Livemode || w.spec.GoLive.NotTestable == nil {
		return ""
	}
	return w.spec.GoLive.NotTestable(carrier.TestAnswer{Operation: op, Sale: p, Err: err})
}

// codeOf is the carrier's own code of a refusal.
func codeOf(err error) string {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		return e.Refusal.Code
	}
	return ""
}

// messageOf is an error for a person: its message, and the carrier's own words.
func messageOf(err error) string {
	e, ok := errors.AsType[*ship.Error](err)
	if !ok {
		return "the request failed before the carrier answered"
	}
	text := e.Message
	for _, f := range e.Fields {
		if !strings.Contains(text, f.Detail) {
			text += "; " + strings.TrimPrefix(f.Pointer, "/") + " " + f.Detail
		}
	}
	if said := cmp.Or(e.Refusal.Message, e.Refusal.Code); said != "" && !strings.Contains(text, said) {
		text += " (" + said + ")"
	}
	return text
}
