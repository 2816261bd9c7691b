package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// MCP sends one message of the Model Context Protocol to the service, as it is, and
// returns the message that answers it; nothing for a notification. The headers that
// newer revisions want are taken from the message; version is the one that initialize
// agreed on, for messages that do not say it themselves.
//
// A message whose answer is lost is sent again: what tools do, they do once.
func (c *Client) MCP(ctx context.Context, message []byte, version string) ([]byte, error) {
	in := call{method: http.MethodPost, path: "/mcp", body: json.RawMessage(message), header: mcpHeaders(message, version)}
	got, err := c.do(ctx, in, nil)

	// Errors of the protocol have statuses of errors, and are answers all the same.
	if refused, ok := errors.AsType[*Error](err); ok && bytes.Contains(refused.Body, []byte(`"jsonrpc"`)) {
		return refused.Body, nil
	}
	return got.body, err
}

// mcpHeaders repeats parts of a message as headers, so that proxies can decide by them.
func mcpHeaders(message []byte, version string) http.Header {
	var in struct {
		Method string `json:"method"`
		Params struct {
			Name string                     `json:"name"`
			URI  string                     `json:"uri"`
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	_ = json.Unmarshal(message, &in) // the service says what is wrong with it
	if stated, ok := in.Params.Meta["io.modelcontextprotocol/protocolVersion"]; ok {
		_ = json.Unmarshal(stated, &version)
	}

	header := http.Header{"Accept": {"application/json, text/event-stream"}}
	if version != "" {
		header.Set("MCP-Protocol-Version", version)
	}
	header.Set("Mcp-Method", headerText(in.Method))
	switch in.Method {
	case "tools/call", "prompts/get":
		header.Set("Mcp-Name", headerText(in.Params.Name))
	case "resources/read":
		header.Set("Mcp-Name", headerText(in.Params.URI))
	}
	return header
}

// headerText writes what HTTP does not allow in a header in base64, as the protocol
// says.
func headerText(text string) string {
	isPlain := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
	if isPlain && strings.TrimSpace(text) == text && !strings.HasPrefix(text, "=?base64?") {
		return text
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}
