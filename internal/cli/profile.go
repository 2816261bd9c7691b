package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/waybillhq/waybill/client"
)

// A profile is a service and a key for it.
type profile struct {
	URL         string `yaml:"url"`
	Key         string `yaml:"key,omitempty"`
	KeyCommand  string `yaml:"keyCommand,omitempty"` // prints the key, instead of Key
	Account     string `yaml:"account,omitempty"`
	AccountName string `yaml:"accountName,omitempty"`
	KeyName     string `yaml:"keyName,omitempty"`
	Scope       string `yaml:"scope,omitempty"`
	// SignedIn says that "waybill login" made the key, and "waybill logout" ends it.
	SignedIn bool `yaml:"signedIn,omitempty"`
	// Secret signs what "waybill listen" forwards.
	Secret string `yaml:"listenSecret,omitempty"`

	name string // empty for what comes from flags and the environment
}

func (p profile) isLive() bool { return strings.HasPrefix(p.Key, "sk_live_") }

// mode returns the mode of the key, as it is in addresses of the dashboard.
func (p profile) mode() string {
	if p.isLive() {
		return "live"
	}
	return "test"
}

// describe says whose key it is.
func (p profile) describe() string {
	text := cmp.Or(p.AccountName, p.Account, "the account of the key") + " at " + p.URL
	if p.name != "" {
		text += " (profile " + p.name + ")"
	}
	return text
}

// profiles is the file with all profiles.
type profiles struct {
	Default  string             `yaml:"default,omitempty"`
	Profiles map[string]profile `yaml:"profiles"`
}

// configPath returns the file with the profiles.
func (c *cli) configPath() (string, error) {
	if dir, ok := c.Env("WAYBILL_CONFIG_DIR"); ok && dir != "" {
		return filepath.Join(dir, "config.yaml"), nil
	}
	if dir, ok := c.Env("XDG_CONFIG_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "waybill", "config.yaml"), nil
	}
	if home, ok := c.Env("HOME"); ok && home != "" {
		return filepath.Join(home, ".config", "waybill", "config.yaml"), nil
	}
	if dir, ok := c.Env("AppData"); ok && dir != "" {
		return filepath.Join(dir, "waybill", "config.yaml"), nil
	}
	return "", errors.New("neither WAYBILL_CONFIG_DIR nor HOME is set, so there is nowhere to store profiles")
}

// readProfiles reads the profiles; a file that is missing has none.
func (c *cli) readProfiles() (profiles, error) {
	known := profiles{Profiles: map[string]profile{}}
	path, err := c.configPath()
	if err != nil {
		return known, nil // without a place there are none
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return known, fmt.Errorf("profiles: %w", err)
	}

	if info, err := os.Stat(path); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		fmt.Fprintf(c.Err, "%s can be read by others, and holds keys: run chmod 600 %s\n", path, path)
	}
	if err := yaml.Unmarshal(data, &known); err != nil {
		return known, fmt.Errorf("%s: %w", path, err)
	}
	if known.Profiles == nil {
		known.Profiles = map[string]profile{}
	}
	return known, nil
}

// writeProfiles replaces the file as a whole. Only this user can read it.
func (c *cli) writeProfiles(known profiles) error {
	path, err := c.configPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	data, err := yaml.Marshal(known)
	if err != nil {
		return fmt.Errorf("profiles: %w", err)
	}
	return writeAndMove(path, string(data), os.Rename)
}

// profileChoice are the flags that choose a service and a key.
type profileChoice struct{ url, key, profile string }

func (f *profileChoice) flags(cmd *cobra.Command) {
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.url, "url", "", "URL of the service (default: WAYBILL_URL, that of the profile, or "+client.DefaultBaseURL+")")
	flags.StringVar(&f.key, "key", "", "API key (default: WAYBILL_KEY, or that of the profile)")
	flags.StringVarP(&f.profile, "profile", "p", "", "profile to use (default: WAYBILL_PROFILE, or the one chosen with \"waybill profile use\")")
}

// resolve returns the service and the key: of the flags, the environment or a
// profile, in this order. A key never goes to a URL of another source than its own,
// unless --url names one: the key of a profile is not sent to where a variable of some
// project points.
func (f *profileChoice) resolve(c *cli) (profile, error) {
	keyInEnvironment, _ := c.Env("WAYBILL_KEY")
	urlInEnvironment, _ := c.Env("WAYBILL_URL")
	if f.key != "" || f.profile == "" && keyInEnvironment != "" {
		return profile{
			URL: cmp.Or(f.url, urlInEnvironment, client.DefaultBaseURL),
			Key: cmp.Or(f.key, keyInEnvironment),
		}, nil
	}

	known, err := c.readProfiles()
	if err != nil {
		return profile{}, err
	}
	name := f.name(c, known)
	chosen, found := known.Profiles[name]
	if !found {
		if named := cmp.Or(f.profile, lookupOr(c, "WAYBILL_PROFILE")); named != "" {
			return profile{}, fmt.Errorf("there is no profile %s (there are %s): %w", named, cmp.Or(strings.Join(slices.Sorted(maps.Keys(known.Profiles)), ", "), "none"), errNotSignedIn)
		}
		return profile{}, errNotSignedIn
	}

	chosen.name = name
	chosen.URL = cmp.Or(f.url, chosen.URL, client.DefaultBaseURL)
	if chosen.Key == "" && chosen.KeyCommand != "" {
		chosen.Key, err = runKeyCommand(chosen.KeyCommand)
	}
	if err == nil && chosen.Key == "" {
		err = fmt.Errorf("the profile %s has no key: %w", name, errNotSignedIn)
	}
	return chosen, err
}

// name returns the name of the profile that is used.
func (f *profileChoice) name(c *cli, known profiles) string {
	return cmp.Or(f.profile, lookupOr(c, "WAYBILL_PROFILE"), known.Default, "test")
}

func lookupOr(c *cli, name string) string {
	value, _ := c.Env(name)
	return value
}

// runKeyCommand returns the key that a program prints, such as a password manager.
func runKeyCommand(command string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-c", command)
	shell.Stderr = os.Stderr
	shell.Stdin = os.Stdin
	out, err := shell.Output()
	if err != nil {
		return "", fmt.Errorf("keyCommand %q: %w", command, err)
	}
	return strings.TrimSpace(string(out)), nil
}
