package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// What the installation knows of itself: its signing key, and when it was restored.

const sqlSigningKey = `SELECT signing_key, sealed_signing_key FROM instance`

// SigningKey returns the installation's own secret: it signs rate tokens and
// label links, and makes carrier references.
func (s *Store) SigningKey(ctx context.Context) ([]byte, error) {
	var key, sealed []byte
	if err := s.sys.QueryRow(ctx, sqlSigningKey).Scan(&key, &sealed); err != nil {
		return nil, fmt.Errorf("signing key: %w", explain(err))
	}
	if sealed == nil {
		return key, nil
	}

	if s.openKey == nil {
		return nil, errors.New("signing key: it is encrypted, and this command has no keys")
	}
	key, err := s.openKey(sealed)
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	return key, nil
}

const sqlIsSigningKeySealed = `SELECT sealed_signing_key IS NOT NULL FROM instance`

// IsSigningKeySealed reports whether the key is encrypted where it is stored.
func (s *Store) IsSigningKeySealed(ctx context.Context) (bool, error) {
	return selectOne(ctx, s.sys, pgx.RowTo[bool], sqlIsSigningKeySealed)
}

const sqlSealSigningKey = `UPDATE instance SET signing_key = NULL, sealed_signing_key = @sealed WHERE signing_key = @key`

// SealSigningKey replaces the key by its encrypted form, for good. It does nothing if
// somebody else was faster.
func (s *Store) SealSigningKey(ctx context.Context, key, sealed []byte) error {
	_, err := s.run(ctx, sqlSealSigningKey, pgx.NamedArgs{"key": key, "sealed": sealed})
	return err
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
