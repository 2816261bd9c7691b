package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// What the installation knows of itself: its signing key.

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
