package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// Bounds of the bridge: a message in bytes, and messages at once.
const (
	maxMessage  = 1 << 20
	maxMessages = 16
)

func (s *service) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Connect an assistant to the service (Model Context Protocol on standard input and output)",
		Long: "Connect an assistant to the service. It speaks the Model Context Protocol on standard input and output\n" +
			"and passes every message on to the service, with the key of the environment or a profile. What may be\n" +
			"done is decided there: by the key's scopes and limits, and by tokens that buy once. It ends when its\n" +
			"input does. Assistants start it themselves; see docs/mcp.md.",
		Example: "  waybill mcp",
		Args:    cobra.NoArgs,
	}
	s.liveFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := s.open(cmd.Context(), acts, args)
		if err != nil {
			return err
		}
		if s.In == nil {
			return errors.New("there is no input to read messages from")
		}
		bridge := &bridge{client: r.Client, out: s.Out}
		return bridge.run(cmd.Context(), s.In)
	}
	return cmd
}

// A bridge passes messages on to the service and writes its answers, one a line.
type bridge struct {
	client *client.Client

	mu      sync.Mutex // of what follows
	out     io.Writer
	version string          // that initialize agreed on; newer clients have it in every message
	info    json.RawMessage // who the client is, of initialize too
	failed  error           // of writing
}

// run passes messages on until the input ends. Several are under way at once: a
// purchase that takes its time delays no other message.
func (b *bridge) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	var running sync.WaitGroup
	permits := make(chan struct{}, maxMessages)
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxMessage)
	for lines.Scan() && b.broken() == nil {
		message := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(message) == 0 {
			continue
		}

		// What follows initialize depends on its answer.
		if isInitialize(message) {
			running.Wait()
			b.pass(ctx, message)
			continue
		}
		permits <- struct{}{}
		running.Go(func() {
			defer func() { <-permits }()
			b.pass(ctx, message)
		})
	}

	// What was asked for is answered, even if nothing more is asked.
	running.Wait()
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read messages: %w", err)
	}
	return b.broken()
}

func isInitialize(message []byte) bool {
	var in struct {
		Method string `json:"method"`
	}
	return json.Unmarshal(message, &in) == nil && in.Method == "initialize"
}

// introduce adds who the client is to a call of a tool. Newer clients say it in every
// message; others said it in initialize, of which the service remembers nothing.
func introduce(message []byte, info json.RawMessage) []byte {
	const member = "io.modelcontextprotocol/clientInfo"
	var outer, params, meta map[string]json.RawMessage
	if info == nil || json.Unmarshal(message, &outer) != nil || string(outer["method"]) != `"tools/call"` || json.Unmarshal(outer["params"], &params) != nil {
		return message
	}
	if params["_meta"] != nil && json.Unmarshal(params["_meta"], &meta) != nil || meta[member] != nil {
		return message
	}

	if meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[member] = info
	var err error
	if params["_meta"], err = json.Marshal(meta); err != nil {
		return message
	}
	if outer["params"], err = json.Marshal(params); err != nil {
		return message
	}
	changed, err := json.Marshal(outer)
	if err != nil {
		return message
	}
	return changed
}

func (b *bridge) broken() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// pass sends a message to the service and writes the answer. A service that cannot be
// reached or refuses the key is an answer too, so that the assistant can say so.
func (b *bridge) pass(ctx context.Context, message []byte) {
	b.mu.Lock()
	version := b.version
	info := b.info
	b.mu.Unlock()

	answer, err := b.client.MCP(ctx, introduce(message, info), version)
	if err != nil {
		answer = bridgeError(message, err)
	}
	if len(answer) == 0 {
		return
	}

	b.mu.Lock()
	defer b.mu.Unlock()
	if isInitialize(message) {
		var agreed struct {
			Result struct {
				Version string `json:"protocolVersion"`
			} `json:"result"`
		}
		_ = json.Unmarshal(answer, &agreed) // an error agrees on nothing
		b.version = agreed.Result.Version

		var asked struct {
			Params struct {
				Info json.RawMessage `json:"clientInfo"`
			} `json:"params"`
		}
		_ = json.Unmarshal(message, &asked) // the name is for the records alone
		b.info = asked.Params.Info
	}

	var line bytes.Buffer
	if json.Compact(&line, answer) != nil {
		return // no message: a proxy's page, for instance
	}
	line.WriteByte('\n')
	if _, err := b.out.Write(line.Bytes()); err != nil {
		b.failed = fmt.Errorf("write messages: %w", err)
	}
}

// bridgeError answers a message that the service did not; nothing for a notification.
func bridgeError(message []byte, err error) []byte {
	var in struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(message, &in) == nil && in.ID == nil {
		return nil
	}
	if in.ID == nil {
		in.ID = json.RawMessage("null")
	}

	text := "the service cannot be reached: " + err.Error()
	if refused, ok := errors.AsType[*client.Error](err); ok {
		text = fmt.Sprintf("the service answered %d %s: %s", refused.Status, refused.Code, refused.Detail)
		if refused.Code == "not_found" {
			text += " (it may be older than this program, or have MCP=off)"
		}
	}
	answer, _ := json.Marshal(map[string]any{ // strings always encode
		"jsonrpc": "2.0",
		"id":      in.ID,
		"error":   map[string]any{"code": -32000, "message": text},
	})
	return answer
}
