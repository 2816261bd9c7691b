package rulebook

import (
	"fmt"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// maxParsed is how much memory the cache of parsed rate sheets takes, in bytes.
const maxParsed = 32 << 20

// sheetKey identifies a version of a sheet in the cache. What was imported as a
// version never changes.
func sheetKey(t ship.Tenant, name string, version int) string {
	return versionKey(t, version) + "/" + name
}

// parsedSheet is a sheet and how much memory it takes.
type parsedSheet struct {
	*sheet.Sheet
	bytes uint32
}

// newSheetCache returns a cache of pointers under strings, like all caches where
// that is possible: the generic code is then compiled only once.
func newSheetCache() (*otter.Cache[string, *parsedSheet], error) {
	return otter.New(&otter.Options[string, *parsedSheet]{
		MaximumWeight: maxParsed,
		Weigher:       func(_ string, parsed *parsedSheet) uint32 { return parsed.bytes },
	})
}

// parse parses the text of a sheet, or returns it from the cache. The result is
// shared and must not be modified.
func (s *Service) parse(t ship.Tenant, row store.RateSheet) (*sheet.Sheet, error) {
	key := sheetKey(t, row.Name, row.Version)
	if cached, ok := s.parsed.GetIfPresent(key); ok {
		return cached.Sheet, nil
	}

	// One at a time: parsing takes several times the size of the sheet, and
	// after a restart every account's sheets are parsed with its first purchase.
	s.parsing.Lock()
	defer s.parsing.Unlock()
	if cached, ok := s.parsed.GetIfPresent(key); ok {
		return cached.Sheet, nil
	}

	parsed, err := sheet.Parse([]byte(row.CSV))
	if err != nil {
		return nil, fmt.Errorf("read rate sheet %s: %w", row.Name, err)
	}
	s.parsed.Set(key, &parsedSheet{&parsed, uint32(parsed.MemoryBytes())})
	return &parsed, nil
}

// fillFromCache fills in the parsed sheet, and reports whether it was cached.
func (s *Service) fillFromCache(t ship.Tenant, target *Sheet) bool {
	cached, ok := s.parsed.GetIfPresent(sheetKey(t, target.Name, target.Version))
	if ok {
		target.Parsed = *cached.Sheet
	}
	return ok
}
