package store

import (
	"context"
	"fmt"
)

// What the installation knows of itself: its signing key.

const sqlSigningKey = `SELECT signing_key FROM instance`

// SigningKey returns the installation's own secret: it signs rate tokens and
// label links, and makes carrier references.
func (s *Store) SigningKey(ctx context.Context) ([]byte, error) {
	var key []byte
	if err := s.sys.QueryRow(ctx, sqlSigningKey).Scan(&key); err != nil {
		return nil, fmt.Errorf("signing key: %w", explain(err))
	}
	return key, nil
}
