package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/oauth2"

	"github.com/waybillhq/waybill/client"
)

// login is the command "waybill login".
type login struct {
	*service
	live      bool
	account   string
	withKey   bool
	noBrowser bool
}

func (s *service) loginCommand() *cobra.Command {
	l := &login{service: s}
	cmd := &cobra.Command{
		Use:   "login",
		Short: "Sign this terminal in to a service",
		Long: "Sign this terminal in to a service. A person approves the terminal in the dashboard and chooses what\n" +
			"it may do; the terminal then has an API key of its own, which \"waybill logout\" ends, and so does\n" +
			"signing in again under the same profile.\n\n" +
			"The key is of test mode unless --live is given. It is stored under a profile, test or live unless\n" +
			"--profile names another one, in a file that only this user can read.",
		Example: "  waybill login --url https://ship.example.com\n" +
			"  waybill login --live\n" +
			"  pass show waybill | waybill login --with-key",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}

	flags := cmd.Flags()
	flags.BoolVar(&l.live, "live", false, "ask for a key of live mode, whose labels cost money")
	flags.StringVar(&l.account, "account", "", "account to sign in to, which an installation with several databases needs to know")
	flags.BoolVar(&l.withKey, "with-key", false, "read an API key from standard input, instead of asking a person")
	flags.BoolVar(&l.noBrowser, "no-browser", false, "print the address only, and do not open it in a browser")
	return cmd
}

func (l *login) run(ctx context.Context) error {
	known, err := l.readProfiles()
	if err != nil {
		return err
	}
	present := known.Profiles[l.chosen.name(l.cli, known)]
	address := strings.TrimRight(cmp.Or(l.chosen.url, lookupOr(l.cli, "WAYBILL_URL"), present.URL, client.DefaultBaseURL), "/")

	var signedIn profile
	if l.withKey || l.chosen.key != "" {
		signedIn, err = l.readKey(address)
	} else {
		signedIn, err = l.askPerson(ctx, address)
	}
	if err != nil {
		return err
	}
	if err := checkKey(ctx, signedIn); err != nil {
		return err
	}

	// Another terminal may have signed in meanwhile.
	if known, err = l.readProfiles(); err != nil {
		return err
	}

	// A live profile is used only when it is named: what is typed without thinking
	// should not cost money.
	name := cmp.Or(l.chosen.profile, lookupOr(l.cli, "WAYBILL_PROFILE"), signedIn.mode())
	replaced := known.Profiles[name]
	signedIn.Secret = replaced.Secret
	known.Profiles[name] = signedIn
	if known.Default == "" && !signedIn.isLive() {
		known.Default = name
	}
	if err := l.writeProfiles(known); err != nil {
		return err
	}

	l.endReplaced(ctx, replaced, signedIn)

	signedIn.name = name
	fmt.Fprintf(l.Err, "Signed in to %s, %s mode.\n", signedIn.describe(), signedIn.mode())
	if name != known.Default {
		fmt.Fprintf(l.Err, "Use it with --profile %s.\n", name)
	}
	return nil
}

// endReplaced revokes the key that a sign-in has replaced, if an earlier sign-in made
// it: nobody has it any more. The new key works even if that fails.
func (l *login) endReplaced(ctx context.Context, replaced, by profile) {
	if !replaced.SignedIn || replaced.Key == "" || replaced.Key == by.Key {
		return
	}
	old := client.New(replaced.Key, client.Options{BaseURL: replaced.URL, UserAgent: "waybill-cli"})
	if err := old.RevokeKey(ctx); err != nil {
		fmt.Fprintf(l.Err, "The earlier key of this profile, %s, is not revoked; revoke it in the dashboard: %v\n",
			cmp.Or(replaced.KeyName, "at "+replaced.URL), err)
	}
}

// readKey reads a key from standard input.
func (l *login) readKey(address string) (profile, error) {
	key := l.chosen.key
	if key == "" && l.In != nil {
		line, err := bufio.NewReader(io.LimitReader(l.In, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return profile{}, err
		}
		key = strings.TrimSpace(line)
	}

	read := profile{URL: address, Key: key}
	switch {
	case !strings.HasPrefix(key, "sk_"):
		return read, usage("standard input has no API key; keys begin with sk_test_ or sk_live_")
	case read.isLive() && !l.live:
		return read, usage("this is a live key: add --live to store it")
	}
	return read, nil
}

// askPerson signs in by the device flow of OAuth (RFC 8628): it shows a code, and waits
// until a person has approved it in the dashboard.
func (l *login) askPerson(ctx context.Context, address string) (profile, error) {
	flow := oauth2.Config{
		ClientID: "waybill-cli",
		Endpoint: oauth2.Endpoint{
			DeviceAuthURL: address + "/oauth/device",
			TokenURL:      address + "/oauth/token",
			AuthStyle:     oauth2.AuthStyleInParams,
		},
	}
	if l.live {
		flow.Scopes = []string{"live"}
	}
	if l.account != "" {
		choice := "?" + url.Values{"account": {l.account}}.Encode()
		flow.Endpoint.DeviceAuthURL += choice
		flow.Endpoint.TokenURL += choice
	}
	starting, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	waiting, err := flow.DeviceAuth(starting, oauth2.SetAuthURLParam("client_name", terminalName()))
	if err != nil {
		return profile{}, explainSignIn(address, err)
	}
	page := cmp.Or(waiting.VerificationURIComplete, waiting.VerificationURI)
	fmt.Fprintf(l.Err, "Your code is %s\nApprove it at %s\n", printable(waiting.UserCode), printable(page))
	switch {
	case !isUnder(address, page):
		fmt.Fprintf(l.Err, "That address is not under %s, so it is not opened. Continue only if you know it.\n", address)
	case !l.noBrowser && isTerminal(l.Err):
		openBrowser(l.cli, page)
	}

	token, err := flow.DeviceAccessToken(ctx, waiting)
	if err != nil {
		return profile{}, explainSignIn(address, err)
	}
	text := func(name string) string {
		value, _ := token.Extra(name).(string)
		return value
	}
	return profile{
		URL:         address,
		Key:         token.AccessToken,
		Account:     text("account_id"),
		AccountName: text("account_name"),
		KeyName:     text("key_name"),
		Scope:       text("scope"),
		SignedIn:    true,
	}, nil
}

// isUnder reports whether a page is on the service, so that a server cannot have any
// program or site opened on this machine.
func isUnder(service, page string) bool {
	base, err := url.Parse(service)
	if err != nil {
		return false
	}
	target, err := url.Parse(page)
	if err != nil || target.User != nil {
		return false
	}
	return (target.Scheme == "http" || target.Scheme == "https") && target.Scheme == base.Scheme && target.Host == base.Host &&
		strings.HasPrefix(target.EscapedPath(), strings.TrimSuffix(base.EscapedPath(), "/")+"/")
}

// terminalName is what a person sees of this terminal in the dashboard.
func terminalName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "waybill"
	}
	return "waybill on " + host
}

// explainSignIn says what to do about a sign-in that failed.
func explainSignIn(address string, err error) error {
	refused, answered := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case !answered:
		return fmt.Errorf("no service responds at %s: is \"waybill dev\" running? Use --url for another address: %w", address, err)
	case refused.ErrorCode == "access_denied":
		return fmt.Errorf("the sign-in was denied in the dashboard: %w", errNotSignedIn)
	case refused.ErrorCode == "expired_token":
		return fmt.Errorf("nobody approved the code in time: %w", errNotSignedIn)
	case refused.ErrorCode != "":
		return fmt.Errorf("%s: %s", refused.ErrorCode, refused.ErrorDescription)
	}
	return fmt.Errorf("%s has no sign-in for terminals (status %d): update the service, or use --with-key", address, refused.Response.StatusCode)
}

// checkKey asks the service whether it accepts the key. A key that may not list
// carriers is accepted, too.
func checkKey(ctx context.Context, p profile) error {
	api := client.New(p.Key, client.Options{BaseURL: p.URL, UserAgent: "waybill-cli"})
	_, err := api.Carriers(ctx)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Code == "insufficient_scope" {
		return nil
	}
	return err
}

func (s *service) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Revoke a profile's key and delete the profile",
		Long:  "Forget a profile. A key that \"waybill login\" got is revoked; a key that was given to it is not.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			known, err := s.readProfiles()
			if err != nil {
				return err
			}
			name := s.chosen.name(s.cli, known)
			old, found := known.Profiles[name]
			if !found {
				return fmt.Errorf("there is no profile %s: %w", name, errNotSignedIn)
			}

			if old.SignedIn {
				api := client.New(old.Key, client.Options{BaseURL: old.URL, UserAgent: "waybill-cli"})
				if err := api.RevokeKey(cmd.Context()); err != nil {
					return fmt.Errorf("the key is not revoked, and the profile stays: %w", err)
				}
			}
			delete(known.Profiles, name)
			if known.Default == name {
				known.Default = ""
			}
			if err := s.writeProfiles(known); err != nil {
				return err
			}
			fmt.Fprintf(s.Err, "Signed out of %s (profile %s).\n", old.URL, name)
			return nil
		},
	}
}

// identity is what "waybill whoami" prints.
type identity struct {
	Profile string `json:"profile,omitempty"`
	URL     string `json:"url"`
	Mode    string `json:"mode"`
	Account string `json:"account,omitempty"`
	Name    string `json:"accountName,omitempty"`
	Key     string `json:"key"`
	KeyName string `json:"keyName,omitempty"`
	Scope   string `json:"scope,omitempty"`
}

func (s *service) whoamiCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "whoami",
		Short: "Show the service, the account and the mode that commands use",
		Long:  "Show the service, the account and the mode that commands use. It fails if the service does not accept the key.",
		Args:  cobra.NoArgs,
	}

	return use(s, reads, cmd, func(r *request) (identity, error) {
		p := r.profile
		if err := checkKey(r, p); err != nil {
			return identity{}, err
		}

		return identity{
			Profile: p.name,
			URL:     p.URL,
			Mode:    p.mode(),
			Account: p.Account,
			Name:    p.AccountName,
			Key:     p.Key[:min(len(p.Key), len("sk_test_1234"))] + "...",
			KeyName: p.KeyName,
			Scope:   p.Scope,
		}, nil
	}, func(w io.Writer, who identity) {
		for _, line := range [][2]string{
			{"profile", who.Profile},
			{"url", who.URL},
			{"mode", who.Mode},
			{"account", strings.TrimSpace(who.Name + " " + who.Account)},
			{"key", strings.TrimSpace(who.Key + " " + who.KeyName)},
			{"scope", who.Scope},
		} {
			if line[1] != "" {
				fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
			}
		}
	})
}

func (s *service) profileCommand() *cobra.Command {
	type listed struct {
		Name    string `json:"name"`
		Default bool   `json:"default"`
		Mode    string `json:"mode"`
		URL     string `json:"url"`
		Account string `json:"account,omitempty"`
	}
	list := &cobra.Command{
		Use:   "list",
		Short: "List profiles",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			known, err := s.readProfiles()
			if err != nil {
				return err
			}
			shown := []listed{}
			for _, name := range slices.Sorted(maps.Keys(known.Profiles)) {
				p := known.Profiles[name]
				shown = append(shown, listed{name, name == known.Default, p.mode(), p.URL, cmp.Or(p.AccountName, p.Account)})
			}

			return s.showValue(shown, func(w io.Writer) {
				writeTable(w, shown, []column[listed]{
					{"PROFILE", func(p listed) string { return p.Name }},
					{"MODE", func(p listed) string { return p.Mode }},
					{"URL", func(p listed) string { return p.URL }},
					{"ACCOUNT", func(p listed) string { return p.Account }},
					{"DEFAULT", func(p listed) string { return yesOrEmpty(p.Default) }},
				})
			})
		},
	}

	use := &cobra.Command{
		Use:     "use PROFILE",
		Short:   "Choose the profile that commands use by default",
		Example: "  waybill profile use test",
		Args:    oneArgument,
		RunE: func(_ *cobra.Command, args []string) error {
			known, err := s.readProfiles()
			if err != nil {
				return err
			}
			if _, found := known.Profiles[args[0]]; !found {
				return fmt.Errorf("there is no profile %s; \"waybill profile list\" lists them", args[0])
			}
			known.Default = args[0]
			return s.writeProfiles(known)
		},
	}
	return group("profile", "List and choose profiles", list, use)
}

func yesOrEmpty(yes bool) string {
	if yes {
		return "yes"
	}
	return ""
}
