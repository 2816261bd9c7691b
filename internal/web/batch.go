package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// batchView is the page of one batch.
type batchView struct {
	batch.Batch
	Show      string // which lines: a tab's name
	After     int
	Rows      []rowView
	Next      string
	Samples   [][]string // the first lines, to name the columns by
	Problem   string
	Wrong     problems // of the columns
	Shipped   int      // lines whose order was shipped before
	Retryable int      // lines that were not bought and can be tried again
	Documents int      // customs papers of what was bought
	Accounts  accountNames
	Countries []choice
}

// rowView is a line of the table.
type rowView struct {
	batch.Row
	Of       batch.Batch
	Values   map[string]string
	Shipment *ship.Shipment // what was bought, if it is known
	Before   *ship.Shipment // what the order was shipped with before, if that is what is wrong
	Accounts accountNames
	Opened   bool // its form is shown
}

// A tab chooses lines by their states.
type tab struct {
	Name, Title string
	States      []string
}

var batchTabs = []tab{
	{"bad", "To fix", []string{batch.RowBad, batch.RowFailed}},
	{"ready", "Ready", []string{batch.RowRated, batch.RowGood, batch.RowBuying}},
	{"skipped", "Skipped", []string{batch.RowSkipped}},
	{"pending", "Pending", []string{batch.RowPending}},
	{"bought", "Bought", []string{batch.RowBought}},
	{"all", "All", nil},
}

// Count is how many lines the tab has.
func (p batchView) Count(t tab) (n int) {
	if t.States == nil {
		return p.Tally.Total()
	}
	for _, state := range t.States {
		n += p.Tally.Rows[state]
	}
	return n
}

// Busy reports whether the batch is being worked on.
func (p batchView) Busy() bool { return p.State == batch.Rating || p.State == batch.Buying }

// Done is how many lines of those that are worked on are through.
func (p batchView) Done() int { return p.Whole() - p.Tally.Waiting(p.State) }

// Whole is how many lines are worked on.
func (p batchView) Whole() int {
	rows := p.Tally.Rows
	if p.State == batch.Rating {
		return p.Tally.Total() - rows[batch.RowSkipped] - rows[batch.RowPending] - rows[batch.RowBought]
	}
	return rows[batch.RowRated] + rows[batch.RowBuying] + rows[batch.RowPending] + rows[batch.RowBought] + rows[batch.RowFailed]
}

// Pending is how many purchases are not settled yet.
func (p batchView) Pending() int { return p.Tally.Rows[batch.RowPending] }

// Again is how often the page asks where the batch is; "" for never.
func (p batchView) Again() string {
	switch {
	case p.Busy():
		return "every 700ms"
	case p.Pending() > 0:
		return "every 10s"
	}
	return ""
}

// Bought is how many labels there are.
func (p batchView) Bought() int { return p.Tally.Rows[batch.RowBought] }

// asking is the address that tells where the batch is. One that was busy when
// it was shown turns the page once the work is done.
func (p batchView) asking(path string) string {
	if p.Busy() {
		return path + "?busy=1"
	}
	return path
}

// mendWord says what the lines with mistakes ask for.
func (p batchView) mendWord() string {
	if p.Count(batchTabs[0]) == 0 {
		return "nothing to fix"
	}
	return "fix or skip them"
}

// MayDiscard reports whether the batch can be thrown away.
func (p batchView) MayDiscard() bool { return !p.Busy() && p.Bought()+p.Pending() == 0 }

// address is the page with other lines.
func (p batchView) address(path, show string, after int) string {
	q := url.Values{"show": {show}}
	if after > 0 {
		q.Set("after", strconv.Itoa(after))
	}
	return path + "?" + q.Encode()
}

// batch handles GET /app/{mode}/batches/{id}.
func (s *Web) batch(v *visit) error {
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	p := batchView{Batch: b}
	f := v.frame(b.Name, "batches")
	if v.isPart() {
		if p.Again() == "" || !p.Busy() && v.query("busy") != "" {
			v.w.Header().Set("HX-Refresh", "true")
		}
		if err := v.countLines(&p); err != nil {
			return err
		}
		return v.show(http.StatusOK, batchSummary(f, p, false))
	}
	return v.showBatch(http.StatusOK, p)
}

// showBatch answers with the page and its lines.
func (v *visit) showBatch(status int, p batchView) error {
	p.Countries = append([]choice{{"", "As the account"}}, countryChoices()...)
	p.Show = v.query("show")
	p.After, _ = strconv.Atoi(v.query("after"))
	i := slices.IndexFunc(batchTabs, func(t tab) bool { return t.Name == p.Show })
	if i < 0 {
		i = len(batchTabs) - 1
		if p.Count(batchTabs[0]) > 0 && !p.Busy() {
			i = 0
		}
	}
	p.Show = batchTabs[i].Name
	rows, more, err := v.Batch.Rows(v.ctx(), v.tenant(), p.ID, p.After, pageSize, batchTabs[i].States...)
	if err != nil {
		return err
	}
	for _, row := range rows[:min(len(rows), 3)] {
		p.Samples = append(p.Samples, row.Cells)
	}
	if err := v.countLines(&p); err != nil {
		return err
	}
	if p.Rows, err = v.rowViews(p.Batch, rows); err != nil {
		return err
	}
	if more {
		p.Next = p.address(v.to("batches", string(p.ID)), p.Show, rows[len(rows)-1].Number)
	}
	return v.show(status, batchPage(v.frame(p.Name, "batches"), p))
}

// countLines counts what the head of the page shows beside the tally. While the
// batch is worked on it shows nothing of it.
func (v *visit) countLines(p *batchView) error {
	if p.Busy() {
		return nil
	}
	if err := v.countShipped(p); err != nil {
		return err
	}
	return v.countDocuments(p)
}

// countShipped counts the lines of the file whose order was shipped before:
// before the columns are confirmed by what they probably mean, afterwards by
// the lines that are left out for it. The other lines that were not bought can
// be tried again.
func (v *visit) countShipped(p *batchView) error {
	if p.State == batch.Mapping {
		found, err := v.Batch.ShippedBefore(v.ctx(), p.Batch)
		p.Shipped = len(found)
		return err
	}
	rows, _, err := v.Batch.Rows(v.ctx(), v.tenant(), p.ID, 0, batch.MaxRows, batch.RowSkipped, batch.RowFailed)
	for _, row := range rows {
		switch {
		case row.Earlier() != "":
			p.Shipped++
		case row.State == batch.RowFailed:
			p.Retryable++
		}
	}
	return err
}

// countDocuments counts the customs papers of what was bought.
func (v *visit) countDocuments(p *batchView) error {
	if p.Bought() == 0 || !v.who.Can(member.PrintLabels) {
		return nil
	}
	rows, _, err := v.Batch.Rows(v.ctx(), v.tenant(), p.ID, 0, batch.MaxRows, batch.RowBought)
	if err != nil {
		return err
	}
	ids := make([]ship.ShipmentID, len(rows))
	for i, row := range rows {
		ids[i] = row.Shipment
	}
	known, err := v.Shipping.ShipmentsByID(v.ctx(), v.tenant(), ids)
	for _, sh := range known {
		if sh.State == ship.StatePurchased {
			p.Documents += len(sh.Deal.Documents)
		}
	}
	return err
}

// rowViews adds to lines what was bought for them.
func (v *visit) rowViews(b batch.Batch, rows []batch.Row) ([]rowView, error) {
	var ids []ship.ShipmentID
	for _, row := range rows {
		if row.BatchRow.Shipment != "" {
			ids = append(ids, row.BatchRow.Shipment)
		}
		if earlier := row.Earlier(); earlier != "" {
			ids = append(ids, earlier)
		}
	}
	accounts, err := v.accountNames()
	if err != nil {
		return nil, err
	}
	known, err := v.Shipping.ShipmentsByID(v.ctx(), v.tenant(), ids)
	if err != nil {
		return nil, err
	}
	list := make([]rowView, len(rows))
	for i, row := range rows {
		list[i] = rowView{Row: row, Of: b, Values: b.Meaning.Values(row.Cells), Accounts: accounts}
		if sh, ok := known[row.BatchRow.Shipment]; ok {
			list[i].Shipment = &sh
		}
		if sh, ok := known[row.Earlier()]; ok {
			list[i].Before = &sh
		}
	}
	return list, nil
}

// Place is where the line goes, as far as it says.
func (r rowView) Place() string {
	var parts []string
	for _, name := range []string{"city", "state", "country"} {
		if r.Values[name] != "" {
			parts = append(parts, r.Values[name])
		}
	}
	return strings.Join(parts, ", ")
}

// Mistakes are what is wrong with the line, with the field's title before it.
func (r rowView) Mistakes() []string {
	list := make([]string, len(r.Wrong))
	for i, w := range r.Wrong {
		if w.Shipment != "" && r.Before != nil {
			list[i] = "Shipped " + ago(r.Before.CreatedAt()) + " by " + carrierTitle(r.Before.Deal.Carrier) + numberWords(*r.Before) + "."
			continue
		}
		if w.Field == "" {
			list[i] = sentence(w.Detail)
			continue
		}
		list[i] = batch.Title(w.Field) + ": " + strings.TrimSuffix(w.Detail, ".") + "."
		if strings.HasSuffix(w.Detail, "?") {
			list[i] = batch.Title(w.Field) + ": " + w.Detail
		}
	}
	return list
}

// Inputs are the fields of the line, those with a mistake first.
func (r rowView) Inputs() []input {
	var wrong, right []input
	for i, name := range r.Of.Meaning.Columns {
		if name == "" {
			continue
		}
		in := input{Name: "field." + name, Label: batch.Title(name), Value: r.Cells[i], Wrong: sentence(r.At(name))}
		if in.Wrong != "" {
			in.Focus = len(wrong) == 0
			wrong = append(wrong, in)
		} else {
			right = append(right, in)
		}
	}
	return append(wrong, right...)
}

// changeBatch handles POST /app/{mode}/batches/{id}: buys it, tries again what
// was not sold, or throws it away.
func (s *Web) changeBatch(v *visit) error {
	b, err := v.batchOf()
	if err != nil {
		return err
	}
	to, details := v.to("batches", string(b.ID)), map[string]string{"file": b.Name}
	switch v.form("do") {
	case "buy":
		details["labels"], details["for"] = strconv.Itoa(b.Tally.Rows[batch.RowRated]), sums(b.Tally.Costs)
		details["format"] = cmp.Or(v.form("format"), b.Format)
		err = s.Batch.Buy(v.audited("batch.bought", "", details), v.tenant(), b.ID, details["format"])
	case "retry":
		err = s.Batch.Retry(v.audited("batch.retried", "", details), v.tenant(), b.ID)
	case "discard":
		if err = s.Batch.Discard(v.audited("batch.discarded", "", details), v.tenant(), b.ID); err == nil {
			return v.redirect(v.to("batches"), "deleted")
		}
	default:
		return errNoPage
	}
	if ship.KindOf(err) == ship.Conflict {
		// A second click finds the work begun, and the page that shows it.
		if now, err := s.Batch.Batch(v.ctx(), v.tenant(), b.ID); err == nil && (batchView{Batch: now}).Busy() {
			return v.redirect(to, "")
		}
		why, _ := problemsOf(err)
		return v.showBatch(http.StatusConflict, batchView{Batch: b, Problem: why.All})
	}
	if err != nil {
		return err
	}
	return v.redirect(to, "")
}
