package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/waybillhq/waybill/internal/cli"
)

// TestTheProtocol sends messages as clients of several revisions do, and as nobody
// should.
func TestTheProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.key("protocol")
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	whoami := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami",` + meta + `}}`
	modern := []string{"MCP-Protocol-Version", newest, "Mcp-Method"}

	for _, tc := range []struct {
		name    string
		key     string
		body    string
		headers []string
		status  int
		want    string
	}{
		{"discover", key, `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`, append(modern, "server/discover"), 200, `"supportedVersions":["2026-07-28","2025-11-25"`},
		{"list", key, list, append(modern, "tools/list"), 200, `"resultType":"complete"`},
		{"tool", key, whoami, append(modern, "tools/call", "Mcp-Name", "whoami"), 200, `"mode":"test"`},
		{"initialize of an earlier revision", key, initialize, nil, 200, `"protocolVersion":"2025-06-18"`},
		{"initialize of an unknown revision", key, strings.Replace(initialize, "2025-06-18", "2099-01-01", 1), nil, 200, `"protocolVersion":"2025-11-25"`},
		{"list of an earlier revision", key, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, []string{"MCP-Protocol-Version", "2025-06-18"}, 200, `"name":"buy_label"`},
		{"list without a revision", key, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, nil, 200, `"name":"buy_label"`},
		{"ping", key, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, nil, 200, `"result":{`},
		{"notification", key, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil, 202, ``},

		{"no key", "", list, nil, 401, `invalid_api_key`},
		{"a key that is none", "sk_test_nonsense", list, nil, 401, `invalid_api_key`},
		{"a page of another site", key, list, append(modern, "tools/list", "Origin", "https://evil.example"), 403, `other sites`},
		{"a page of another site, as browsers say", key, list, append(modern, "tools/list", "Sec-Fetch-Site", "cross-site"), 403, `other sites`},
		{"unknown method", key, `{"jsonrpc":"2.0","id":1,"method":"tools/delete","params":{` + meta + `}}`, append(modern, "tools/delete"), 404, `-32601`},
		{"unknown method of an earlier revision", key, `{"jsonrpc":"2.0","id":1,"method":"tools/delete"}`, nil, 200, `-32601`},
		{"unknown version", key, strings.ReplaceAll(list, newest, "2031-01-01"), []string{"MCP-Protocol-Version", "2031-01-01", "Mcp-Method", "tools/list"}, 400, `-32022`},
		{"header that contradicts the body", key, list, []string{"MCP-Protocol-Version", "2025-06-18", "Mcp-Method", "tools/list"}, 400, `-32020`},
		{"missing method header", key, list, []string{"MCP-Protocol-Version", newest}, 400, `-32020`},
		{"missing name header", key, whoami, append(modern, "tools/call"), 400, `-32020`},
		{"missing capabilities", key, strings.Replace(list, `,"io.modelcontextprotocol/clientCapabilities":{}`, "", 1), append(modern, "tools/list"), 400, `-32602`},
		{"batch", key, `[` + list + `]`, nil, 400, `-32600`},
		{"no JSON-RPC", key, `{"hello":"world"}`, nil, 400, `-32600`},
		{"no JSON", key, `hello`, nil, 400, `malformed_json`},
		{"unknown tool", key, strings.ReplaceAll(whoami, "whoami", "create_key"), append(modern, "tools/call", "Mcp-Name", "create_key"), 400, `-32602`},
		{"too large", key, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 300<<10) + `"}}`, nil, 413, ``},
	} {
		status, _, answer := w.post(tc.key, tc.body, tc.headers...)
		if status != tc.status || !bytes.Contains(answer, []byte(tc.want)) {
			t.Errorf("%s: %d %s\nwant %d with %s", tc.name, status, answer, tc.status, tc.want)
		}
	}

	// Without a key the answer says where the endpoint is described.
	_, header, _ := w.post("", list)
	challenge := header.Get("WWW-Authenticate")
	if !strings.HasPrefix(challenge, `Bearer resource_metadata="`) || !strings.Contains(challenge, "shipments:write") {
		t.Errorf("challenge %q", challenge)
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(challenge, `Bearer resource_metadata="`), `"`)
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var described struct {
		Resource string   `json:"resource"`
		Scopes   []string `json:"scopes_supported"`
	}
	if err := json.NewDecoder(response.Body).Decode(&described); err != nil || !strings.HasSuffix(described.Resource, "/mcp") || !slices.Contains(described.Scopes, "rates") {
		t.Errorf("description %+v, %v", described, err)
	}

	// There are no streams.
	if response, err := http.Get(w.url + "/mcp"); err != nil || response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %v, %v", response, err)
	}
}

// TestToolsFollowTheScopes lists the tools of keys.
func TestToolsFollowTheScopes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.toolsOf(t, w.key("all"))
	if len(all) != 19 {
		t.Errorf("there are %d tools, want 19: %v", len(all), all)
	}
	if got := w.toolsOf(t, w.key("tracks", "--scopes", "tracking")); !slices.Equal(got, []string{"whoami", "track_parcel", "follow_parcel"}) {
		t.Errorf("a key for tracking has %v", got)
	}
	reads := w.toolsOf(t, w.key("reads", "--scopes", "shipments:read,rates"))
	for _, tool := range []string{"prepare_purchase", "buy_label", "prepare_void", "void_label", "close_day", "get_label"} {
		if slices.Contains(reads, tool) {
			t.Errorf("a key that only reads has %s", tool)
		}
	}
}

func (w *world) toolsOf(t *testing.T, key string) (names []string) {
	t.Helper()
	status, answer := w.session(key).rpc("tools/list", "", nil)
	var out struct {
		Result struct {
			Tools []struct {
				Name        string         `json:"name"`
				Input       map[string]any `json:"inputSchema"`
				Output      map[string]any `json:"outputSchema"`
				Annotations map[string]any `json:"annotations"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(answer, &out); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	for _, tool := range out.Result.Tools {
		names = append(names, tool.Name)
		isWrite := slices.Contains([]string{"buy_label", "void_label", "close_day"}, tool.Name)
		isReading := !isWrite && tool.Name != "follow_parcel"
		if tool.Annotations["destructiveHint"] != isWrite || tool.Annotations["readOnlyHint"] != isReading {
			t.Errorf("%s has the hints %v", tool.Name, tool.Annotations)
		}
		if tool.Input["type"] != "object" || tool.Output["type"] != "object" {
			t.Errorf("%s has the schemas %v and %v", tool.Name, tool.Input["type"], tool.Output["type"])
		}
	}
	return names
}

// bearer adds a key to requests of the official client.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// TestTheOfficialClient uses the server with the protocol's own Go client, over HTTP
// and over the bridge of "waybill mcp": another implementation reads the answers and
// validates them against the schemas.
func TestTheOfficialClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.key("official")

	in, toBridge := io.Pipe()
	fromBridge, out := io.Pipe()
	ended := make(chan error, 1)
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"WAYBILL_URL": w.url, "WAYBILL_KEY": key}[name]
		return value, ok
	}
	go func() {
		ended <- cli.Run(context.Background(), []string{"mcp"}, cli.Streams{Env: env, In: in, Out: out, Err: io.Discard})
		out.Close()
	}()

	for name, transport := range map[string]mcp.Transport{
		"http":   &mcp.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: &http.Client{Transport: bearer{key}}},
		"bridge": &mcp.IOTransport{Reader: fromBridge, Writer: toBridge},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		session, err := mcp.NewClient(&mcp.Implementation{Name: "official", Version: "1"}, nil).Connect(ctx, transport, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		useOfficially(ctx, t, name, session)
		if err := session.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
	}
	toBridge.Close()
	if err := <-ended; err != nil {
		t.Errorf("the bridge ended with %v", err)
	}
}

func useOfficially(ctx context.Context, t *testing.T, name string, session *mcp.ClientSession) {
	t.Helper()
	tools, err := session.ListTools(ctx, nil)
	if err != nil || len(tools.Tools) != 19 {
		t.Fatalf("%s: tools %v, %v", name, tools, err)
	}

	o := newOrder("official-"+name, "Ada Lovelace")
	call := func(tool string, arguments any) reply {
		t.Helper()
		got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s: %s: %v", name, tool, err)
		}
		text := got.Content[0].(*mcp.TextContent).Text
		if got.IsError {
			t.Fatalf("%s: %s: %s", name, tool, text)
		}
		out := reply{Text: text}
		if err := json.Unmarshal([]byte(text), &out.value); err != nil {
			t.Fatal(err)
		}
		return out
	}
	quoted := call("quote_rates", map[string]any{"destination": o["destination"], "parcels": o["parcels"]})
	delete(o, "origin")
	prepared := call("prepare_purchase", map[string]any{"rateId": quoted.list("offers")[0]["rateId"], "order": o})
	bought := call("buy_label", map[string]any{"token": prepared.get("token")})
	again := call("buy_label", map[string]any{"token": prepared.get("token")})
	id := bought.get("shipment", "id")
	if bought.get("outcome") != "bought" || again.get("shipment", "id") != id || again.get("repeated") != "true" {
		t.Errorf("%s: bought %s, again %s", name, bought.Text, again.Text)
	}
	t.Logf("%s: a rate id has %d characters, a purchase token %d", name, len(quoted.list("offers")[0]["rateId"].(string)), len(prepared.get("token")))

	templates, err := session.ListResourceTemplates(ctx, nil)
	if err != nil || len(templates.ResourceTemplates) != 2 {
		t.Errorf("%s: templates %v, %v", name, templates, err)
	}
	for _, uri := range []string{"waybill://carriers", "waybill://shipments/" + id, "waybill://errors/duplicate_order"} {
		read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		if err != nil || len(read.Contents) != 1 || read.Contents[0].Text == "" {
			t.Errorf("%s: %s: %v, %v", name, uri, read, err)
		}
	}
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "waybill://keys"}); err == nil {
		t.Errorf("%s: there are keys to read", name)
	}
	prompts, err := session.ListPrompts(ctx, nil)
	if err != nil || len(prompts.Prompts) != 2 {
		t.Errorf("%s: prompts %v, %v", name, prompts, err)
	}
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "why_late", Arguments: map[string]string{"number": id}})
	if err != nil || len(prompt.Messages) != 1 {
		t.Errorf("%s: prompt %v, %v", name, prompt, err)
	}
}

// TestTheBridgeNeedsLive refuses a live key unless it is allowed.
func TestTheBridgeNeedsLive(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"WAYBILL_URL": "http://127.0.0.1:1", "WAYBILL_KEY": "sk_live_x"}[name]
		return value, ok
	}
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}` + "\n")
	err := cli.Run(t.Context(), []string{"mcp"}, cli.Streams{Env: env, In: in, Out: &out, Err: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "--live") || out.Len() > 0 {
		t.Errorf("without --live: %v, %s", err, out.String())
	}

	// A service that cannot be reached is an answer with the id of the message.
	err = cli.Run(t.Context(), []string{"mcp", "--live"}, cli.Streams{Env: env, In: in, Out: &out, Err: io.Discard})
	if err != nil || !strings.Contains(out.String(), `"id":7`) || !strings.Contains(out.String(), "cannot be reached") {
		t.Errorf("%v, %s", err, out.String())
	}
}
