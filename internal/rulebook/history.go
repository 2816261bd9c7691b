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
	Told
}

// Told is what a version is about.
type Told struct {
	Rules   int
	Changes map[string]int // against the version before, by the kind of difference
}

// toldKey names a version, which never changes.
func toldKey(t ship.Tenant, version int) string {
	return fmt.Sprintf("%s/%t/%d", t.Account, t.Livemode, version)
}

// toldVersions is how many versions are kept told.
const toldVersions = 50_000

func newTold() (*otter.Cache[string, *Told], error) {
	return otter.New(&otter.Options[string, *Told]{MaximumSize: toldVersions})
}

// History lists what was published, the newest first, before a version unless
// it is 0.
func (s *Service) History(ctx context.Context, t ship.Tenant, before, limit int) ([]Head, error) {
	rows, err := s.Store.RuleBookHeads(ctx, t, before, limit)
	if err != nil {
		return nil, err
	}
	list := make([]Head, len(rows))
	newest, oldest := 0, 0 // of those that are not known yet
	for i, row := range rows {
		list[i].RuleBook = row
		if told, ok := s.told.GetIfPresent(toldKey(t, row.Version)); ok {
			list[i].Told = *told
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
	read, err := s.tell(ctx, t, newest, oldest)
	for i := range list {
		if told, ok := read[list[i].Version]; ok {
			list[i].Told = told
		}
	}
	return list, err
}

// tell reads versions, and the one before them, and says what they are about.
func (s *Service) tell(ctx context.Context, t ship.Tenant, newest, oldest int) (map[int]Told, error) {
	versions, err := s.Versions(ctx, t, newest+1, newest-oldest+2)
	if err != nil {
		return nil, err
	}
	read := map[int]Told{}
	for i, v := range versions {
		var was routing.Book
		if i+1 < len(versions) {
			was = versions[i+1].Rules
		} else if v.RuleBook.Version > 1 {
			break // its predecessor was not read
		}
		told := Told{Rules: len(v.Rules.Rules), Changes: map[string]int{}}
		for _, d := range routing.Compare(was, v.Rules) {
			told.Changes[d.What]++
		}
		read[v.RuleBook.Version] = told
		s.told.Set(toldKey(t, v.RuleBook.Version), &told)
	}
	return read, nil
}
