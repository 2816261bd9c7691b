package cli

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/client"
)

// passed is an event that was forwarded, or could not be.
type passed struct {
	event  client.Event
	at     time.Time
	status int // 0 without an answer
	err    error
	took   time.Duration
	tries  int
}

func (p passed) ok() bool { return p.status >= 200 && p.status < 300 }

// board shows what was forwarded: a table with a line below it that is written
// over in a terminal, plain lines elsewhere.
type board struct {
	out       io.Writer
	terminal  bool
	delivered int
	failed    int
}

func newBoard(out io.Writer) *board { return &board{out: out, terminal: isTerminal(out)} }

// isTerminal reports whether a person looks at w. NO_COLOR and such are not
// asked: a few colours in a terminal harm nobody.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
}

const tableRow = "%-8s  %-20s  %-30s  %-6s  %6s"

// head explains what is about to be shown.
func (b *board) head(from, to, secret string) {
	fmt.Fprintf(b.out, "Forwarding events of %s to %s; Ctrl-C stops.\nVerify them with the secret %s\n\n", from, to, secret)
	fmt.Fprintf(b.out, tableRow+"\n", "TIME", "TYPE", "SHIPMENT", "STATUS", "MS")
	b.idle()
}

// row writes what became of an event for good.
func (b *board) row(p passed) {
	colour := "32"
	if p.ok() {
		b.delivered++
	} else {
		b.failed++
		colour = "31"
	}
	status := "-"
	if p.status != 0 {
		status = strconv.Itoa(p.status)
	}
	subject := ""
	switch d := p.event.Data; {
	case d.Shipment != nil:
		subject = d.Shipment.ID
	case d.Tracker != nil:
		subject = d.Tracker.ID
	}
	line := fmt.Sprintf(tableRow, p.at.Format(time.TimeOnly), p.event.Type, subject, b.paint(colour, fmt.Sprintf("%-6s", status)), strconv.FormatInt(p.took.Milliseconds(), 10))
	if p.tries > 1 {
		line += fmt.Sprintf("  %d tries", p.tries)
	}
	if p.err != nil {
		line += "  " + p.err.Error()
	}
	b.say(line)
}

// say writes a line for good.
func (b *board) say(line string) {
	b.wipe()
	fmt.Fprintln(b.out, line)
	b.idle()
}

// sending shows the event that is under way.
func (b *board) sending(p passed) { b.below(fmt.Sprintf("sending %s", p.event.Type)) }

// failing shows that an event will be tried again.
func (b *board) failing(p passed) {
	why := "it answered " + strconv.Itoa(p.status)
	if p.err != nil {
		why = "no answer"
	}
	b.below(fmt.Sprintf("%s: %s; trying again", p.event.Type, why))
}

// idle shows how things stand.
func (b *board) idle() {
	text := fmt.Sprintf("%d delivered", b.delivered)
	if b.failed > 0 {
		text += fmt.Sprintf(", %d failed", b.failed)
	}
	b.below(text + ", waiting for events")
}

// below writes the last line over.
func (b *board) below(text string) {
	if b.terminal {
		b.wipe()
		fmt.Fprint(b.out, b.paint("2", text))
	}
}

func (b *board) wipe() {
	if b.terminal {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

func (b *board) paint(colour, text string) string {
	if !b.terminal {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// close ends the board.
func (b *board) close() {
	b.wipe()
	fmt.Fprintf(b.out, "%d delivered, %d failed\n", b.delivered, b.failed)
}
