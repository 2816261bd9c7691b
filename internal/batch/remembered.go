package batch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// keptMappings is how many headers an account has remembered at most.
const keptMappings = 200

// headerHash identifies the titles of a file: their words in their order, however
// they are written.
func headerHash(header []string) [32]byte {
	folded := make([]string, len(header))
	for i, title := range header {
		folded[i] = fold(title)
	}
	return sha256.Sum256([]byte(strings.Join(folded, "\x00")))
}

// columnsOf returns what the columns of a file probably mean: what they meant last
// time, else a guess.
func (s *Service) columnsOf(ctx context.Context, account ship.AccountID, header []string) (ColumnMapping, error) {
	stored, err := s.Store.ColumnMapping(ctx, account, headerHash(header))
	if ship.KindOf(err) == ship.NotFound {
		return GuessColumns(header), nil
	}
	if err != nil {
		return ColumnMapping{}, err
	}

	var remembered ColumnMapping
	if err := json.Unmarshal(stored, &remembered); err != nil {
		return ColumnMapping{}, fmt.Errorf("read a remembered mapping: %w", err)
	}

	// A field that no longer exists would be refused later.
	isKnown := func(name string) bool {
		return name == "" || slices.ContainsFunc(Fields, func(field Field) bool { return field.Name == name })
	}
	if len(remembered.Columns) != len(header) || slices.ContainsFunc(remembered.Columns, func(name string) bool { return !isKnown(name) }) {
		return GuessColumns(header), nil
	}
	remembered.IsRemembered = true
	return remembered, nil
}

// remember keeps what the columns of a file mean for the next file with the same
// titles.
func remember(ctx context.Context, tx *store.Store, account ship.AccountID, header []string, mapping json.RawMessage) error {
	return tx.SaveColumnMapping(ctx, account, headerHash(header), mapping, keptMappings)
}
