// Command noinline marks the components that templ generates, so that the compiler
// keeps one copy of each.
//
//	noinline -in DIR
//
// A component is a short function that returns a long closure. The compiler counts
// the function as small enough to be inlined, and copies the closure into every
// caller: half of the dashboard's code, and nothing that runs faster for it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	in := flag.String("in", "", "directory whose files *_templ.go are marked, with those below it")
	flag.Parse()
	if err := run(*in); err != nil {
		fmt.Fprintln(os.Stderr, "noinline:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	if dir == "" {
		return fmt.Errorf("-in is needed")
	}
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_templ.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if marked := mark(source); !bytes.Equal(source, marked) {
			return os.WriteFile(path, marked, 0o644)
		}
		return nil
	})
}

const directive = "//go:noinline"

var component = regexp.MustCompile(`^func (\(.*?\) )?\w+\(.*\) templ\.Component \{`)

// mark puts the directive before each component. A comment before it is separated
// from the directive as gofmt does.
func mark(source []byte) []byte {
	var out []string
	previous := ""
	for line := range strings.SplitSeq(string(source), "\n") {
		if component.MatchString(line) && previous != directive {
			if strings.HasPrefix(previous, "//") {
				out = append(out, "//")
			}
			out = append(out, directive)
		}
		out = append(out, line)
		previous = line
	}
	return []byte(strings.Join(out, "\n"))
}
