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

// backtestView is a trial of rules on the past.
type backtestView struct {
	Which   string // "draft", "published", or the number of a version
	Last    int
	Days    int    // how far back; 0 for any time
	Zone    string // whose changed shipments are listed; "" for all
	Drafted bool
	Newest  int // version
	Before  int // the menu has versions before this one; 0 for the newest
	Names   catalog
	Done    *rulebook.Simulation
	Problem string
}

var (
	backtestSizes  = []int{100, 1000, 10_000, rulebook.MostSimulated}
	backtestRanges = []choice{{"0", "Any time"}, {"7", "Last 7 days"}, {"30", "Last 30 days"}, {"90", "Last 90 days"}}
)

// Rules are the books that can be tried: a page of them, and the chosen one.
func (p backtestView) Rules() []choice {
	var list []choice
	if p.Drafted {
		list = append(list, choice{"draft", "The draft"})
	}
	list = append(list, choice{"published", "Those that count now"})
	chosen, _ := versionOf(p.Which)
	return append(list, p.menu().choices(chosen)...)
}

func (p backtestView) menu() versionMenu { return versionMenu{p.Newest - 1, p.Before} }

// Sizes are how many shipments can be looked at.
func (p backtestView) Sizes() []choice {
	list := make([]choice, len(backtestSizes))
	for i, n := range backtestSizes {
		list[i] = choice{strconv.Itoa(n), thousands(n)}
	}
	return list
}

// thousands is a number as people read it.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// backtestPage handles GET /app/{mode}/routing/backtest.
func (s *Web) backtestPage(v *visit) error {
	p, _, err := v.backtestForm()
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, backtestPageView(v.frame("Back-test", "routing"), p))
}

// backtestForm reads the form, and the rules that it names.
func (v *visit) backtestForm() (p backtestView, b routing.Book, err error) {
	p = backtestView{Which: v.form("which"), Last: 1000, Zone: v.form("zone")}
	p.Before, _ = versionOf(v.form("before"))
	for _, n := range backtestSizes {
		if strconv.Itoa(n) == v.form("last") {
			p.Last = n
		}
	}
	for _, c := range backtestRanges {
		if c.Value == v.form("days") {
			p.Days = int(number(c.Value))
		}
	}
	if p.Names, err = v.catalog(); err != nil {
		return p, b, err
	}
	desk, err := v.Rules.Desk(v.ctx(), v.tenant())
	if err != nil {
		return p, b, err
	}
	p.Drafted, p.Newest = desk.Drafted, desk.Published.Version
	if p.Which == "" {
		p.Which = p.Rules()[0].Value
	}
	switch n, err := strconv.Atoi(p.Which); {
	case p.Which == "draft":
		return p, desk.Rules, nil
	case err == nil && n > 0:
		version, err := v.Rules.Published(v.ctx(), v.tenant(), n)
		return p, version.Rules, err
	}
	p.Which = "published"
	return p, desk.Published.Rules, nil
}

// backtest handles POST /app/{mode}/routing/backtest. A script that asks for a
// stream gets a line of JSON for every step, and the result in the last.
func (s *Web) backtest(v *visit) error {
	p, book, err := v.backtestForm()
	if err != nil {
		return err
	}
	f := v.frame("Back-test", "routing")
	var told func(done, most int)
	stream := v.r.Header.Get("X-Progress") == "1"
	if stream {
		v.w.Header().Set("Content-Type", "application/x-ndjson")
		told = func(done, most int) { v.tell(map[string]any{"done": done, "most": most}) }
		told(0, p.Last)
	}
	sim, err := s.Rules.Simulate(v.ctx(), p.input(v, book, told))
	wrong, mendable := problemsOf(err)
	if err != nil && !mendable && !stream {
		return err
	}
	status := http.StatusOK
	switch {
	case err == nil:
		p.Done = &sim
	case mendable:
		p.Problem, status = wrong.All, http.StatusUnprocessableEntity
	default:
		v.Log.ErrorContext(v.ctx(), "back-test", "error", err)
		p.Problem = "The back-test did not come to its end. Try fewer shipments."
	}
	if !stream {
		return v.show(status, backtestPageView(f, p))
	}
	var b strings.Builder
	if err := backtestResult(f, p).Render(v.ctx(), &b); err != nil {
		return err
	}
	v.tell(map[string]any{"html": b.String()})
	return nil
}

func (p backtestView) input(v *visit, book routing.Book, told func(done, most int)) rulebook.SimulateInput {
	in := rulebook.SimulateInput{Tenant: v.tenant(), Account: v.who.Account, Rules: book, Last: p.Last, Progress: told, Zone: p.Zone}
	if p.Days > 0 {
		in.Since = time.Now().AddDate(0, 0, -p.Days)
	}
	return in
}

// tell sends a line of a stream at once.
func (v *visit) tell(line map[string]any) {
	text, err := json.Marshal(line)
	if err != nil {
		return // numbers and text can always be written
	}
	v.w.Write(append(text, '\n'))               // the reader may have left
	_ = http.NewResponseController(v.w).Flush() // it comes with the next line then
}

// backtestCSV handles POST /app/{mode}/routing/backtest.csv: every shipment
// that would go another way.
func (s *Web) backtestCSV(v *visit) error {
	p, book, err := v.backtestForm()
	if err != nil {
		return err
	}
	in := p.input(v, book, nil)
	in.Changes = csvLimit
	sim, err := s.Rules.Simulate(v.ctx(), in)
	if err != nil {
		return err
	}
	out := v.exportCSV("backtest", "shipment", "order", "zone", "carrier was", "service was", "price was", "carrier", "service", "price", "currency", "saved", "rule")
	for _, c := range sim.Changes {
		out.row(string(c.Shipment), c.OrderID, c.Zone, c.Was.Carrier, c.Was.Service, c.Was.Price.Amount(), c.Is.Carrier, c.Is.Service, c.Is.Price.Amount(),
			sim.Currency, saved(c.Was.Price.Minor, c.Is.Price.Minor, sim.Currency).Amount(), c.Rule)
	}
	return nil
}

func saved(was, is int64, currency string) ship.Money {
	return ship.Money{Minor: was - is, Currency: currency}
}
