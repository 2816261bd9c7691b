package batch

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A QuoteSummary says which carriers did not quote the lines of a batch, before
// the lines are bought by what others offer.
type QuoteSummary struct {
	Orders  int           // lines that carriers were asked about
	Waiting int           // lines that wait to be quoted again
	Gaps    []QuoteGap    // those with the most lines first
	Again   int           // lines that quoting again can help
	Takes   time.Duration // how long quoting them again takes, at least
}

// A QuoteGap is a carrier that did not quote lines of a batch, and why.
type QuoteGap struct {
	ship.NotQuoted
	Lines int
}

// Warnings are the gaps that somebody can close: by waiting, or by fixing the
// orders or the account. A carrier that does not offer what is asked is none.
func (q QuoteSummary) Warnings() []QuoteGap {
	return slices.DeleteFunc(slices.Clone(q.Gaps), func(gap QuoteGap) bool { return !gap.Reason.CanChange() })
}

// QuoteSummary says which carriers did not quote the lines of a batch.
func (s *Service) QuoteSummary(ctx context.Context, t ship.Tenant, id ship.BatchID) (QuoteSummary, error) {
	stored, err := s.Store.QuoteGaps(ctx, t, id)
	if err != nil {
		return QuoteSummary{}, err
	}

	now := time.Now()
	var summary QuoteSummary
	for _, found := range stored {
		summary.Orders = found.Quoted
		summary.Waiting = found.Waiting

		gap := QuoteGap{NotQuoted: found.NotQuoted, Lines: found.Lines}
		if gap.Reason.IsTemporary() {
			summary.Again = max(summary.Again, gap.Lines)

			// The carrier may be asked earlier or later than when the lines were
			// quoted: others ask it too.
			wait := s.waitFor(gap.NotQuoted, 1)
			if wait > 0 {
				gap.RetryAt = now.Add(wait).UTC().Truncate(time.Second)
			}
			summary.Takes = max(summary.Takes, s.waitFor(gap.NotQuoted, gap.Lines), gap.RetryAt.Sub(now))
		}
		summary.Gaps = append(summary.Gaps, gap)
	}
	return summary, nil
}

// waitFor returns how long it takes until a carrier that did not quote can have
// been asked for so many rates.
func (s *Service) waitFor(missed ship.NotQuoted, rates int) time.Duration {
	if s.Wait == nil || missed.Connection == "" {
		return 0
	}
	return s.Wait(missed.Connection, rates)
}

// temporaryReasons are those for which a line is quoted again.
var temporaryReasons = []ship.NotQuotedReason{
	ship.NotQuotedLimited,
	ship.NotQuotedTimeout,
	ship.NotQuotedUnavailable,
	ship.NotQuotedPaused,
}

// QuoteAgain has the lines quoted again that a carrier could not quote, as soon
// as it can be asked. The lines keep the rates that they have until then.
func (s *Service) QuoteAgain(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	stored, err := s.Store.Batch(ctx, t, id)
	if err != nil {
		return notFound(err)
	}
	if (Batch{Batch: stored}).ByAPI() {
		return errByAPI
	}

	return s.Store.InTx(ctx, t, func(tx *store.Store) error {
		if err := startWork(ctx, tx, t, id, Rating, Ready, Done); err != nil {
			return err
		}
		waiting, err := tx.RequoteBatchRows(ctx, t, id, temporaryReasons)
		if err == nil && waiting == 0 {
			err = ship.Errorf(ship.Conflict, "all carriers that can quote the lines have quoted them")
		}
		if err != nil {
			return err
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "batch.checked", string(id)))
	})
}

// KeepRates ends the waiting of a batch: its lines keep the rates that they have
// by now, and it can be bought.
func (s *Service) KeepRates(ctx context.Context, t ship.Tenant, id ship.BatchID) error {
	batch, err := s.Batch(ctx, t, id)
	if err != nil {
		return err
	}

	return s.Store.InTx(ctx, t, func(tx *store.Store) error {
		if err := tx.KeepBatchRates(ctx, t, id); err != nil {
			return err
		}

		// Lines without any rate are still being rated. The job that does it
		// ends the work when it is done with them.
		if batch.State == Rating && batch.Tally.Waiting(Rating) == 0 {
			to := Ready
			rows := batch.Tally.Rows
			if rows[RowRated] == 0 && rows[RowBought]+rows[RowPending] > 0 {
				to = Done
			}
			// A conflict means that the job has just moved the batch on.
			err := tx.MoveBatch(ctx, t, id, to, nil, Rating)
			if err != nil && ship.KindOf(err) != ship.Conflict {
				return err
			}
		}
		return tx.AuditChange(ctx, store.EntryOf(t, "batch.checked", string(id)))
	})
}

// The bounds of how long a batch waits before it asks a carrier again.
const (
	minRequotePause = time.Second
	maxRequotePause = 5 * time.Minute
)

// requote quotes lines again that wait for a carrier, as many as its quota has
// room for. What it returns beside the error is after how long to continue; zero
// if no line waits.
func (s *Service) requote(ctx context.Context, batch Batch, reader reader, until time.Time, isLate func() bool) (time.Duration, error) {
	for {
		rows, err := s.Store.WaitingBatchRows(ctx, batch.Tenant, batch.ID, concurrency)
		if err != nil || len(rows) == 0 {
			return 0, err
		}

		// Lines beyond the quota would spend the calls of other carriers and
		// come back without the one that they wait for.
		wait := s.waitOf(rows, 1)
		if wait > 0 {
			return min(max(wait, minRequotePause), maxRequotePause), nil
		}
		for len(rows) > 1 && s.waitOf(rows, len(rows)) > 0 {
			rows = rows[:len(rows)-1]
		}
		if _, err := s.workOnRows(ctx, batch, reader, rows, isLate); err != nil {
			return 0, err
		}

		// A carrier that still cannot be asked, although its quota here has room,
		// said so itself: its own time counts.
		left, err := s.Store.WaitingBatchRows(ctx, batch.Tenant, batch.ID, 1)
		if err != nil {
			return 0, err
		}
		if len(left) > 0 && left[0].Number == rows[0].Number && s.waitOf(left, 1) == 0 {
			return min(max(retryIn(left[0]), retryDelay), maxRequotePause), nil
		}
		if time.Now().After(until) || isLate() {
			return turnPause, nil
		}
	}
}

// waitOf returns how long it takes until the carriers that the first line waits
// for can have been asked for so many rates.
func (s *Service) waitOf(rows []store.BatchRow, rates int) (wait time.Duration) {
	for _, missed := range rows[0].NotQuoted {
		if missed.Reason.IsTemporary() {
			wait = max(wait, s.waitFor(missed, rates))
		}
	}
	return wait
}

// retryIn returns after how long the carriers that a line waits for said that
// they can be asked again.
func retryIn(row store.BatchRow) (wait time.Duration) {
	for _, missed := range row.NotQuoted {
		if !missed.RetryAt.IsZero() {
			wait = max(wait, time.Until(missed.RetryAt))
		}
	}
	return wait
}

// requoteRow quotes a line again. It waits on only while a carrier cannot be
// asked; one that was asked and did not answer is asked a few times.
func (s *Service) requoteRow(ctx context.Context, reader reader, row *store.BatchRow) {
	before := *row
	row.NotQuoted = nil
	row.Requote = false
	s.rateRow(ctx, reader, row)

	// A rate that was shown stays until there is another one.
	if row.State == RowBad && before.State == RowRated && isTemporary(row.NotQuoted) {
		row.State = before.State
		row.Problems = before.Problems
	}

	switch {
	case isLimited(row.NotQuoted):
		row.Requote = true
		row.Tries = before.Tries
	case isTemporary(row.NotQuoted) && before.Tries+1 < maxTries:
		row.Requote = true
		row.Tries = before.Tries + 1
	default:
		row.Tries = 0
	}
}

// isTemporary reports whether a carrier may quote the same order later.
func isTemporary(list []ship.NotQuoted) bool {
	return slices.ContainsFunc(list, func(missed ship.NotQuoted) bool { return missed.Reason.IsTemporary() })
}

// isLimited reports whether a carrier was not asked, and says when it can be.
func isLimited(list []ship.NotQuoted) bool {
	return slices.ContainsFunc(list, func(missed ship.NotQuoted) bool {
		return missed.Reason == ship.NotQuotedLimited || missed.Reason == ship.NotQuotedPaused
	})
}

// notQuotedFor returns the carriers that gave no offer for a shipment of a batch
// that came by the API: its lines are quoted when they are bought.
func notQuotedFor(shipment ship.Shipment) []ship.NotQuoted {
	list := []ship.NotQuoted{}
	for _, failed := range shipment.Purchase.Routing.Failed {
		if failed.Service == "" && failed.Reason != "" {
			list = append(list, ship.NotQuoted{Carrier: failed.Carrier, Reason: failed.Reason})
		}
	}
	return list
}

// Why says why the carrier did not quote, as the end of a sentence: "it did not
// answer in time".
func (g QuoteGap) Why() string { return WhyNotQuoted(g.NotQuoted) }

// WhyNotQuoted says why a carrier did not quote, as the end of a sentence.
func WhyNotQuoted(missed ship.NotQuoted) string {
	switch missed.Reason {
	case ship.NotQuotedLimited:
		return "its rate limit is reached"
	case ship.NotQuotedTimeout:
		return "it did not answer in time"
	case ship.NotQuotedPaused:
		return "it does not answer at the moment"
	case ship.NotQuotedCredentials:
		return "it does not accept the account or its credentials"
	case ship.NotQuotedIncomplete:
		return "it needs " + needed(missed.Fields)
	case ship.NotQuotedRefused:
		return "it does not offer this shipment"
	}
	return "it could not be reached"
}

// neededWords are what carriers need for a price, by the last part of a pointer.
var neededWords = map[string]string{
	"dimensions":    "length, width and height",
	"weight":        "the weight",
	"phone":         "phone number",
	"email":         "e-mail address",
	"zip":           "postal code",
	"address1":      "street",
	"customs":       "a customs declaration",
	"items":         "a customs declaration",
	"value":         "the value of the goods",
	"originCountry": "the country that the goods were made in",
	"servicePoint":  "a service point",
	"signature":     "a signature on delivery",
}

// needed names what pointers stand for: "length, width and height".
func needed(pointers []string) string {
	var list []string
	for _, pointer := range pointers {
		parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		last := parts[len(parts)-1]
		word := cmp.Or(neededWords[last], "the field "+pointer)
		switch {
		case parts[0] == "destination" && last != "servicePoint":
			word = "the recipient's " + cmp.Or(neededWords[last], last)
		case parts[0] == "origin":
			word = "the sender's " + cmp.Or(neededWords[last], last)
		}
		if !slices.Contains(list, word) {
			list = append(list, word)
		}
	}
	return strings.Join(list, " and ")
}
