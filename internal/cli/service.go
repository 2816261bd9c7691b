package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// Commands that use the service as its clients do: through the API, with a key.
// They need no database.

// The groups of commands in the help.
const (
	useGroup = "use"
	runGroup = "run"
)

// service is what these commands share.
type service struct {
	*cli
	url, key string
	live     bool
	asJSON   bool
}

func (c *cli) useCommands() []*cobra.Command {
	s := &service{cli: c}
	list := []*cobra.Command{
		s.ratesCommand(),
		s.shipCommand(),
		s.shipmentsCommand(),
		s.trackCommand(),
		s.labelCommand(),
		s.voidCommand(),
		s.returnCommand(),
		s.pickupCommand(),
		s.manifestCommand(),
		s.locationsCommand(),
		s.pointsCommand(),
		s.proofCommand(),
		s.dutiesCommand(),
		s.apiCommand(),
	}
	for _, cmd := range list {
		cmd.GroupID = useGroup
		flags := cmd.PersistentFlags()
		flags.StringVar(&s.url, "url", "", "URL of the service (default: WAYBILL_URL, or "+client.DefaultBaseURL+")")
		flags.StringVar(&s.key, "key", "", "API key (default: WAYBILL_KEY)")
		flags.BoolVar(&s.asJSON, "json", false, "print the answer as JSON")
	}
	return list
}

// liveFlag is needed by commands that do something at a carrier.
func (s *service) liveFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.live, "live", false, "allow a live key: real carriers are asked, and labels cost money")
}

// open returns a client of the service.
func (s *service) open() (*client.Client, error) {
	key := s.setting(s.key, "WAYBILL_KEY")
	if key == "" {
		return nil, errors.New(`an API key is required: --key sk_test_... or WAYBILL_KEY; "waybill dev" prints one`)
	}
	return client.New(key, client.Options{BaseURL: s.setting(s.url, "WAYBILL_URL"), UserAgent: "waybill-cli"}), nil
}

// openToAct is open for a command that does something at a carrier.
func (s *service) openToAct() (*client.Client, error) {
	if s.isLive() && !s.live {
		return nil, errors.New("this is a live key: real carriers would be asked, and may charge for it. Use a test key, or add --live")
	}
	return s.open()
}

func (s *service) isLive() bool {
	return strings.HasPrefix(s.setting(s.key, "WAYBILL_KEY"), "sk_live_")
}

// setting returns a flag or else the environment variable.
func (s *service) setting(flag, name string) string {
	fromEnvironment, _ := s.Env(name)
	return cmp.Or(flag, fromEnvironment)
}

// readRequest reads a request as the API takes it from a file; "-" is standard
// input. A field that the API does not know is an error, as it is there.
func (s *service) readRequest(path string, into any) error {
	var data []byte
	var err error
	switch {
	case path == "":
		return errors.New("-f is required: a file with the request in JSON, or - for standard input")
	case path == "-" && s.In != nil:
		data, err = io.ReadAll(s.In)
	default:
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}

	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s is not a request in JSON: %w", path, err)
	}
	return nil
}

// show prints an answer: as JSON, or as the text that write prints.
func (s *service) show(answer any, write func(w io.Writer)) error {
	if s.asJSON {
		encoder := json.NewEncoder(s.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(answer)
	}
	table := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	write(table)
	return table.Flush()
}

// save writes a file that the service answered with; "-" is standard output.
func (s *service) save(path string, data []byte) error {
	if path == "-" {
		_, err := s.Out.Write(data)
		return err
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "%s: %d bytes\n", path, len(data))
	return nil
}

// A PendingError is the error of a command whose outcome is not known yet. A script
// must neither take it for a failure nor repeat it under another key.
type PendingError struct{ ID, Status string }

func (e *PendingError) Error() string {
	if e.Status == "needs_review" {
		return e.ID + " needs review: the carrier did not answer, and may have done it; see the dashboard, and do not repeat it"
	}
	return e.ID + " is " + e.Status + ": the carrier has not answered yet; look at it again in a minute, and do not repeat it"
}

// ExitCode returns the program's exit code for an error.
func ExitCode(err error) int {
	if _, ok := errors.AsType[*PendingError](err); ok {
		return 7
	}
	refused, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok:
		return 1
	case refused.Status == 404:
		return 3
	case refused.Status == 401 || refused.Status == 403:
		return 4
	case refused.Status == 429 || refused.Status >= 502:
		return 6
	case refused.Source == "carrier":
		return 5
	}
	return 1
}
