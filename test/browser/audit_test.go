//go:build browser

package browser

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/waybillhq/waybill/internal/cli"
)

// command runs one of an operator's, and returns what it prints.
func (s *stage) command(args ...string) string {
	s.Helper()
	var out, said bytes.Buffer
	env := map[string]string{"DATABASE_URL": s.data, "LOG_LEVEL": "ERROR", "SECRET_KEY": s.secret}
	err := cli.Run(s.Context(), args, cli.Streams{Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Out: &out, Err: &said})
	if err != nil {
		s.Fatalf("%v: %v %s", args, err, said.String())
	}
	return strings.TrimSpace(out.String())
}

// ask sends a request of a program, and returns the status.
func (s *stage) ask(method, path, key, body string) int {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "web-shop/2.1")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func TestTheAuditLogShowsWhatKeysAndCommandsChanged(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.firstRun()
	key, old := s.command("key", "create", "--name", "Web shop"), s.command("key", "create", "--name", "Old shop")
	lines := strings.Split(s.command("key", "list", "--json"), "\n")
	_, id, _ := strings.Cut(lines[len(lines)-1], `"id":"`)
	s.command("key", "revoke", id[:30])
	if status := s.ask("POST", "/v1/webhooks", key, `{"url":"http://127.0.0.1:19999/hook","description":"parcels"}`); status != http.StatusCreated {
		t.Fatalf("a webhook: %d", status)
	}
	if status := s.ask("PUT", "/v1/routing/draft", key, `{"rules":[]}`); status != http.StatusOK {
		t.Fatalf("a draft: %d", status)
	}
	if status := s.ask("GET", "/v1/shipments", old, ""); status != http.StatusUnauthorized {
		t.Fatalf("a revoked key: %d", status)
	}
	s.do("who changed what", chromedp.Navigate(s.base+"/app/test/audit"), sees("webhook.made"), sees("Web shop (sk_test_"), sees("web-shop/2.1"), sees("waybill key revoke"))
	s.do("what keys changed", until(`(document.querySelector("select[name=by]").value = "keys", document.querySelector("select[name=by]").dispatchEvent(new Event("change", {bubbles: true})))`), until(`!document.body.innerText.includes("waybill key revoke")`), sees("routing.draft_saved"))
	s.do("what one did", until(`([...document.querySelectorAll("#list a.who")].find(a => a.innerText.includes("Web shop")).click(), true)`), until(`location.search.includes("by=key_")`), sees("webhook.made"))
	s.do("a key that is over", chromedp.Navigate(s.base+"/app/test/requests"), s.untilReloaded(`document.body && document.body.innerText.includes("401")`), chromedp.Click(`#list tbody a`), sees("the API key was revoked at"))
}
