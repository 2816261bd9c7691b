package cli

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/app"
	"github.com/waybillhq/waybill/internal/config"
)

func (c *cli) secretKeyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret-key",
		Short: "Create, rotate and remove the keys that encrypt stored secrets",
		Long: "Manage the keys that encrypt stored secrets: carrier credentials, webhook secrets, authenticators\n" +
			"and the local spool. docs/keys.md describes a rotation step by step.",
		Args: requireSubcommand,
		RunE: showHelp,
	}

	cmd.AddCommand(
		c.secretKeyCreateCommand(),
		c.secretKeyAddCommand(),
		c.secretKeyRotateCommand(),
		c.secretKeyPruneCommand(),
	)
	return cmd
}

func (c *cli) secretKeyCreateCommand() *cobra.Command {
	return &cobra.Command{
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
	}
}

func (c *cli) secretKeyAddCommand() *cobra.Command {
	var standby bool
	cmd := &cobra.Command{
		Use:   "add FILE",
		Short: "Add a new key to a file of SECRET_KEY_FILE, and keep the old ones",
		Long: "Add a new random key to a file of SECRET_KEY_FILE. It comes first, so that it encrypts once the\n" +
			"service is restarted; the old keys still decrypt. If several copies of the service run, add it\n" +
			"with --standby first and restart all of them: they can then decrypt what others encrypt with it.",
		Example: "  waybill secret-key add /etc/waybill/secret-key",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			keys, err := readKeyFile(args[0])
			if err != nil {
				return err
			}

			if standby {
				keys = append(keys, newSecretKey())
			} else {
				keys = append([]string{newSecretKey()}, keys...)
			}
			if err := writeKeyFile(args[0], keys); err != nil {
				return err
			}
			fmt.Fprintf(c.Err, "%s has %d keys now: keep a copy of it, restart the service, then run \"waybill secret-key rotate\"\n", args[0], len(keys))
			return nil
		},
	}

	cmd.Flags().BoolVar(&standby, "standby", false, "add it as the last key: it decrypts, and does not encrypt yet")
	return cmd
}

func (c *cli) secretKeyRotateCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Re-encrypt all stored secrets with the current SECRET_KEY or SECRET_KMS",
		Long: "Re-encrypt all stored secrets with the first key of SECRET_KEY, SECRET_KEY_FILE or SECRET_KMS: those\n" +
			"in the database, and those in SPOOL_DIR on this machine. The service keeps running, if it was\n" +
			"restarted with both keys. The command can be stopped and run again at any time. Run it as the user\n" +
			"of the service, and on every machine that has a SPOOL_DIR.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.rotateSecrets(cmd.Context(), all)
		},
	}

	cmd.Flags().BoolVar(&all, "all", false, "include credentials already under the current key, for a key service that has rotated it")
	return cmd
}

// progressEvery is after how many secrets the progress of a rotation is shown.
const progressEvery = 1000

func (c *cli) rotateSecrets(ctx context.Context, all bool) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	rotation, err := app.RotateSecrets(ctx, cfg, app.RotateOptions{
		All: all,
		Log: app.NewLogger(cfg, c.Err),
		Progress: func(title string, resealed int) {
			if resealed%progressEvery == 0 {
				fmt.Fprintf(c.Err, "%s: %d re-encrypted so far\n", title, resealed)
			}
		},
	})

	// What is done stays done if the rest fails.
	for _, kind := range rotation.Kinds {
		if kind.Title != "" {
			fmt.Fprintf(c.Out, "%s: %d re-encrypted, %d failed\n", kind.Title, kind.Resealed, kind.Failed)
		}
	}
	if err != nil {
		return fmt.Errorf("%w; run the command again: it continues where it stopped", err)
	}

	// The exit code says whether the old key may be removed.
	if rotation.InUse > 0 {
		fmt.Fprintf(c.Out, "%d files of the recovery log may still be written to; run the command again after %s, or keep the old key for three days\n",
			rotation.InUse, rotation.InUseUntil.Local().Format("15:04 on 2 January"))
	}
	if rotation.Failed() > 0 || rotation.InUse > 0 {
		return ErrUnhealthy
	}
	fmt.Fprintln(c.Out, `all stored secrets are encrypted with the current key; "waybill doctor" says when the old key can be removed`)
	return nil
}

func (c *cli) secretKeyPruneCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "prune FILE",
		Short: "Remove the keys that no stored secret needs from a file of SECRET_KEY_FILE",
		Long: "Remove old keys from a file of SECRET_KEY_FILE. The first key is kept, and so is every key that a\n" +
			"stored secret in the database, or in SPOOL_DIR on this machine, is encrypted with.",
		Example: "  waybill secret-key prune /etc/waybill/secret-key",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.pruneKeys(cmd.Context(), args[0])
		},
	}
}

func (c *cli) pruneKeys(ctx context.Context, path string) error {
	cfg, err := c.settings()
	if err != nil {
		return err
	}
	keys, err := readKeyFile(path)
	if err != nil {
		return err
	}

	// The keys are counted as the file has them, whatever the settings are.
	if cfg.SecretKeys, err = config.ParseSecretKeys(strings.Join(keys, ",")); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	uses, err := app.InspectSecretKeys(ctx, cfg)
	if err != nil {
		return err
	}

	var kept []string
	for i, key := range keys {
		if i == 0 || uses[i].Secrets > 0 {
			kept = append(kept, key)
		}
		if i > 0 && uses[i].Secrets > 0 {
			fmt.Fprintf(c.Err, "key %d is kept, because stored secrets need it (%s): run \"waybill secret-key rotate\"\n", i+1, strings.Join(uses[i].Kinds, ", "))
		}
	}
	if len(kept) < len(keys) {
		if err := writeKeyFile(path, kept); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.Out, "%d of %d keys were removed\n", len(keys)-len(kept), len(keys))
	return nil
}

// readKeyFile reads the keys in a file, the current one first.
func readKeyFile(path string) (keys []string, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the secret keys: %w; create the file with \"waybill secret-key create\"", err)
	}
	if _, err := config.ParseSecretKeys(string(content)); err != nil {
		return nil, fmt.Errorf("%s: a key %w", path, err)
	}

	for key := range strings.SplitSeq(string(content), ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no key; create another file with \"waybill secret-key create\"", path)
	}
	return keys, nil
}

// writeKeyFile replaces the keys in a file.
func writeKeyFile(path string, keys []string) error {
	if err := writeAndMove(path, strings.Join(keys, ",\n")+"\n", os.Rename); err != nil {
		return fmt.Errorf("store the secret keys: %w", err)
	}
	return nil
}

func newSecretKey() string {
	random := make([]byte, 32)
	rand.Read(random) // never fails
	return base64.StdEncoding.EncodeToString(random)
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

	key = newSecretKey()

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

	// An administrator may change the file of the service's own user, who must
	// still be able to read it.
	if old, statErr := os.Stat(path); statErr == nil {
		if owner, ok := old.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
			err = draft.Chown(int(owner.Uid), int(owner.Gid))
		}
	}

	// What a key has encrypted is lost with it, so it must be on the disk
	// before it is used.
	if err == nil {
		_, err = draft.WriteString(text)
	}
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	return move(draft.Name(), path)
}
