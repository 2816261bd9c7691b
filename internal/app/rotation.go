package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/config"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/plugin"
	"github.com/waybillhq/waybill/internal/privacy"
	"github.com/waybillhq/waybill/internal/restore"
	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/store"
	"github.com/waybillhq/waybill/internal/webhook"
)

// RotateOptions say how secrets are brought under the present key.
type RotateOptions struct {
	// All includes credentials that are under the present key already, for a
	// key service that makes new versions of its key.
	All bool
	// Progress is called for each secret that was re-encrypted or failed.
	Progress func(title string, resealed int)
	Log      *slog.Logger
}

// A RotatedKind is what became of the secrets of one kind.
type RotatedKind struct {
	Title    string
	Resealed int
	Failed   int // could not be decrypted
}

// A SecretRotation is the outcome of RotateSecrets.
type SecretRotation struct {
	Kinds []RotatedKind

	// Files of the recovery log that a server may still write to, and when
	// that has ended for all of them.
	InUse      int
	InUseUntil time.Time
}

// Failed counts the secrets that could not be decrypted.
func (r SecretRotation) Failed() (n int) {
	for _, kind := range r.Kinds {
		n += kind.Failed
	}
	return n
}

// rotatePasses bounds how often the stored secrets are gone over for what others
// have written meanwhile.
const rotatePasses = 3

// RotateSecrets brings every stored secret under the first key of the settings:
// those in the database, and those in SPOOL_DIR on this machine. Servers that have
// both keys are used meanwhile. It can be killed and run again at any time: each
// secret is under the old key or the new one, and both can be read.
func RotateSecrets(ctx context.Context, cfg config.Config, options RotateOptions) (SecretRotation, error) {
	st, accounts, done, err := openConnections(ctx, cfg, nil, options.Log)
	if err != nil {
		return SecretRotation{}, err
	}
	defer done()
	box, err := newBox(ctx, cfg, st)
	if err != nil {
		return SecretRotation{}, err
	}
	diskBox, err := newDiskBox(ctx, cfg, st)
	if err != nil {
		return SecretRotation{}, err
	}
	places, err := spoolPlaces(ctx, cfg, st)
	if err != nil {
		return SecretRotation{}, err
	}
	for _, place := range places {
		if err := mayWriteTo(place.dir); err != nil {
			return SecretRotation{}, err
		}
	}

	var rotation SecretRotation
	all := options.All
	kinds := []resealedKind{
		{store.WrappedCredentials, func(report func(error)) error {
			// What the first pass wrapped again is not wrapped another time.
			again := all
			all = false
			return rotateConnections(ctx, accounts, again, report)
		}},
		{store.SealedEndpoints.Title, func(report func(error)) error { return webhook.ResealSecrets(ctx, st, box, report) }},
		{store.SealedSeeds.Title, func(report func(error)) error { return member.ResealSeeds(ctx, st, box, report) }},
		{store.SealedAnswers.Title, func(report func(error)) error { return account.ResealAnswers(ctx, st, box, report) }},
		{store.SealedErasures.Title, func(report func(error)) error { return privacy.ResealErasures(ctx, st, box, report) }},
		{store.SealedExports.Title, func(report func(error)) error { return privacy.ResealExports(ctx, st, box, report) }},
		{store.SealedPlugins.Title, func(report func(error)) error { return plugin.ResealSecrets(ctx, st, box, report) }},
		{store.SealedMissing.Title, func(report func(error)) error { return restore.ResealEntries(ctx, st, box, report) }},
		{store.SealedSigning.Title, func(report func(error)) error {
			if err := resealSigningKey(ctx, st, box, report); err != nil {
				return err
			}
			return sealSigningKey(ctx, cfg, st, report)
		}},
	}
	for _, place := range places {
		files, err := resealFiles(ctx, place, diskBox, &rotation)
		if err != nil {
			return rotation, err
		}
		kinds = append(kinds, files...)
	}

	rotation.Kinds = make([]RotatedKind, len(kinds))
	for i, kind := range kinds {
		rotated := &rotation.Kinds[i]
		rotated.Title = kind.title

		// A server can write a secret under the old key that it read before it
		// was re-encrypted, so passes are repeated until one finds nothing.
		for range rotatePasses {
			before := rotated.Resealed
			rotated.Failed = 0
			err := kind.reseal(func(err error) {
				if err != nil {
					options.Log.WarnContext(ctx, "a secret cannot be decrypted", "kind", kind.title, "error", err)
					rotated.Failed++
					return
				}
				rotated.Resealed++
				options.Progress(kind.title, rotated.Resealed)
			})
			if err != nil {
				return rotation, fmt.Errorf("%s: %w", kind.title, err)
			}
			if rotated.Resealed == before {
				break
			}
		}
	}
	return rotation, nil
}

// resealedKind is how the secrets of one kind are re-encrypted.
type resealedKind struct {
	title  string
	reseal func(report func(error)) error
}

// resealFiles returns how the files of a directory are re-encrypted, and adds those
// that may still be written to.
func resealFiles(ctx context.Context, place spoolPlace, box *seal.Box, rotation *SecretRotation) ([]resealedKind, error) {
	spool, recoveryLog, err := openSpool(place.dir, box)
	if err != nil {
		return nil, err
	}

	// What no key opens in a directory that others use too is not the
	// installation's.
	ofInstallation := func(report func(error)) func(error) {
		return func(err error) {
			if err == nil || place.isOwn {
				report(err)
			}
		}
	}

	inUse := 0
	return []resealedKind{
		{spoolTitle + " (" + place.dir + ")", func(report func(error)) error {
			return spool.Reseal(ctx, ofInstallation(report))
		}},
		{recoveryLogTitle + " (" + place.dir + ")", func(report func(error)) error {
			left, until, err := recoveryLog.Reseal(ctx, time.Now(), ofInstallation(report))

			// Each pass counts anew.
			rotation.InUse += left - inUse
			inUse = left
			if until.After(rotation.InUseUntil) {
				rotation.InUseUntil = until
			}
			return err
		}},
	}, nil
}

const (
	spoolTitle       = "purchases in the local spool"
	recoveryLogTitle = "files of the recovery log"
)

// rotateConnections rewraps the data keys of all connections. It repeats its
// passes itself.
func rotateConnections(ctx context.Context, accounts *account.Service, all bool, report func(error)) error {
	rotation, err := accounts.RotateConnections(ctx, all)
	for range rotation.Rewrapped {
		report(nil)
	}
	for _, id := range rotation.Failed {
		report(fmt.Errorf("credentials of %s: %w; \"waybill connection check %s\" explains what to do", id, seal.ErrOpen, id))
	}
	return err
}

// A SecretKeyUse is how one key is used by stored secrets.
type SecretKeyUse struct {
	Key     []byte // of SECRET_KEY or the installation's own; nil for one that is not in the settings
	Present bool   // encrypts new secrets of these kinds
	Secrets int
	Kinds   []string // titles with counts
}

// InspectSecretKeys counts the stored secrets by their keys: in the order of the
// settings, then the installation's own key, then those that are in no setting,
// then the credentials under the first key that a key service should wrap.
// Credentials that a key service wraps are not counted.
func InspectSecretKeys(ctx context.Context, cfg config.Config) ([]SecretKeyUse, error) {
	st, err := openStore(ctx, cfg, nil)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	own, err := st.SigningKey(ctx)
	if err != nil {
		return nil, err
	}
	keys := append(slices.Clone(cfg.SecretKeys), own)
	box, err := seal.New(keys...)
	if err != nil {
		return nil, fmt.Errorf("load the key of stored secrets: %w", err)
	}

	counts, err := st.CountSecrets(ctx)
	if err != nil {
		return nil, err
	}
	files, err := countFiles(ctx, cfg, st, box)
	if err != nil {
		return nil, err
	}

	uses := make([]SecretKeyUse, len(keys)+2)
	for i, key := range keys {
		uses[i].Key = key
	}
	uses[0].Present = true
	unknown, notWrapped := len(keys), len(keys)+1
	uses[notWrapped].Key = keys[0]

	headers := box.KeyHeaders()
	for _, count := range append(counts, files...) {
		if len(count.Header) > 0 && count.Header[0] != headers[0][0] {
			continue // a key service's
		}
		i := slices.IndexFunc(headers, func(header []byte) bool { return bytes.Equal(header, count.Header) })
		switch {
		case i < 0:
			i = unknown
		case i == 0 && count.Title == store.WrappedCredentials && cfg.HasKeyService():
			i = notWrapped
		}
		uses[i].Secrets += count.Count
		uses[i].Kinds = append(uses[i].Kinds, fmt.Sprintf("%s: %d", count.Title, count.Count))
	}
	return uses, nil
}

// countFiles counts the secrets in the spool and the recovery log on this machine,
// wherever they may be.
func countFiles(ctx context.Context, cfg config.Config, st *store.Store, box *seal.Box) ([]store.SecretCount, error) {
	places, err := spoolPlaces(ctx, cfg, st)
	if err != nil {
		return nil, err
	}

	var counts []store.SecretCount
	for _, place := range places {
		spool, recoveryLog, err := openSpool(place.dir, box)
		if err != nil {
			return nil, err
		}
		count := func(title string) func([]byte) {
			return func(header []byte) {
				if !place.isOwn && !box.Holds(header) {
					return // another installation's
				}
				i := slices.IndexFunc(counts, func(c store.SecretCount) bool {
					return c.Title == title && bytes.Equal(c.Header, header)
				})
				if i < 0 {
					counts = append(counts, store.SecretCount{Title: title, Header: header})
					i = len(counts) - 1
				}
				counts[i].Count++
			}
		}
		if err := spool.Headers(count(spoolTitle + " (" + place.dir + ")")); err != nil {
			return nil, err
		}
		if err := recoveryLog.Headers(count(recoveryLogTitle + " (" + place.dir + ")")); err != nil {
			return nil, err
		}
	}
	return counts, nil
}
