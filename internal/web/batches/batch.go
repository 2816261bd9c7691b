package batches

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
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// batchView is the page of one batch.
type batchView struct {
	batch.Batch
	Show      string // which lines: a tab's name
	After     int
	Rows      []rowView
	Next      string
	Samples   [][]string // the first lines, shown beside the columns to map
	Problem   string
	Wrong     site.Problems // with the columns
	Doubtful  int           // lines that can be bought and whose addresses are doubtful
	Suggested int           // those of them for which the carrier suggests another address
	Shipped   int           // lines whose order was shipped before
	Retryable int           // lines that were not bought and can be retried
	Documents int           // customs documents of the shipments that were bought
	Countries []parts.Choice
	Locations []parts.Choice // none if the account has no location

	Quotes   batch.QuoteSummary // carriers that did not quote, before the purchase
	Accounts offers.AccountNames
}

// rowView is a line of the table.
type rowView struct {
	batch.Row
	Of       batch.Batch
	Values   map[string]string
	Shipment *ship.Shipment // that was bought for it; nil if none is known
	Before   *ship.Shipment // earlier shipment of the order, if the line is rejected for it
	Accounts offers.AccountNames
	Opened   bool // its form is shown
}

// A tab selects lines by their states.
type tab struct {
	Name, Title string
	States      []string
	Doubtful    bool // only those whose addresses are doubtful
}

var batchTabs = []tab{
	{Name: "bad", Title: "To fix", States: []string{batch.RowBad, batch.RowFailed}},
	{Name: "ready", Title: "Ready", States: []string{batch.RowRated, batch.RowGood, batch.RowBuying}},
	{Name: "skipped", Title: "Skipped", States: []string{batch.RowSkipped}},
	{Name: "pending", Title: "Pending", States: []string{batch.RowPending}},
	{Name: "bought", Title: "Bought", States: []string{batch.RowBought}},
	{Name: "addresses", Title: "Check address", States: []string{batch.RowRated}, Doubtful: true},
	{Name: "all", Title: "All"},
}

// Count returns the number of lines in the tab.
func (p batchView) Count(t tab) (n int) {
	if t.States == nil {
		return p.Tally.Total()
	}

	for _, state := range t.States {
		n += p.Tally.Rows[state]
	}
	return n
}

// Busy reports whether the batch is being processed.
func (p batchView) Busy() bool { return p.State == batch.Rating || p.State == batch.Buying }

// Done returns how many of the lines being processed are finished.
func (p batchView) Done() int { return p.Whole() - p.Tally.Waiting(p.State) }

// Whole returns how many lines are being processed.
func (p batchView) Whole() int {
	rows := p.Tally.Rows
	if p.State == batch.Rating {
		return p.Tally.Total() - rows[batch.RowSkipped] - rows[batch.RowPending] - rows[batch.RowBought]
	}
	return rows[batch.RowRated] + rows[batch.RowBuying] + rows[batch.RowPending] + rows[batch.RowBought] + rows[batch.RowFailed]
}

// Pending returns how many purchases are not settled yet.
func (p batchView) Pending() int { return p.Tally.Rows[batch.RowPending] }

// Again returns how often the page polls for the batch's progress; "" for
// never.
func (p batchView) Again() string {
	switch {
	case p.Awaits():
		return "every 10s"
	case p.Busy():
		return "every 700ms"
	case p.Pending() > 0:
		return "every 10s"
	}
	return ""
}

// Bought returns how many labels there are.
func (p batchView) Bought() int { return p.Tally.Rows[batch.RowBought] }

// asking returns the address that the page polls for the batch's progress. It
// says whether the batch was busy when the page was shown, so that the page is
// reloaded once the work is done.
func (p batchView) asking(path string) string {
	if p.Busy() {
		return path + "?busy=1"
	}
	return path
}

// mendWord says what to do about the lines that have errors.
func (p batchView) mendWord() string {
	if p.Count(batchTabs[0]) == 0 {
		return "nothing to fix"
	}
	if p.ByAPI() {
		return "send them again by the API"
	}
	return "fix or skip them"
}

// MayDiscard reports whether the batch can be discarded.
func (p batchView) MayDiscard() bool { return !p.Busy() && p.Bought()+p.Pending() == 0 }

// address returns the address of the lines of a tab after the given line.
func (p batchView) address(path, show string, after int) string {
	query := url.Values{"show": {show}}
	if after > 0 {
		query.Set("after", strconv.Itoa(after))
	}
	return path + "?" + query.Encode()
}

// getBatch handles GET /app/{account}/{mode}/batches/{id}.
func getBatch(v *site.Visit) error {
	current, err := batchOf(v)
	if err != nil {
		return err
	}
	page := batchView{Batch: current}
	if !v.IsPart() {
		return showBatch(v, http.StatusOK, page)
	}

	// The part is the summary, which the page polls for. When the work is done,
	// the table below it is out of date, so the whole page is loaded again.
	frame := v.Frame(current.Name, "batches")
	if err := countLines(v, &page); err != nil {
		return err
	}
	if page.Again() == "" || !page.Busy() && v.Query("busy") != "" {
		v.Writer.Header().Set("HX-Refresh", "true")
	}
	return v.Show(http.StatusOK, batchSummary(frame, page, false))
}

// showBatch answers with the page and its lines.
func showBatch(v *site.Visit, status int, page batchView) error {
	page.Countries = append([]parts.Choice{{Value: "", Title: "Account default"}}, parts.CountryChoices()...)
	locations, err := v.Account.Locations(v.Context(), v.Tenant())
	if err != nil {
		return err
	}
	for _, location := range locations {
		page.Locations = append(page.Locations, parts.Choice{Value: location.Name, Title: location.Name})
	}
	page.Show = v.Query("show")
	page.After, _ = strconv.Atoi(v.Query("after"))

	// Without a choice the page opens on the lines to fix, if there are any, and
	// on all lines while the batch is being processed.
	selected := slices.IndexFunc(batchTabs, func(t tab) bool { return t.Name == page.Show })
	if selected < 0 {
		selected = len(batchTabs) - 1
		if page.Count(batchTabs[0]) > 0 && !page.Busy() {
			selected = 0
		}
	}
	page.Show = batchTabs[selected].Name

	rows, more, err := rowsOf(v, page, batchTabs[selected])
	if err != nil {
		return err
	}
	for _, row := range rows[:min(len(rows), 3)] {
		page.Samples = append(page.Samples, row.Cells)
	}

	if err := countLines(v, &page); err != nil {
		return err
	}
	if page.Rows, err = rowViews(v, page.Batch, rows); err != nil {
		return err
	}
	if more {
		page.Next = page.address(v.To("batches", string(page.ID)), page.Show, rows[len(rows)-1].Number)
	}
	return v.Show(status, batchPage(v.Frame(page.Name, "batches"), page))
}

// rowsOf returns a page of the lines of a tab, and whether there are more.
func rowsOf(v *site.Visit, page batchView, t tab) (rows []batch.Row, more bool, err error) {
	if !t.Doubtful {
		return v.Batch.Rows(v.Context(), v.Tenant(), page.ID, page.After, site.PageSize, t.States...)
	}

	rows, err = v.Batch.Doubtful(v.Context(), v.Tenant(), page.ID)
	rows = slices.DeleteFunc(rows, func(r batch.Row) bool { return r.Number <= page.After })
	if len(rows) > site.PageSize {
		return rows[:site.PageSize], true, err
	}
	return rows, false, err
}

// countDoubtful counts the lines whose addresses should be looked at before they are
// bought.
func countDoubtful(v *site.Visit, page *batchView) error {
	if page.ByAPI() || page.Tally.Rows[batch.RowRated] == 0 {
		return nil
	}
	rows, err := v.Batch.Doubtful(v.Context(), v.Tenant(), page.ID)
	page.Doubtful = len(rows)
	for _, row := range rows {
		if row.Suggested() != nil {
			page.Suggested++
		}
	}
	return err
}

// countLines counts what the page's summary shows beside the tally. While the
// batch is being processed the summary shows none of it.
func countLines(v *site.Visit, page *batchView) error {
	if err := summarizeQuotes(v, page); err != nil {
		return err
	}
	if page.Busy() {
		return nil
	}
	if err := countShipped(v, page); err != nil {
		return err
	}
	if err := countDoubtful(v, page); err != nil {
		return err
	}
	return countDocuments(v, page)
}

// countShipped counts the lines whose order was shipped before, and those that
// can be retried: none of a batch that came by the API.
func countShipped(v *site.Visit, page *batchView) error {
	if page.ByAPI() {
		return nil
	}

	// No line has been checked until the columns are confirmed. Until then the
	// orders are looked up by what the columns probably mean.
	if page.State == batch.Mapping {
		found, err := v.Batch.ShippedBefore(v.Context(), page.Batch)
		page.Shipped = len(found)
		return err
	}

	rows, _, err := v.Batch.Rows(v.Context(), v.Tenant(), page.ID, 0, batch.MaxRows, batch.RowSkipped, batch.RowFailed)
	for _, row := range rows {
		switch {
		case row.Earlier() != "":
			page.Shipped++
		case row.State == batch.RowFailed:
			page.Retryable++
		}
	}
	return err
}

// countDocuments counts the customs documents of the shipments that were bought.
func countDocuments(v *site.Visit, page *batchView) error {
	if page.Bought() == 0 || !v.Who.Can(member.PrintLabels) {
		return nil
	}

	// A batch of the API can have so many that they are not read together.
	for part := 1; ; part++ {
		ids, err := v.Batch.Shipments(v.Context(), v.Tenant(), page.ID, part, shipping.MaxLabels)
		if err != nil || len(ids) == 0 {
			return err
		}
		known, err := v.Shipping.ShipmentsByID(v.Context(), v.Tenant(), ids)
		if err != nil {
			return err
		}
		for _, shipment := range known {
			if shipment.State == ship.StatePurchased {
				page.Documents += len(shipment.Purchase.Documents)
			}
		}
	}
}

// shipmentIDs returns the shipments that were bought for the lines.
func shipmentIDs(rows []batch.Row) []ship.ShipmentID {
	ids := make([]ship.ShipmentID, len(rows))
	for i, row := range rows {
		ids[i] = row.Shipment
	}
	return ids
}

// rowViews adds to lines the shipments that they are about.
func rowViews(v *site.Visit, current batch.Batch, rows []batch.Row) ([]rowView, error) {
	var ids []ship.ShipmentID
	for _, row := range rows {
		if row.BatchRow.Shipment != "" {
			ids = append(ids, row.BatchRow.Shipment)
		}
		if earlier := row.Earlier(); earlier != "" {
			ids = append(ids, earlier)
		}
	}

	accounts, err := offers.ReadAccountNames(v)
	if err != nil {
		return nil, err
	}
	known, err := v.Shipping.ShipmentsByID(v.Context(), v.Tenant(), ids)
	if err != nil {
		return nil, err
	}

	list := make([]rowView, len(rows))
	for i, row := range rows {
		list[i] = rowView{
			Row:      row,
			Of:       current,
			Values:   current.ColumnMapping.Values(row.Cells),
			Accounts: accounts,
		}
		if shipment, ok := known[row.BatchRow.Shipment]; ok {
			list[i].Shipment = &shipment
		}
		if shipment, ok := known[row.Earlier()]; ok {
			list[i].Before = &shipment
		}
	}
	return list, nil
}

// CanFix reports whether the line can be changed here: not in a batch that came
// by the API.
func (r rowView) CanFix() bool { return !r.Of.ByAPI() && r.Row.CanFix() }

// Place returns the line's destination, as far as it is filled in.
func (r rowView) Place() string {
	var parts []string
	for _, name := range []string{"city", "state", "country"} {
		if r.Values[name] != "" {
			parts = append(parts, r.Values[name])
		}
	}
	return strings.Join(parts, ", ")
}

// Mistakes describes what is wrong with the line, with the field's title first.
func (r rowView) Mistakes() []string {
	list := make([]string, len(r.Problems))
	for i, mistake := range r.Problems {
		title := batch.Title(mistake.Field)
		switch {
		case mistake.Shipment != "" && r.Before != nil:
			list[i] = "Shipped " + parts.Ago(r.Before.CreatedAt()) + " by " + parts.CarrierTitle(r.Before.Purchase.Carrier) + parts.NumberWords(*r.Before) + "."
		case mistake.Field == "":
			list[i] = parts.Sentence(mistake.Detail)
		case strings.HasSuffix(mistake.Detail, "?"):
			list[i] = title + ": " + mistake.Detail
		default:
			list[i] = title + ": " + strings.TrimSuffix(mistake.Detail, ".") + "."
		}
	}
	return list
}

// Doubtings describes what may be wrong with the line's address.
func (r rowView) Doubtings() []string {
	list := make([]string, len(r.Doubts))
	for i, doubt := range r.Doubts {
		list[i] = "Address: " + strings.TrimSuffix(doubt.Detail, ".") + "."
	}
	return list
}

// Objections describes what customs would object to.
func (r rowView) Objections() []string {
	list := make([]string, len(r.Warnings))
	for i, warning := range r.Warnings {
		title := "Customs"
		if warning.Field != "" {
			title = batch.Title(warning.Field)
		}
		list[i] = title + ": " + strings.TrimSuffix(warning.Detail, ".") + "."
	}
	return list
}

// Inputs returns the fields of the line, those with an error first.
func (r rowView) Inputs() []parts.Input {
	var invalid, valid []parts.Input
	for i, name := range r.Of.ColumnMapping.Columns {
		if name == "" {
			continue
		}

		field := parts.Input{
			Name:  "field." + name,
			Label: batch.Title(name),
			Value: r.Cells[i],
			Wrong: parts.Sentence(r.At(name)),
		}
		if field.Wrong == "" {
			valid = append(valid, field)
			continue
		}
		field.Focus = len(invalid) == 0
		invalid = append(invalid, field)
	}
	return append(invalid, valid...)
}

// changeBatch handles POST /app/{account}/{mode}/batches/{id}: it buys the batch,
// has lines quoted again or ends the waiting for that, retries the lines that were not
// sold, uses the addresses that carriers suggest, or discards it.
func changeBatch(v *site.Visit) error {
	current, err := batchOf(v)
	if err != nil {
		return err
	}
	address := v.To("batches", string(current.ID))
	details := map[string]string{"file": current.Name}

	switch v.Form("do") {
	case "buy":
		details["labels"] = strconv.Itoa(current.Tally.Rows[batch.RowRated])
		details["for"] = sums(current.Tally.Costs)
		details["format"] = cmp.Or(v.Form("format"), current.Format)
		err = v.Batch.Buy(v.Audited("batch.bought", "", details), v.Tenant(), current.ID, details["format"], v.Who.Actor.Person.ID)

	case "retry":
		err = v.Batch.Retry(v.Audited("batch.retried", "", details), v.Tenant(), current.ID)

	case "wait":
		err = v.Batch.QuoteAgain(v.Audited("batch.checked", "", details), v.Tenant(), current.ID)

	case "continue":
		err = v.Batch.KeepRates(v.Audited("batch.checked", "", details), v.Tenant(), current.ID)

	case "suggestions":
		err = v.Batch.UseSuggestions(v.Audited("batch.checked", "", details), v.Tenant(), current.ID)

	case "discard":
		err = v.Batch.Discard(v.Audited("batch.discarded", "", details), v.Tenant(), current.ID)
		if err == nil {
			return v.Redirect(v.To("batches"), "deleted")
		}

	default:
		return site.ErrNoPage
	}

	if ship.KindOf(err) == ship.Conflict {
		// A second click conflicts with the work that the first one began. The
		// person sees that work, not an error.
		if now, err := v.Batch.Batch(v.Context(), v.Tenant(), current.ID); err == nil && (batchView{Batch: now}).Busy() {
			return v.Redirect(address, "")
		}
		conflict, _ := site.ProblemsOf(err)
		return showBatch(v, http.StatusConflict, batchView{Batch: current, Problem: conflict.All})
	}
	if err != nil {
		return err
	}
	return v.Redirect(address, "")
}
