package rulebook

import (
	"fmt"

	"github.com/maypok86/otter/v2"

	"github.com/waybillhq/waybill/internal/sheet"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// sheetText is how much text of rate sheets is kept read, in bytes.
const sheetText = 32 << 20

// parsedKey names a text: what was imported as a version never changes.
func parsedKey(t ship.Tenant, name string, version int) string {
	return toldKey(t, version) + "/" + name
}

// parsedSheet is a sheet and the length of its text.
type parsedSheet struct {
	*sheet.Sheet
	bytes uint32
}

// newParsed holds pointers under texts, as all caches that can: for all of them
// the cache is compiled once.
func newParsed() (*otter.Cache[string, *parsedSheet], error) {
	return otter.New(&otter.Options[string, *parsedSheet]{
		MaximumWeight: sheetText,
		Weigher:       func(_ string, p *parsedSheet) uint32 { return p.bytes },
	})
}

// parse reads the text of a sheet once. Nobody changes what it returns.
func (s *Service) parse(t ship.Tenant, row store.RateSheet) (*sheet.Sheet, error) {
	key := parsedKey(t, row.Name, row.Version)
	if known, ok := s.parsed.GetIfPresent(key); ok {
		return known.Sheet, nil
	}
	parsed, err := sheet.Parse([]byte(row.CSV))
	if err != nil {
		return nil, fmt.Errorf("read rate sheet %s: %w", row.Name, err)
	}
	s.parsed.Set(key, &parsedSheet{&parsed, uint32(min(len(row.CSV), sheet.MaxBytes))})
	return &parsed, nil
}

// readBefore fills in what is in the sheet, if it is known.
func (s *Service) readBefore(t ship.Tenant, sh *Sheet) bool {
	known, ok := s.parsed.GetIfPresent(parsedKey(t, sh.Name, sh.Version))
	if ok {
		sh.Parsed = *known.Sheet
	}
	return ok
}
