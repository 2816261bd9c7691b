package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/account"
)

// send has a server answer a message of a key with the scopes.
func send(ctx context.Context, s *server, body string, scopes []string, headers ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, "https://ship.example.com/mcp", strings.NewReader(body))
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	var in message
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		panic(err) // the body is the test's own
	}
	c := &call{server: s, caller: account.Principal{Scopes: scopes}, request: request}
	recorded := httptest.NewRecorder()
	c.answer(recorded, in)
	return recorded
}

// TestMessagesOutsideOfTheTools sends what the library would answer otherwise than
// clients of this endpoint rely on.
func TestMessagesOutsideOfTheTools(t *testing.T) {
	t.Parallel()
	s := newServer(Config{})
	old := []string{"Mcp-Protocol-Version", "2025-06-18"}
	newest := []string{"Mcp-Protocol-Version", stateless}

	for _, tc := range []struct {
		name    string
		body    string
		headers []string
		status  int
		want    string
	}{
		{"no Accept, and the name of a proxy", `{"jsonrpc":"2.0","id":"a","method":"tools/list"}`, nil, 200, `"name":"whoami"`},
		{"a stream", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{}}}`, newest, 404, `-32601`},
		{"a subscription", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"waybill://carriers"}}`, old, 200, `-32601`},
		{"an unknown notification", `{"jsonrpc":"2.0","method":"notifications/none"}`, old, 202, ``},
		{"an unknown earlier version", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"Mcp-Protocol-Version", "2020-01-01"}, 400, `{"code":-32600,"message":"Bad Request: Unsupported protocol version`},
		{"a tool of another scope", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy_label"}}`, old, 200, `{"code":-32602,"message":"there is no such tool for this key"}`},
		{"a tool that is none", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}`, old, 200, `{"code":-32602,"message":"there is no such tool for this key"}`},
		{"a resource of another scope", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"waybill://carriers"}}`, old, 200, `{"code":-32602,"message":"there is no such resource for this key"}`},
		{"a resource that is none", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"waybill://keys"}}`, old, 200, `{"code":-32602,"message":"there is no such resource for this key"}`},
		{"a prompt of another scope", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"ship_order"}}`, old, 200, `{"code":-32602,"message":"there is no such prompt for this key"}`},
		{"a prompt without its argument", `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"why_late"}}`, old, 200, `the argument number is required`},
	} {
		got := send(t.Context(), s, tc.body, []string{"tracking"}, tc.headers...)
		body := got.Body.String()
		if got.Code != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %d %s\nwant %d with %s", tc.name, got.Code, body, tc.status, tc.want)
		}
		if body != "" && (!json.Valid([]byte(body)) || !strings.Contains(body, `"jsonrpc":"2.0"`) || got.Header().Get("Content-Type") != "application/json") {
			t.Errorf("%s: %q is no message", tc.name, body)
		}
	}
}

// TestWhatToolsDoEndsWithTheRequest has a tool that panics and one that waits.
func TestWhatToolsDoEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	s := newServer(Config{})
	s.tools = []*tool{
		newTool("panics", "Panics", "Panics.", readsOnly, func(context.Context, *call, nothing) (nothing, error) { panic("by itself") }),
		newTool("waits", "Waits", "Waits.", readsOnly, func(ctx context.Context, _ *call, _ nothing) (nothing, error) {
			<-ctx.Done()
			return nothing{}, refused("cancelled", "", "%v", ctx.Err())
		}),
	}
	s.byName = map[string]*tool{"panics": s.tools[0], "waits": s.tools[1]}

	func() {
		defer func() {
			cause, _ := recover().(error)
			if cause == nil || !strings.HasPrefix(cause.Error(), "by itself") {
				t.Errorf("the request panics with %v", cause)
			}
		}()
		got := send(t.Context(), s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"panics"}}`, nil)
		t.Errorf("answered with %s", got.Body)
	}()

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the client left"))
	got := send(ctx, s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"waits"}}`, nil)
	if !strings.Contains(got.Body.String(), "context canceled") {
		t.Errorf("the tool that waits answers %s", got.Body)
	}
}
