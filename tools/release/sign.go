package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"aead.dev/minisign"
)

// checksums names the file that the signature is for. It covers all the others.
const checksums = "checksums.txt"

func (r *release) writeChecksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}

	// In the format of sha256sum.
	var list bytes.Buffer
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return err
		}
		sum := sha256.New()
		size, err := io.Copy(sum, file)
		_ = file.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sum.Sum(nil), entry.Name())
		fmt.Printf("release: %6.1f MB  %s\n", float64(size)/1e6, entry.Name())
	}
	return os.WriteFile(filepath.Join(r.out, checksums), list.Bytes(), 0o644)
}

// signingKey reads the secret key from the environment. It is nil without one.
func signingKey() (*minisign.PrivateKey, error) {
	text := os.Getenv("RELEASE_KEY")
	if text == "" {
		return nil, nil
	}

	var key minisign.PrivateKey
	var err error
	if minisign.IsEncrypted([]byte(text)) {
		key, err = minisign.DecryptKey(os.Getenv("RELEASE_KEY_PASSWORD"), []byte(text))
	} else {
		err = key.UnmarshalText([]byte(text))
	}
	if err != nil {
		return nil, fmt.Errorf("RELEASE_KEY must hold a minisign secret key, and RELEASE_KEY_PASSWORD its password: %w", err)
	}
	return &key, nil
}

// sign writes the signature of the checksums. Its comment has no time, which
// would differ in every run.
func (r *release) sign(key *minisign.PrivateKey) error {
	message, err := os.ReadFile(filepath.Join(r.out, checksums))
	if err != nil {
		return err
	}

	// The hashed form is the one that minisign itself writes.
	reader := minisign.NewReader(bytes.NewReader(message))
	if _, err := io.Copy(io.Discard, reader); err != nil {
		return err
	}
	signature := reader.SignWithComments(*key, "waybill "+r.version, "signature of the checksums of waybill "+r.version)

	fmt.Printf("release: signed with key %016X\n", key.ID())
	return os.WriteFile(filepath.Join(r.out, checksums+".minisig"), signature, 0o644)
}
