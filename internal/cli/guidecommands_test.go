package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/cli"
)

// TestEveryCommandOfTheGuidesExists reads the lines of README.md and docs that call
// the program: the command exists and takes the flags. What a line does is the matter
// of the tests that run it.
func TestEveryCommandOfTheGuidesExists(t *testing.T) {
	t.Parallel()
	guides, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?ms)^ *```sh\n(.*?)^ *```")
	called := regexp.MustCompile(`(?:^|[|;&(] *)(?:[A-Z_]+=\S* +)*(?:\./|sudo -u \S+ )?waybill ([^|;&<>)]*)`)
	count := 0
	for _, guide := range append(guides, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range blocks.FindAllStringSubmatch(string(text), -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
				line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
				for _, call := range called.FindAllStringSubmatch(line, -1) {
					count++
					checkCommand(t, filepath.Base(guide), call[1])
				}
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d commands were found", count)
	}
}

// checkCommand reports a command or a flag that does not exist.
func checkCommand(t *testing.T, guide, line string) {
	t.Helper()
	// What is quoted is a value.
	words := strings.Fields(regexp.MustCompile(`'[^']*'|"[^"]*"`).ReplaceAllString(line, "x"))
	found, _, err := cli.NewRoot(cli.Streams{}).Find(words)
	if err != nil || found.HasSubCommands() && found.RunE == nil && len(words) > 0 {
		t.Errorf("%s: waybill %s: there is no such command", guide, line)
		return
	}
	for _, word := range words {
		name, isFlag := strings.CutPrefix(word, "--")
		if name, _, _ = strings.Cut(name, "="); isFlag && name != "" && found.Flag(name) == nil {
			t.Errorf("%s: waybill %s: there is no flag --%s", guide, line, name)
		}
		if short, ok := strings.CutPrefix(word, "-"); ok && !isFlag && len(short) == 1 && found.Flags().ShorthandLookup(short) == nil && found.InheritedFlags().ShorthandLookup(short) == nil {
			t.Errorf("%s: waybill %s: there is no flag -%s", guide, line, short)
		}
	}
}
