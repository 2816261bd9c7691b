package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/store"
)

// The installation's own key signs links and pushes. It is created in the database, and
// "waybill secret-key rotate" encrypts it with SECRET_KEY. Before there was a SECRET_KEY
// it also sealed other secrets, so it opens them until none is left.

// signingKeyBinding is what the encrypted key is bound to.
var signingKeyBinding = []string{"instance", "signing_key"}

// openSigningKey decrypts the key that is stored encrypted.
func openSigningKey(cfg config.Config, sealed []byte) ([]byte, error) {
	if len(cfg.SecretKeys) == 0 {
		return nil, errors.New("it is encrypted with SECRET_KEY, which is not set: " + config.HowToSetOutsideKey)
	}
	box, err := seal.New(cfg.SecretKeys...)
	if err != nil {
		return nil, fmt.Errorf("load the key of stored secrets: %w", err)
	}

	key, err := box.Open(sealed, signingKeyBinding...)
	if err != nil {
		return nil, fmt.Errorf("it is encrypted with a SECRET_KEY that is not in the settings: add it after the present one, separated by a comma: %w", err)
	}
	return key, nil
}

// newBox returns a box that seals with the operator's key. What was sealed before there
// was one is opened with the installation's, unless nothing is left that needs it: then
// whoever has learned that key cannot put secrets into the database either. Cells keep
// it, because rows of another cell may still need it.
func newBox(ctx context.Context, cfg config.Config, st *store.Store) (*seal.Box, error) {
	isSealed, err := st.IsSigningKeySealed(ctx)
	if err != nil {
		return nil, err
	}
	if isSealed && st.Cell() == "" && len(cfg.SecretKeys) > 0 {
		box, err := seal.New(cfg.SecretKeys...)
		if err != nil {
			return nil, fmt.Errorf("load the key of stored secrets: %w", err)
		}
		return box, nil
	}
	return newDiskBox(ctx, cfg, st)
}

// newDiskBox is newBox for what is on the disk of this machine. Which of the machines
// still have files under the installation's key is not known, so it always opens them.
func newDiskBox(ctx context.Context, cfg config.Config, st *store.Store) (*seal.Box, error) {
	own, err := st.SigningKey(ctx)
	if err != nil {
		return nil, err
	}

	box, err := seal.New(append(slices.Clone(cfg.SecretKeys), own)...)
	if err != nil {
		return nil, fmt.Errorf("load the key of stored secrets: %w", err)
	}
	return box, nil
}

// sealSigningKey encrypts the signing key with the first key of the settings, if there
// is one, and if no other secret of the database is under the signing key any more.
func sealSigningKey(ctx context.Context, cfg config.Config, st *store.Store, report func(error)) error {
	if len(cfg.SecretKeys) == 0 {
		return nil
	}
	isSealed, err := st.IsSigningKeySealed(ctx)
	if err != nil || isSealed {
		return err
	}

	own, err := st.SigningKey(ctx)
	if err != nil {
		return err
	}
	before, err := seal.New(own)
	if err != nil {
		return fmt.Errorf("load the signing key: %w", err)
	}
	counts, err := st.CountSecrets(ctx)
	if err != nil {
		return err
	}
	for _, count := range counts {
		if bytes.Equal(count.Header, before.KeyHeaders()[0]) {
			return nil // what failed above is reported there
		}
	}

	box, err := seal.New(cfg.SecretKeys...)
	if err != nil {
		return fmt.Errorf("load the key of stored secrets: %w", err)
	}
	if err := st.SealSigningKey(ctx, own, box.Seal(own, signingKeyBinding...)); err != nil {
		return err
	}
	report(nil)
	return nil
}

// resealSigningKey brings the encrypted signing key under the present key.
func resealSigningKey(ctx context.Context, st *store.Store, box *seal.Box, report func(error)) error {
	return st.ResealRows(ctx, store.SealedSigning, box.KeyHeaders()[0], func(row store.SealedRow) [][]byte {
		resealed, err := box.Reseal(row.Secrets[0], signingKeyBinding...)
		report(err)
		if err != nil {
			return nil
		}
		return [][]byte{resealed}
	})
}

// InspectSigningKey reports whether the signing key can be read in a copy of the
// database although there is a key to encrypt it with, and live connections whose
// pushes could be forged with it.
func InspectSigningKey(ctx context.Context, cfg config.Config) (isReadable bool, err error) {
	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return false, err
	}
	defer st.Close()

	isSealed, err := st.IsSigningKeySealed(ctx)
	if err != nil || isSealed || len(cfg.SecretKeys) == 0 {
		return false, err
	}
	live, err := st.LiveConnectionKeys(ctx)
	return len(live) > 0, err
}
