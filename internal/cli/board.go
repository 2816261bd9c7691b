package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/client"
)

// forwarded is an event that was forwarded, or could not be.
type forwarded struct {
	event  client.Event
	at     time.Time
	status int // 0 without an answer
	err    error
	took   time.Duration
	tries  int
}

func (f forwarded) delivered() bool { return f.status >= 200 && f.status < 300 }

// board shows what was forwarded: in a terminal a table with a status line
// below it that is overwritten, plain lines elsewhere.
type board struct {
	out       io.Writer
	terminal  bool
	colour    bool
	asJSON    bool // a line for each event, for programs
	delivered int
	failed    int
}

func newBoard(c *cli, asJSON bool) *board {
	terminal := isTerminal(c.Out) && !asJSON
	return &board{out: c.Out, terminal: terminal, colour: terminal && c.wantsColour(), asJSON: asJSON}
}

// wantsColour reports whether colours are wanted: they are unless NO_COLOR has a
// value (no-color.org).
func (c *cli) wantsColour() bool { return lookupOr(c, "NO_COLOR") == "" }

const tableRow = "%-8s  %-20s  %-30s  %-6s  %6s"

// head explains what is about to be shown.
func (b *board) head(from, to, secret string) {
	if b.asJSON {
		return
	}
	fmt.Fprintf(b.out, "Forwarding events of %s to %s; press Ctrl-C to stop.\nVerify signatures with the secret %s\n\n", from, to, secret)
	fmt.Fprintf(b.out, tableRow+"\n", "TIME", "TYPE", "SHIPMENT", "STATUS", "MS")
	b.showIdle()
}

// row adds the final outcome of an event to the table.
func (b *board) row(f forwarded) {
	colour := "32"
	if f.delivered() {
		b.delivered++
	} else {
		b.failed++
		colour = "31"
	}

	if b.asJSON {
		b.rowJSON(f)
		return
	}

	status := "-"
	if f.status != 0 {
		status = strconv.Itoa(f.status)
	}

	subject := ""
	switch data := f.event.Data; {
	case data.Shipment != nil:
		subject = data.Shipment.ID
	case data.Tracker != nil:
		subject = data.Tracker.ID
	}

	// The status is padded before it is coloured: the escape codes have a
	// length, but no width.
	status = b.paint(colour, fmt.Sprintf("%-6s", status))
	line := fmt.Sprintf(tableRow, f.at.Format(time.TimeOnly), f.event.Type, subject, status, strconv.FormatInt(f.took.Milliseconds(), 10))
	if f.tries > 1 {
		line += fmt.Sprintf("  %d attempts", f.tries)
	}
	if f.err != nil {
		line += "  " + f.err.Error()
	}
	b.printLine(line)
}

// rowJSON prints the outcome of an event for programs.
func (b *board) rowJSON(f forwarded) {
	line := struct {
		At       time.Time `json:"at"`
		EventID  string    `json:"eventId"`
		Type     string    `json:"type"`
		Status   int       `json:"status"`
		Ms       int64     `json:"durationMs"`
		Attempts int       `json:"attempts"`
		Error    string    `json:"error,omitempty"`
	}{f.at, f.event.ID, f.event.Type, f.status, f.took.Milliseconds(), f.tries, ""}
	if f.err != nil {
		line.Error = f.err.Error()
	}
	_ = json.NewEncoder(b.out).Encode(line) // a reader that has left ends the command elsewhere
}

// printLine writes a line that stays.
func (b *board) printLine(line string) {
	if b.asJSON {
		return
	}
	b.clearStatus()
	fmt.Fprintln(b.out, line)
	b.showIdle()
}

// showSending shows the event that is under way.
func (b *board) showSending(f forwarded) { b.showStatus(fmt.Sprintf("sending %s", f.event.Type)) }

// showRetry shows that an event will be tried again.
func (b *board) showRetry(f forwarded) {
	why := "status " + strconv.Itoa(f.status)
	if f.err != nil {
		why = "no response"
	}
	b.showStatus(fmt.Sprintf("%s: %s; retrying", f.event.Type, why))
}

// showIdle shows the totals.
func (b *board) showIdle() {
	text := fmt.Sprintf("%d delivered", b.delivered)
	if b.failed > 0 {
		text += fmt.Sprintf(", %d failed", b.failed)
	}
	b.showStatus(text + ", waiting for events")
}

// showStatus overwrites the status line.
func (b *board) showStatus(text string) {
	if b.terminal {
		b.clearStatus()
		fmt.Fprint(b.out, b.paint("2", text))
	}
}

func (b *board) clearStatus() {
	if b.terminal {
		fmt.Fprint(unguarded(b.out), "\r\x1b[K")
	}
}

func (b *board) paint(colour, text string) string {
	if !b.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// close replaces the status line by the totals.
func (b *board) close() {
	if b.asJSON {
		return
	}
	b.clearStatus()
	fmt.Fprintf(b.out, "%d delivered, %d failed\n", b.delivered, b.failed)
}
