package routing

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/rulebook"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
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
	Names   offers.Catalog
	Done    *rulebook.Simulation
	Problem string
}

var (
	backtestSizes  = []int{100, 1000, 10_000, rulebook.MostSimulated}
	backtestRanges = []parts.Choice{
		{Value: "0", Title: "Any time"},
		{Value: "7", Title: "Last 7 days"},
		{Value: "30", Title: "Last 30 days"},
		{Value: "90", Title: "Last 90 days"},
	}
)

// Rules returns the rule sets to choose from: the draft, the published one, a
// page of the earlier versions, and the chosen version.
func (p backtestView) Rules() []parts.Choice {
	var list []parts.Choice
	if p.Drafted {
		list = append(list, parts.Choice{Value: "draft", Title: "The draft"})
	}
	list = append(list, parts.Choice{Value: "published", Title: "The published rules"})

	chosen, _ := versionOf(p.Which)
	return append(list, p.menu().choices(chosen)...)
}

func (p backtestView) menu() versionMenu { return versionMenu{p.Newest - 1, p.Before} }

// Sizes returns the numbers of shipments to choose from.
func (p backtestView) Sizes() []parts.Choice {
	list := make([]parts.Choice, len(backtestSizes))
	for i, n := range backtestSizes {
		list[i] = parts.Choice{Value: strconv.Itoa(n), Title: thousands(n)}
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

// getBacktest handles GET /app/{account}/{mode}/routing/backtest.
func getBacktest(v *site.Visit) error {
	page, _, err := backtestForm(v)
	if err != nil {
		return err
	}
	return v.Show(http.StatusOK, backtestPageView(v.Frame("Back-test", "routing"), page))
}

// backtestForm reads the form, and the rules that it names.
func backtestForm(v *site.Visit) (page backtestView, book routing.Book, err error) {
	page = backtestView{
		Which: v.Form("which"),
		Last:  1000,
		Zone:  v.Form("zone"),
	}
	page.Before, _ = versionOf(v.Form("before"))
	for _, size := range backtestSizes {
		if strconv.Itoa(size) == v.Form("last") {
			page.Last = size
		}
	}
	for _, span := range backtestRanges {
		if span.Value == v.Form("days") {
			page.Days = int(parts.ParseNumber(span.Value))
		}
	}

	if page.Names, err = offers.CatalogOf(v); err != nil {
		return page, book, err
	}
	desk, err := v.Rules.Workspace(v.Context(), v.Tenant())
	if err != nil {
		return page, book, err
	}
	page.Drafted = desk.HasDraft
	page.Newest = desk.Published.Version

	if page.Which == "" {
		page.Which = page.Rules()[0].Value // the draft, if there is one
	}
	switch n, isVersion := versionOf(page.Which); {
	case page.Which == "draft":
		return page, desk.Rules, nil
	case isVersion:
		version, err := v.Rules.Published(v.Context(), v.Tenant(), n)
		return page, version.Rules, err
	}
	page.Which = "published"
	return page, desk.Published.Rules, nil
}

// runBacktest handles POST /app/{account}/{mode}/routing/backtest. A script that
// asks for a stream gets a line of JSON for every step, and the result in the
// last.
func runBacktest(v *site.Visit) error {
	page, book, err := backtestForm(v)
	if err != nil {
		return err
	}
	frame := v.Frame("Back-test", "routing")

	var progress func(done, most int)
	isStream := v.Request.Header.Get("X-Progress") == "1"
	if isStream {
		v.Writer.Header().Set("Content-Type", "application/x-ndjson")
		progress = func(done, most int) { writeLine(v, map[string]any{"done": done, "most": most}) }
		progress(0, page.Last)
	}

	// Once a stream has begun its status is sent, so its errors can only be
	// reported in the last line.
	simulation, err := v.Rules.Simulate(v.Context(), page.input(v, book, progress))
	invalid, fixable := site.ProblemsOf(err)
	isBusy := ship.KindOf(err) == ship.Unavailable
	if err != nil && (!fixable || isBusy) && !isStream {
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
		v.Log.ErrorContext(v.Context(), "back-test", "error", err)
		page.Problem = "The back-test took too long. Try fewer shipments."
	}

	if !isStream {
		return v.Show(status, backtestPageView(frame, page))
	}

	var html strings.Builder
	if err := backtestResult(frame, page).Render(v.Context(), &html); err != nil {
		return err
	}
	writeLine(v, map[string]any{"html": html.String()})
	return nil
}

// input returns the simulation that the page asks for. A progress of nil is not
// called.
func (p backtestView) input(v *site.Visit, book routing.Book, progress func(done, most int)) rulebook.SimulateInput {
	in := rulebook.SimulateInput{
		Tenant:   v.Tenant(),
		Account:  v.Who.Account,
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
func writeLine(v *site.Visit, line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		return // numbers and strings can always be encoded
	}
	v.Writer.Write(append(text, '\n'))               // the client may have disconnected
	_ = http.NewResponseController(v.Writer).Flush() // unflushed, it is sent with the next line
}

// exportBacktest handles POST /app/{account}/{mode}/routing/backtest.csv: every
// shipment that would be bought differently.
func exportBacktest(v *site.Visit) error {
	page, book, err := backtestForm(v)
	if err != nil {
		return err
	}

	in := page.input(v, book, nil)
	in.Changes = site.CSVLimit
	simulation, err := v.Rules.Simulate(v.Context(), in)
	if err != nil {
		return err
	}

	out := v.ExportCSV("backtest", "shipment", "order", "zone", "carrier was", "service was", "price was", "carrier", "service", "price", "currency", "saved", "rule")
	for _, change := range simulation.Changes {
		out.Row(
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
