package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

// devState is what "waybill dev" keeps from one start to the next, in a
// directory of this user: the key that encrypts stored secrets, the test key of
// each demo account, and the settings of the last start for other terminals.
type devState struct{ dir string }

// openState finds or creates the directory, and uses the secret key in it
// unless the environment has one.
func (d *dev) openState() error {
	dir, err := d.stateDir()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("create the data directory: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the data directory: %w", err)
	}
	d.state = devState{dir}

	// The user's own key wins: what it encrypted could not be read otherwise.
	for _, name := range []string{"SECRET_KEY", "SECRET_KEY_FILE"} {
		if given, _ := d.Env(name); given != "" {
			return nil
		}
	}
	d.secretKey, _, err = ensureKeyFile(filepath.Join(dir, "secret-key"))
	return err
}

// stateDir returns the directory of --data-dir, or else one among this user's
// data.
func (d *dev) stateDir() (string, error) {
	if d.dataDir != "" {
		dir, err := filepath.Abs(d.dataDir)
		return filepath.Join(dir, "dev"), err
	}
	if dir, ok := d.Env("XDG_DATA_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "waybill", "dev"), nil
	}
	home, ok := d.Env("HOME")
	if !ok || home == "" {
		return "", errors.New("HOME is not set: choose a data directory with --data-dir")
	}
	return filepath.Join(home, ".local", "share", "waybill", "dev"), nil
}

// apiKey returns the test key that was created for the account, if there is
// one.
func (s devState) apiKey(account ship.AccountID) (ship.Key, bool) {
	text, err := os.ReadFile(s.apiKeyPath(account))
	key := strings.TrimSpace(string(text))
	return ship.Key(key), err == nil && key != ""
}

func (s devState) keepAPIKey(account ship.AccountID, key ship.Key) error {
	if err := s.write(s.apiKeyPath(account), string(key)+"\n"); err != nil {
		return fmt.Errorf("store the test key: %w", err)
	}
	return nil
}

func (s devState) apiKeyPath(account ship.AccountID) string {
	return filepath.Join(s.dir, "api-key-"+string(account))
}

// envPath returns the file that gives another terminal the settings of this
// start.
func (s devState) envPath() string { return filepath.Join(s.dir, "env") }

// keepEnv writes settings as lines that a shell reads. A setting without a
// value is left out.
func (s devState) keepEnv(settings [][2]string) error {
	var text strings.Builder
	for _, setting := range settings {
		if setting[1] != "" {
			fmt.Fprintf(&text, "export %s='%s'\n", setting[0], strings.ReplaceAll(setting[1], "'", `'\''`))
		}
	}
	if err := s.write(s.envPath(), text.String()); err != nil {
		return fmt.Errorf("write the settings for other terminals: %w", err)
	}
	return nil
}

// write replaces a file as a whole. Only this user can read it.
func (s devState) write(path, text string) error {
	return writeAndMove(path, text, os.Rename)
}
