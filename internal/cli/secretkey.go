package cli

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func (c *cli) secretKeyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret-key",
		Short: "Manage the key that encrypts stored secrets",
	}

	cmd.AddCommand(&cobra.Command{
		Use:   "create FILE",
		Short: "Create a file for SECRET_KEY_FILE, unless it exists",
		Long: "Create a file with a random key for SECRET_KEY_FILE. A file that exists is left as it is, so the\n" +
			"command can run before every start. Only the current user can read the file. Keep a copy of it,\n" +
			"but not together with backups of the database: without the key, every carrier has to be\n" +
			"connected again.",
		Example: "  waybill secret-key create /etc/waybill/secret-key",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			_, created, err := ensureKeyFile(args[0])
			if err != nil {
				return err
			}
			if created {
				fmt.Fprintf(c.Err, "created %s: keep a copy of it, but not together with backups of the database\n", args[0])
			}
			return nil
		},
	})
	return cmd
}

// ensureKeyFile returns the key in a file. If there is no such file, it is
// created with a random key.
func ensureKeyFile(path string) (key string, created bool, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(text)), false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("read the secret key: %w", err)
	}

	random := make([]byte, 32)
	rand.Read(random) // never fails
	key = base64.StdEncoding.EncodeToString(random)

	// Two commands may start at once. The first to link its file decides, and
	// the other reads its key.
	switch err := writeAndMove(path, key+"\n", os.Link); {
	case errors.Is(err, fs.ErrExist):
		return ensureKeyFile(path)
	case err != nil:
		return "", false, fmt.Errorf("store the secret key: %w", err)
	}
	return key, true, nil
}

// writeAndMove writes a draft that only this user can read, and moves it to its
// path: nobody reads half a file.
func writeAndMove(path, text string, move func(from, to string) error) error {
	draft, err := os.CreateTemp(filepath.Dir(path), ".new-") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }()

	// What a key has encrypted is lost with it, so it must be on the disk
	// before it is used.
	_, err = draft.WriteString(text)
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return move(draft.Name(), path)
}
