package cli_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/cli"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// counter is a shell with a carrier of its own, over real HTTP.
type counter struct {
	shell
	specs []carrier.Spec
	said  strings.Builder // everything that was ever printed
}

const secret = "canary-5d1c"

func newCounter(t *testing.T) *counter {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	s := newShell(t)
	s["SECRET_KEY"] = keyOf(9)
	return &counter{shell: s, specs: []carrier.Spec{{
		Name: "acme", Title: "Acme", LiveURL: server.URL, TestURL: server.URL,
		Fields: []carrier.Field{
			{Name: "account_number", Title: "Account number", Help: "On every invoice.", Required: true},
			{Name: "client_secret", Title: "Client secret", Help: "In the portal, under Apps.", Required: true, Secret: true},
			{Name: "hub", Title: "Hub"},
		},
		Open: func(o carrier.Opening) (carrier.Driver, error) { return checker{o}, nil },
	}}}
}

// keyOf returns a value of SECRET_KEY.
func keyOf(b byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32)) }

type checker struct{ carrier.Opening }

func (c checker) Check(ctx context.Context) error {
	return carrierkit.Call{
		Method: http.MethodGet, URL: c.BaseURL + "/check", Header: http.Header{"Authorization": {"Bearer " + c.Credentials["client_secret"]}},
		Refusal: func(body []byte) ship.Refusal { return ship.Refusal{Code: "E1", Message: string(body)} },
	}.Do(ctx, c.Via, nil)
}

func (c *counter) run(t *testing.T, in io.Reader, args ...string) (string, error) {
	t.Helper()
	var out, said bytes.Buffer
	err := cli.Run(t.Context(), args, cli.Streams{Env: c.lookup, In: in, Out: &out, Err: &said, Carriers: c.specs})
	c.said.WriteString(out.String() + said.String())
	if err != nil {
		c.said.WriteString(cli.Explain(err))
	}
	return out.String(), err
}

func (c *counter) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := c.run(t, nil, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return strings.TrimSpace(out)
}

func secretFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAConnectionIsAddedCheckedAndRemoved(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.must(t, "account", "create", "--name", "Acme shop")
	id := c.must(t, "connection", "add", "--carrier", "acme", "--live", "--name", "Main", "--set", "account_number=A1", "--set-file", "client_secret="+secretFile(t, secret+"\n"))
	if !regexp.MustCompile(`^con_\w{26}$`).MatchString(id) {
		t.Fatalf("it prints %q", id)
	}
	test, err := c.run(t, strings.NewReader(`{"account_number":"A2","client_secret":"`+secret+`"}`), "connection", "add", "--carrier", "acme", "--credentials", "-")
	if err != nil {
		t.Fatal(err)
	}
	list := c.must(t, "connection", "list")
	for _, want := range []string{id, "Main", "live", "test", "account_number=A1", "never", "active"} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %q:\n%s", want, list)
		}
	}
	if out := c.must(t, "connection", "check"); strings.Count(out, "ok ") < 8 || !strings.Contains(out, "Acme accepts the credentials") || !strings.Contains(out, id+` acme "Main" (live)`) {
		t.Errorf("check prints\n%s", out)
	}
	var shown struct {
		Findings []struct{ Level, Subject string }
		Fields   map[string]string
	}
	first, _, _ := strings.Cut(c.must(t, "connection", "list", "--json"), "\n")
	if err := json.Unmarshal([]byte(first), &shown); err != nil || len(shown.Findings) < 4 || len(shown.Fields) != 1 {
		t.Errorf("list --json prints %s", first)
	}
	c.must(t, "connection", "remove", strings.TrimSpace(test))
	if list := c.must(t, "connection", "list"); strings.Contains(list, strings.TrimSpace(test)) {
		t.Errorf("after a removal:\n%s", list)
	}
	if strings.Contains(c.said.String(), secret) {
		t.Errorf("a secret is shown:\n%s", c.said.String())
	}
}

func TestAConnectionThatFailsEndsWithAdvice(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.must(t, "account", "create", "--name", "Acme shop")
	id := c.must(t, "connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret=canary-wrong")
	out, err := c.run(t, nil, "connection", "check", id)
	if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, "FAIL  token") || !strings.Contains(out, "-> compare them with Acme's developer portal: Account number, Client secret") {
		t.Errorf("%v\n%s", err, out)
	}
	c.must(t, "connection", "update", id, "--set-file", "client_secret="+secretFile(t, secret))
	c.must(t, "connection", "check", id)
	if strings.Contains(c.said.String(), "canary") {
		t.Errorf("a secret is shown:\n%s", c.said.String())
	}
}

func TestKeysAreChangedByTheOperator(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	first, second := keyOf(1), keyOf(2)
	delete(c.shell, "SECRET_KEY")
	c.must(t, "account", "create", "--name", "Acme shop")
	id := c.must(t, "connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret)
	if out := c.must(t, "connection", "rotate"); !strings.HasPrefix(out, "0 rewrapped, 1 already") {
		t.Errorf("rotate prints %s", out)
	}
	c.shell["SECRET_KEY"] = first // from the installation's own key to the operator's
	if out := c.must(t, "connection", "rotate"); !strings.HasPrefix(out, "1 rewrapped, 0 already under the current key, 0 failed") {
		t.Errorf("rotate prints %s", out)
	}
	c.shell["SECRET_KEY"] = second // the first is forgotten
	out, err := c.run(t, nil, "connection", "rotate")
	if !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, id+" cannot be decrypted") {
		t.Errorf("without the old key: %v, %s", err, out)
	}
	if out, err := c.run(t, nil, "connection", "check", id); !errors.Is(err, cli.ErrUnhealthy) || !strings.Contains(out, "FAIL  credentials") {
		t.Errorf("check without the key: %v\n%s", err, out)
	}
	c.shell["SECRET_KEY"] = second + "," + first
	c.must(t, "connection", "rotate")
	c.shell["SECRET_KEY"] = second
	c.must(t, "connection", "check", id)
	for _, text := range []string{secret, first, second} {
		if strings.Contains(c.said.String(), text) {
			t.Errorf("a secret is shown:\n%s", c.said.String())
		}
	}
}

func TestWhatACarrierNeedsIsSaid(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	if out := c.must(t, "connection", "fields"); !strings.Contains(out, "acme  Acme") {
		t.Errorf("fields prints\n%s", out)
	}
	out := c.must(t, "connection", "fields", "acme")
	for _, want := range []string{"client_secret", "required, secret", "In the portal, under Apps.", "optional"} {
		if !strings.Contains(out, want) {
			t.Errorf("fields acme lacks %q:\n%s", want, out)
		}
	}
}

func TestMistakesWithConnectionsAreExplained(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	explain := func(want string, in io.Reader, args ...string) {
		t.Helper()
		_, err := c.run(t, in, append([]string{"connection"}, args...)...)
		if err == nil || !strings.Contains(cli.Explain(err), want) {
			t.Errorf("%v: %v, want it to say %q", args, err, want)
		}
	}
	explain("there is no account yet", nil, "add", "--carrier", "acme")
	c.must(t, "account", "create", "--name", "Acme shop")
	explain("there is no connection yet", nil, "check")
	explain("did you mean acme?", nil, "add", "--carrier", "acne")
	explain("client_secret is required", nil, "add", "--carrier", "acme", "--set", "account_number=A1")
	explain("client_sceret is not a credential", nil, "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_sceret="+secret)
	explain("--set must be field=value", nil, "add", "--carrier", "acme", "--set", secret)
	explain("--set-file: open", nil, "add", "--carrier", "acme", "--set-file", "client_secret=/nowhere")
	explain("must be a JSON object", strings.NewReader(`{"client_secret":`+secret+`}`), "add", "--carrier", "acme", "--credentials", "-")
	explain("is not the id of a connection", nil, "remove", "con_1")
	explain("no such connection", nil, "remove", "con_01KJMBQDHV0080000000000002")
	explain(`there is no carrier "acne"`, nil, "fields", "acne")
	c.shell["SECRET_KMS"] = "aws-kms://arn:aws:kms:us-east-1:1:key/k"
	explain("build it with -tags awskms", nil, "list")
	c.shell["SECRET_KMS"] = "aws"
	explain("SECRET_KMS must be local", nil, "list")
	if strings.Contains(c.said.String(), secret) {
		t.Errorf("a secret is shown:\n%s", c.said.String())
	}
}

func TestNothingOfASecretIsInTheDatabase(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	c.must(t, "account", "create", "--name", "Acme shop")
	c.must(t, "connection", "add", "--carrier", "acme", "--set", "account_number=A1", "--set", "client_secret="+secret)
	var row string
	if err := storetest.Conn(t, c.shell["DATABASE_URL"]).QueryRow(t.Context(), "SELECT c::text || encode(c.encrypted_credentials, 'escape') || encode(c.wrapped_key, 'escape') FROM connections c").Scan(&row); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(row, secret) || !strings.Contains(row, "account_number") {
		t.Errorf("the row is %s", row)
	}
}
