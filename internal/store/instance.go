package store

import (
	"context"
	"fmt"
	"time"
)

// What the installation knows of itself: its signing key, and when it was restored.

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

const sqlRestored = `SELECT restored_at FROM instance`

// RestoredAt returns when the database was last restored to an earlier moment;
// the zero time if never.
func (s *Store) RestoredAt(ctx context.Context) (time.Time, error) {
	var at *time.Time
	err := s.sys.QueryRow(ctx, sqlRestored).Scan(&at)
	return timeOrZero(at), explain(err)
}

const sqlSetRestored = `UPDATE instance SET restored_at = now()`

// SetRestored records that the database was restored to an earlier moment.
func (s *Store) SetRestored(ctx context.Context) error {
	_, err := s.sys.Exec(ctx, sqlSetRestored)
	return explain(err)
}
