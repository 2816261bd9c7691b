package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/carrier"
)

// credentialFlags are the ways to pass credentials.
type credentialFlags struct {
	set, files []string
	document   string
}

func (f *credentialFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "credential as field=value; visible to other users of this machine, so use --set-file for secrets")
	flags.StringArrayVar(&f.files, "set-file", nil, "credential as field=path, read from the file")
	flags.StringVar(&f.document, "credentials", "", "file with all credentials as a JSON object; - reads it from standard input")
}

func (f *credentialFlags) none() bool { return len(f.set)+len(f.files) == 0 && f.document == "" }

// credentials reads what the flags give. With ask, a person at a terminal is
// asked for the rest. No error repeats a value.
func (c *cli) credentials(ctx context.Context, flags credentialFlags, spec carrier.Spec, ask bool) (carrier.Credentials, error) {
	given := carrier.Credentials{}
	if flags.document != "" {
		if err := c.readDocument(flags.document, given); err != nil {
			return nil, err
		}
	}

	for _, pair := range flags.files {
		name, path, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, errors.New("--set-file must be field=path")
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--set-file: %w", err)
		}
		given[name] = string(text)
	}

	for _, pair := range flags.set {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, errors.New("--set must be field=value")
		}
		given[name] = value
	}

	// The document may have been read from standard input, which cannot be
	// asked for more then.
	if in, ok := c.In.(*os.File); ok && ask && flags.document != "-" && isInteractive(in) {
		return given, c.askFor(ctx, in, spec, given, flags.none())
	}
	return given, nil
}

// documentLimit bounds a file of credentials.
const documentLimit = 1 << 20

func (c *cli) readDocument(path string, into carrier.Credentials) error {
	from := c.In
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("--credentials: %w", err)
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	if from == nil {
		return errors.New("--credentials: there is no standard input")
	}

	text, err := io.ReadAll(io.LimitReader(from, documentLimit))
	if err != nil {
		return fmt.Errorf("--credentials: %w", err)
	}

	// The error of json.Unmarshal is dropped: it can quote a value.
	if json.Unmarshal(text, &into) != nil {
		return errors.New(`--credentials must be a JSON object of strings, such as {"client_id":"...","client_secret":"..."}`)
	}
	return nil
}

// askFor asks for every field that is not given, or only for the required
// ones. An empty answer leaves a field out.
func (c *cli) askFor(ctx context.Context, in *os.File, spec carrier.Spec, given carrier.Credentials, all bool) error {
	lines := bufio.NewReaderSize(in, 16) // a terminal gives a line at a time
	for _, field := range spec.Fields {
		if given[field.Name] != "" || !field.Required && !all {
			continue
		}

		if field.Help != "" {
			fmt.Fprintf(c.Err, "%s\n", field.Help)
		}
		fmt.Fprintf(c.Err, "%s (%s): ", field.Title, fieldKind(field))
		value, err := askLine(ctx, in, lines, field.Secret)
		if field.Secret {
			// The line break that the person typed was not shown either.
			fmt.Fprintln(c.Err)
		}
		if err != nil {
			return err
		}
		if value != "" {
			given[field.Name] = value
		}
	}
	return nil
}

// askLine reads one line, for a secret without showing it. It ends when ctx
// does, and leaves the terminal as it was.
func askLine(ctx context.Context, in *os.File, lines *bufio.Reader, secret bool) (string, error) {
	if secret {
		restore, err := hideInput(in)
		if err != nil {
			return "", fmt.Errorf("cannot hide input in this terminal: pass secrets with --set-file or --credentials (%w)", err)
		}
		defer restore()
	}

	// A read from a terminal cannot be cancelled. It is left behind when ctx
	// ends, because the terminal must be restored then.
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := lines.ReadString('\n')
		read <- line{strings.TrimSpace(text), err}
	}()

	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case answer := <-read:
		if errors.Is(answer.err, io.EOF) {
			answer.err = errors.New("the input ended before all fields were entered")
		}
		return answer.text, answer.err
	}
}
