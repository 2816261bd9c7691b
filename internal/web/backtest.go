package web

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
)

// backtestView is the page of a back-test: rules applied to past shipments.
type backtestView struct {
	Which   string // "draft", "published", or the number of a version
	Last    int
	Days    int    // how far back; 0 for any time
	Zone    string // whose changed shipments are listed; "" for all
	Drafted bool   // there is a draft
	Newest  int    // version
	Before  int    // the menu has versions before this one; 0 for the newest
	Names   catalog
	Done    *rulebook.Simulation
	Problem string
}

var (
	backtestSizes  = []int{100, 1000, 10_000, rulebook.MostSimulated}
	backtestRanges = []choice{
		{"0", "Any time"},
		{"7", "Last 7 days"},
		{"30", "Last 30 days"},
		{"90", "Last 90 days"},
	}
)

// Rules are the rule sets to choose from: the draft, the published one, a page
// of the earlier versions, and the chosen version.
func (p backtestView) Rules() []choice {
	var list []choice
	if p.Drafted {
		list = append(list, choice{"draft", "The draft"})
	}
	list = append(list, choice{"published", "The published rules"})

	chosen, _ := versionOf(p.Which)
	return append(list, p.menu().choices(chosen)...)
}

func (p backtestView) menu() versionMenu { return versionMenu{p.Newest - 1, p.Before} }

// Sizes are the numbers of shipments to choose from.
func (p backtestView) Sizes() []choice {
	list := make([]choice, len(backtestSizes))
	for i, n := range backtestSizes {
		list[i] = choice{strconv.Itoa(n), thousands(n)}
	}
	return list
}

// thousands formats a number with a comma between thousands.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// backtestPage handles GET /app/{account}/{mode}/routing/backtest.
func (s *Web) backtestPage(v *visit) error {
	page, _, err := v.backtestForm()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, backtestPageView(v.frame("Back-test", "routing"), page))
}

// backtestForm reads the form, and the rules that it names.
func (v *visit) backtestForm() (page backtestView, book routing.Book, err error) {
	page = backtestView{
		Which: v.form("which"),
		Last:  1000,
		Zone:  v.form("zone"),
	}
	page.Before, _ = versionOf(v.form("before"))
	for _, size := range backtestSizes {
		if strconv.Itoa(size) == v.form("last") {
			page.Last = size
		}
	}
	for _, span := range backtestRanges {
		if span.Value == v.form("days") {
			page.Days = int(number(span.Value))
		}
	}

	if page.Names, err = v.catalog(); err != nil {
		return page, book, err
	}
	desk, err := v.Rules.Workspace(v.ctx(), v.tenant())
	if err != nil {
		return page, book, err
	}
	page.Drafted = desk.HasDraft
	page.Newest = desk.Published.Version

	if page.Which == "" {
		page.Which = page.Rules()[0].Value // the draft, if there is one
	}
	switch n, err := strconv.Atoi(page.Which); {
	case page.Which == "draft":
		return page, desk.Rules, nil
	case err == nil && n > 0:
		version, err := v.Rules.Published(v.ctx(), v.tenant(), n)
		return page, version.Rules, err
	}
	page.Which = "published"
	return page, desk.Published.Rules, nil
}

// backtest handles POST /app/{account}/{mode}/routing/backtest. A script that
// asks for a stream gets a line of JSON for every step, and the result in the
// last.
func (s *Web) backtest(v *visit) error {
	page, book, err := v.backtestForm()
	if err != nil {
		return err
	}
	frame := v.frame("Back-test", "routing")

	var progress func(done, most int)
	isStream := v.r.Header.Get("X-Progress") == "1"
	if isStream {
		v.w.Header().Set("Content-Type", "application/x-ndjson")
		progress = func(done, most int) { v.writeLine(map[string]any{"done": done, "most": most}) }
		progress(0, page.Last)
	}

	// Once a stream has begun its status is sent, so its errors can only be
	// reported in the last line.
	simulation, err := s.Rules.Simulate(v.ctx(), page.input(v, book, progress))
	invalid, fixable := problemsOf(err)
	if err != nil && !fixable && !isStream {
		return err
	}

	status := http.StatusOK
	switch {
	case err == nil:
		page.Done = &simulation
	case fixable:
		page.Problem = invalid.All
		status = http.StatusUnprocessableEntity
	default:
		v.Log.ErrorContext(v.ctx(), "back-test", "error", err)
		page.Problem = "The back-test took too long. Try fewer shipments."
	}

	if !isStream {
		return v.show(status, backtestPageView(frame, page))
	}

	var html strings.Builder
	if err := backtestResult(frame, page).Render(v.ctx(), &html); err != nil {
		return err
	}
	v.writeLine(map[string]any{"html": html.String()})
	return nil
}

// input returns the simulation that the page asks for. A progress of nil is not
// called.
func (p backtestView) input(v *visit, book routing.Book, progress func(done, most int)) rulebook.SimulateInput {
	in := rulebook.SimulateInput{
		Tenant:   v.tenant(),
		Account:  v.who.Account,
		Rules:    book,
		Last:     p.Last,
		Progress: progress,
		Zone:     p.Zone,
	}
	if p.Days > 0 {
		in.Since = time.Now().AddDate(0, 0, -p.Days)
	}
	return in
}

// writeLine sends a line of a stream without delay.
func (v *visit) writeLine(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		return // numbers and strings can always be encoded
	}
	v.w.Write(append(text, '\n'))               // the reader may have left
	_ = http.NewResponseController(v.w).Flush() // unflushed, it is sent with the next line
}

// backtestCSV handles POST /app/{account}/{mode}/routing/backtest.csv: every
// shipment that would be bought differently.
func (s *Web) backtestCSV(v *visit) error {
	page, book, err := v.backtestForm()
	if err != nil {
		return err
	}

	in := page.input(v, book, nil)
	in.Changes = csvLimit
	simulation, err := s.Rules.Simulate(v.ctx(), in)
	if err != nil {
		return err
	}

	out := v.exportCSV("backtest", "shipment", "order", "zone", "carrier was", "service was", "price was", "carrier", "service", "price", "currency", "saved", "rule")
	for _, change := range simulation.Changes {
		out.row(
			string(change.Shipment),
			change.OrderID,
			change.Zone,
			change.Was.Carrier,
			change.Was.Service,
			change.Was.Price.Amount(),
			change.Is.Carrier,
			change.Is.Service,
			change.Is.Price.Amount(),
			simulation.Currency,
			saved(change.Was.Price.Minor, change.Is.Price.Minor, simulation.Currency).Amount(),
			change.Rule,
		)
	}
	return nil
}

func saved(was, is int64, currency string) ship.Money {
	return ship.Money{Minor: was - is, Currency: currency}
}
