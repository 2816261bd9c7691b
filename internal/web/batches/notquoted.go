package batches

import (
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/offers"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// summarizeQuotes reads which carriers did not quote the lines, where that can
// still be changed or is waited for.
func summarizeQuotes(v *site.Visit, page *batchView) (err error) {
	isRated := page.State == batch.Rating && page.Tally.Waiting(batch.Rating) == 0
	if page.ByAPI() || !isRated && page.State != batch.Ready {
		return nil
	}

	if page.Quotes, err = v.Batch.QuoteSummary(v.Context(), v.Tenant(), page.ID); err != nil {
		return err
	}
	page.Accounts, err = offers.ReadAccountNames(v)
	return err
}

// Awaits reports whether the batch waits until carriers can be asked again.
func (p batchView) Awaits() bool {
	return p.State == batch.Rating && p.Quotes.Waiting > 0 && p.Tally.Waiting(batch.Rating) == 0
}

// unquotedWords are the warnings before a purchase: "USPS did not quote 174 of 190
// orders: its rate limit is reached".
func (p batchView) unquotedWords(gap batch.QuoteGap) string {
	return accountTitle(gap.NotQuoted, p.Accounts) + " did not quote " + parts.Grouped(gap.Lines) + " of " +
		counted(p.Quotes.Orders, "order") + ": " + gap.Why()
}

// accountTitle is the name of a carrier, with that of its account where there are
// several.
func accountTitle(missed ship.NotQuoted, accounts offers.AccountNames) string {
	title := parts.CarrierTitle(missed.Carrier)
	if name := accounts[missed.Connection]; name != "" {
		title += " (" + name + ")"
	}
	return title
}

// awaited names the carriers that lines wait for: "USPS and FedEx".
func (p batchView) awaited() string {
	var names []string
	for _, gap := range p.Quotes.Gaps {
		if name := accountTitle(gap.NotQuoted, p.Accounts); gap.Reason.IsTemporary() && !strings.Contains(strings.Join(names, " "), name) {
			names = append(names, name)
		}
	}
	return joined(names)
}

// joined joins names: "UPS, USPS and FedEx".
func joined(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// buyQuestion asks before the batch is bought, with who did not quote.
func (p batchView) buyQuestion() string {
	words := "Buy " + counted(p.Tally.Rows[batch.RowRated], "label") + " for " + sums(p.Tally.Costs) + "?"
	for _, gap := range p.Quotes.Warnings() {
		words += " " + p.unquotedWords(gap) + "."
	}
	return words
}

// buyWord is the word of the button that buys.
func (p batchView) buyWord() string {
	if len(p.Quotes.Warnings()) > 0 {
		return "Buy anyway:"
	}
	return "Buy"
}

// aboutTime is a duration as people say it: "about 3 hours".
func aboutTime(d time.Duration) string {
	switch {
	case d <= 90*time.Second:
		return "about a minute"
	case d < 90*time.Minute:
		return "about " + strconv.Itoa(int(d.Round(time.Minute)/time.Minute)) + " minutes"
	case d < 48*time.Hour:
		return "about " + strconv.Itoa(int(d.Round(time.Hour)/time.Hour)) + " hours"
	}
	return "about " + strconv.Itoa(int(d.Hours()/24)) + " days"
}

// Missing says which carriers gave no rate for the line and could: by waiting, or
// if the order is completed; "" if all quoted that take it.
func (r rowView) Missing() string {
	var list []string
	for _, missed := range r.NotQuoted {
		if missed.Reason.CanChange() {
			list = append(list, accountTitle(missed, r.Accounts)+": "+batch.WhyNotQuoted(missed))
		}
	}
	if list == nil {
		return ""
	}
	return "No rate from " + strings.Join(list, "; ") + "."
}

// NotOffered names the carriers that do not take the order; "" if all do.
func (r rowView) NotOffered() string {
	var names []string
	for _, missed := range r.NotQuoted {
		if !missed.Reason.CanChange() {
			names = append(names, accountTitle(missed, r.Accounts))
		}
	}
	return joined(names)
}
