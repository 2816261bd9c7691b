package rulebook

import (
	"context"
	"fmt"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/routing"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// A Head is a published version without its rules.
type Head struct {
	store.RuleBook
	Summary
}

// A Summary is what a version contains and changed.
type Summary struct {
	Rules   int
	Changes map[string]int // against the version before, by the kind of difference
}

// versionKey identifies a version in the caches. A version never changes, so
// what is cached under its key stays valid.
func versionKey(t ship.Tenant, version int) string {
	return fmt.Sprintf("%s/%t/%d", t.Account, t.Livemode, version)
}

// maxSummaries is how many summaries are cached.
const maxSummaries = 50_000

func newSummaryCache() (*otter.Cache[string, *Summary], error) {
	return otter.New(&otter.Options[string, *Summary]{MaximumSize: maxSummaries})
}

// History lists what was published, the newest first, before a version unless
// it is 0.
func (s *Service) History(ctx context.Context, t ship.Tenant, before, limit int) ([]Head, error) {
	rows, err := s.Store.RuleBookHeads(ctx, t, before, limit)
	if err != nil {
		return nil, err
	}

	// Versions whose summary is not cached are read in one range, which may
	// contain cached ones as well.
	list := make([]Head, len(rows))
	newest := 0
	oldest := 0
	for i, row := range rows {
		list[i].RuleBook = row
		if summary, ok := s.summaries.GetIfPresent(versionKey(t, row.Version)); ok {
			list[i].Summary = *summary
			continue
		}
		if newest == 0 {
			newest = row.Version
		}
		oldest = row.Version
	}
	if newest == 0 {
		return list, nil
	}

	read, err := s.summarize(ctx, t, newest, oldest)
	for i := range list {
		if summary, ok := read[list[i].Version]; ok {
			list[i].Summary = summary
		}
	}
	return list, err
}

// summarize reads a range of versions, and the one before them to compare with,
// and caches their summaries.
func (s *Service) summarize(ctx context.Context, t ship.Tenant, newest, oldest int) (map[int]Summary, error) {
	versions, err := s.Versions(ctx, t, newest+1, newest-oldest+2)
	if err != nil {
		return nil, err
	}

	summaries := map[int]Summary{}
	for i, version := range versions {
		var previous routing.Book
		if i+1 < len(versions) {
			previous = versions[i+1].Rules
		} else if version.RuleBook.Version > 1 {
			break // its predecessor was not read
		}

		summary := Summary{Rules: len(version.Rules.Rules), Changes: map[string]int{}}
		for _, difference := range routing.Compare(previous, version.Rules) {
			summary.Changes[difference.What]++
		}
		summaries[version.RuleBook.Version] = summary
		s.summaries.Set(versionKey(t, version.RuleBook.Version), &summary)
	}
	return summaries, nil
}
