//go:build linux

package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
)

func TestABackTestHasABarInATerminal(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	bought(t, s, 4)
	person, program := newTerminal(t)
	var out bytes.Buffer
	args := []string{"routing", "simulate", write(t, "rules.json", fastBook), "--last", "4"}
	if err := cli.Run(t.Context(), args, cli.Streams{Env: s.lookup, Out: &out, Err: program}); err != nil {
		t.Fatal(err)
	}
	// A terminal hands over what was written in pieces; the mark is the last of them.
	const mark = "<end>"
	if _, err := program.WriteString(mark); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	piece := make([]byte, 10_000)
	for !strings.HasSuffix(shown.String(), mark) {
		n, err := person.Read(piece)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(piece[:n])
	}
	if want := "[##############################] 100 %  4 of at most 4 shipments\r\x1b[K" + mark; !strings.HasSuffix(shown.String(), want) {
		t.Errorf("it shows %q", shown.String())
	}
	if strings.Contains(out.String(), "#") || !strings.HasPrefix(out.String(), "Looked at 4") {
		t.Errorf("it tells\n%s", out.String())
	}
}
