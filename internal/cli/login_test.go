package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// newServer is a service that answers with JSON.
func newServer(t *testing.T, answer func(path string, body []byte) string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer(r.URL.Path, body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A browser is signed in to the dashboard as its owner.
type browser struct {
	http *http.Client
	base string
}

// claim creates the owner of an installation.
func claim(t *testing.T, base, link string) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := browser{&http.Client{Jar: jar}, base}
	setup, err := url.Parse(strings.TrimSpace(link))
	if err != nil {
		t.Fatal(err)
	}
	b.post(t, "/app/setup", "token", setup.Query().Get("token"), "name", "Ada", "email", "ada@example.com", "password", "a long way to the sea 7")
	return b
}

func (b browser) get(t *testing.T, address string) string {
	t.Helper()
	response, err := b.http.Get(address)
	return b.read(t, response, err)
}

func (b browser) post(t *testing.T, path string, pairs ...string) string {
	t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	response, err := b.http.PostForm(b.base+path, form)
	return b.read(t, response, err)
}

func (b browser) read(t *testing.T, response *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %d %v\n%s", response.Request.URL, response.StatusCode, err, page)
	}
	return string(page)
}

// prompt is what a command says, while it runs.
type prompt struct {
	mu   sync.Mutex
	text bytes.Buffer
	seen chan string // what was said up to the address
}

func (p *prompt) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.text.Write(data)
	if said := p.text.String(); strings.Contains(said, "Approve it at") {
		select {
		case p.seen <- said:
		default:
		}
	}
	return n, err
}

// login signs a terminal in; approve is what a person does with the page.
func (s shell) login(t *testing.T, approve func(page string), args ...string) (string, error) {
	t.Helper()
	said := &prompt{seen: make(chan string, 1)}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		done <- cli.Run(ctx, append([]string{"login", "--no-browser"}, args...), cli.Streams{Env: s.lookup, Out: io.Discard, Err: said})
	}()
	select {
	case err := <-done:
		return "", err
	case text := <-said.seen:
		approve(regexp.MustCompile(`http\S+`).FindString(text))
	}
	err := <-done
	return said.text.String(), err
}

// TestATerminalSignsInThroughTheDashboard is the whole flow: the command, the page, the
// key, its profile, and the end of it.
func TestATerminalSignsInThroughTheDashboard(t *testing.T) {
	t.Parallel()
	database := storetest.URL(t)
	dev := shell{"LOG_LEVEL": "ERROR", "METRICS_LISTEN": "off", "SANDBOX_STEP": "0"}.
		start(t, "dev", "--json", "--no-sink", "--listen", "127.0.0.1:0", "--database-url", database).place(t)
	link := shell{"DATABASE_URL": database, "BASE_URL": dev.URL}.must(t, "member", "setup")
	person := claim(t, dev.URL, link)

	folder := t.TempDir()
	s := shell{"WAYBILL_URL": dev.URL, "WAYBILL_CONFIG_DIR": folder}
	approve := func(page string) {
		shown := person.get(t, page)
		action := regexp.MustCompile(`action="(/app/acct_\w+/\w+/device)"`).FindStringSubmatch(shown)
		code := regexp.MustCompile(`name="code" value="([A-Z]{4}-[A-Z]{4})"`).FindStringSubmatch(shown)
		if action == nil || code == nil || !strings.Contains(shown, "waybill on ") {
			t.Fatalf("the page does not show the terminal:\n%s", shown)
		}
		answer := person.post(t, action[1], "code", code[1], "name", "laptop", "scope", "*", "days", "90", "do", "approve")
		if !strings.Contains(answer, "Terminal approved") {
			t.Errorf("after the approval:\n%s", answer)
		}
	}
	said, err := s.login(t, approve)
	if err != nil || !strings.Contains(said, "test mode") {
		t.Fatalf("%v\n%s", err, said)
	}
	if info, err := os.Stat(filepath.Join(folder, "config.yaml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the profiles are %v, %v", info.Mode(), err)
	}

	// From now on the profile says where the service is.
	delete(s, "WAYBILL_URL")
	if out := s.must(t, "whoami"); !strings.Contains(out, "test\n") || !strings.Contains(out, "laptop") || !strings.Contains(out, dev.URL) {
		t.Errorf("whoami prints\n%s", out)
	}
	s.must(t, "ship", "--order-id", "L-1", "--to", toJane, "--weight", "1lb")
	if out := s.must(t, "open", "keys"); !regexp.MustCompile(`/app/acct_\w+/test/keys\n$`).MatchString(out) {
		t.Errorf("open keys prints %s", out)
	}
	if one, two := s.must(t, "listen", "--print-secret"), s.must(t, "listen", "--print-secret"); one != two || !strings.HasPrefix(one, "whsec_") {
		t.Errorf("the secrets of listen are %q and %q", one, two)
	}

	// Signing in again ends the key that it replaces, and the new one works.
	first := regexp.MustCompile(`sk_test_\w+`).FindString(readText(t, filepath.Join(folder, "config.yaml")))
	if said, err := s.login(t, approve); err != nil || strings.Contains(said, "not revoked") {
		t.Fatalf("%v\n%s", err, said)
	}
	s.must(t, "whoami")
	if keys := (shell{"DATABASE_URL": database}).must(t, "key", "list"); len(regexp.MustCompile(`laptop.*revoked`).FindAllString(keys, -1)) != 1 || strings.Contains(readText(t, filepath.Join(folder, "config.yaml")), first) {
		t.Errorf("after signing in twice:\n%s", keys)
	}

	// A live profile is used only if it is named, and needs --live to act. It is at
	// the service of the profile that is in use.
	account := regexp.MustCompile(`acct_\w+`).FindString(s.must(t, "open", "keys"))
	approveThere := func(page string) {
		if !strings.Contains(page, "/app/"+account+"/live/device") {
			t.Errorf("the page is %s, not one of the account", page)
		}
		approve(page)
	}
	if said, err := s.login(t, approveThere, "--live", "--account", account); err != nil || !strings.Contains(said, "Use it with --profile live") {
		t.Fatalf("%v\n%s", err, said)
	}
	if out := s.must(t, "profile", "list"); !regexp.MustCompile(`(?m)^live +live .*\ntest +test .* yes$`).MatchString(out) {
		t.Errorf("profile list prints\n%s", out)
	}
	if _, said, err := s.run(t, "ship", "--profile", "live", "--order-id", "L-2", "--to", toJane, "--weight", "1lb"); err == nil || !strings.Contains(err.Error(), "--live") {
		t.Errorf("a live profile ships: %v\n%s", err, said)
	}

	// Whoever denies a terminal is believed.
	s["WAYBILL_URL"] = dev.URL
	_, err = s.login(t, func(page string) {
		shown := person.get(t, page)
		action := regexp.MustCompile(`action="(/app/acct_\w+/\w+/device)"`).FindStringSubmatch(shown)
		code := regexp.MustCompile(`name="code" value="([A-Z]{4}-[A-Z]{4})"`).FindStringSubmatch(shown)
		person.post(t, action[1], "code", code[1], "do", "deny")
	}, "--profile", "other")
	if cli.ExitCode(err) != 4 || !strings.Contains(err.Error(), "denied") {
		t.Errorf("a denied terminal: %v", err)
	}

	key := regexp.MustCompile(`sk_test_\w+`).FindString(readText(t, filepath.Join(folder, "config.yaml")))
	s.must(t, "logout")
	if _, _, err := s.run(t, "whoami"); cli.ExitCode(err) != 4 {
		t.Errorf("after the logout: %v", err)
	}
	keys := shell{"DATABASE_URL": database}.must(t, "key", "list")
	if !regexp.MustCompile(`laptop.*revoked`).MatchString(keys) || key == "" {
		t.Errorf("the key is not revoked:\n%s", keys)
	}
}

func readText(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAProfilesKeyStaysWithItsService checks that a key is not sent to where a
// variable of some project points.
func TestAProfilesKeyStaysWithItsService(t *testing.T) {
	t.Parallel()
	service := newServer(t, func(string, []byte) string { return `{"data":[]}` })
	s := shell{"WAYBILL_CONFIG_DIR": t.TempDir(), "WAYBILL_URL": service}
	store := func(key string, args ...string) error {
		return cli.Run(t.Context(), append([]string{"login", "--with-key"}, args...), cli.Streams{Env: s.lookup, In: strings.NewReader(key + "\n"), Out: io.Discard, Err: io.Discard})
	}
	if err := store("sk_test_1"); err != nil {
		t.Fatal(err)
	}
	if err := store("sk_live_1"); cli.ExitCode(err) != 2 {
		t.Errorf("a live key is stored without --live: %v", err)
	}
	if err := store("sk_live_1", "--live"); err != nil {
		t.Fatal(err)
	}

	s["WAYBILL_URL"] = "http://127.0.0.1:1"
	s.must(t, "shipments", "list")
	if _, said, err := s.run(t, "shipments", "list", "-p", "live"); err != nil || !strings.Contains(said, "LIVE: ") {
		t.Errorf("a live profile does not say so: %v\n%s", err, said)
	}
	s["WAYBILL_KEY"] = "sk_test_2"
	if _, _, err := s.run(t, "shipments", "list"); cli.ExitCode(err) != 6 {
		t.Errorf("the key of the environment is not used with its URL: %v", err)
	}
	s.must(t, "shipments", "list", "-p", "test")
	if _, _, err := s.run(t, "shipments", "list", "-p", "other"); cli.ExitCode(err) != 4 || !strings.Contains(err.Error(), "live, test") {
		t.Errorf("an unknown profile: %v", err)
	}
}
