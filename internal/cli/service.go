package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

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
	printer
	chosen profileChoice
	live   bool
}

func (c *cli) useCommands() []*cobra.Command {
	s := &service{cli: c, printer: printer{out: c.Out}}
	list := []*cobra.Command{
		s.loginCommand(),
		s.logoutCommand(),
		s.whoamiCommand(),
		s.profileCommand(),
		s.ratesCommand(),
		s.shipCommand(),
		s.shipmentsCommand(),
		s.trackCommand(),
		s.labelCommand(),
		s.voidCommand(),
		s.returnCommand(),
		s.pickupCommand(),
		s.manifestCommand(),
		s.documentCommand(),
		s.locationsCommand(),
		s.pointsCommand(),
		s.proofCommand(),
		s.dutiesCommand(),
		s.importCommand(),
		s.eventsCommand(),
		s.requestsCommand(),
		s.listenCommand(),
		s.triggerCommand(),
		s.openCommand(),
		s.apiCommand(),
		s.mcpCommand(),
	}
	for _, cmd := range list {
		cmd.GroupID = useGroup
		s.chosen.flags(cmd)
		s.printer.flags(cmd)
	}
	return list
}

// An effect is whether a command does something at a carrier.
type effect bool

const (
	reads effect = false
	acts  effect = true // a live key needs --live
)

// A request is one run of a command: its context, the client, the profile and the
// arguments.
type request struct {
	context.Context
	*client.Client
	profile profile
	args    []string
	after   []func() error // what is done once the answer was printed
	answers *recorder
}

// then does something once the answer was printed: what was bought is shown even if
// its label cannot be saved.
func (r *request) then(do func() error) { r.after = append(r.after, do) }

// use makes cmd a command that makes a call and prints its answer: as JSON, or as
// the text that write prints. All commands of the service are made by it or by list.
func use[T any](s *service, kind effect, cmd *cobra.Command, call func(*request) (T, error), write func(io.Writer, T)) *cobra.Command {
	if kind == acts {
		s.liveFlag(cmd)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := s.open(cmd.Context(), kind, args)
		if err != nil {
			return err
		}
		answer, err := call(r)
		if err != nil {
			return err
		}

		if file, isFile := any(answer).(savedFile); isFile {
			return s.save(file)
		}
		if err := s.show(r.answers.last(answer), func(w io.Writer) { write(w, answer) }); err != nil {
			return err
		}
		for _, do := range r.after {
			if err := do(); err != nil {
				return err
			}
		}
		return unsettled(answer)
	}
	return cmd
}

// A column is one of a table: its title and what it shows of a row.
type column[T any] struct {
	title string
	cell  func(T) string
}

// list makes cmd a command that prints a list, page by page: a table, or JSON with one
// object a line.
func list[T any](s *service, cmd *cobra.Command, page func(r *request, limit int, cursor string) (client.Page[T], error), columns []column[T]) *cobra.Command {
	var limit int
	var all bool
	cmd.Args = cobra.NoArgs
	cmd.Flags().IntVar(&limit, "limit", 20, "how many, at most 100 (a page with --all)")
	cmd.Flags().BoolVar(&all, "all", false, "print all, page after page")

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r, err := s.open(cmd.Context(), reads, args)
		if err != nil {
			return err
		}

		var rows []T
		for cursor := ""; ; {
			found, err := page(r, limit, cursor)
			if err != nil {
				return err
			}
			if s.wantsJSON() {
				if err := s.show(r.answers.last(found.Data), nil); err != nil {
					return err
				}
			}
			rows = append(rows, found.Data...)

			cursor = found.NextCursor
			if !all || cursor == "" || len(found.Data) == 0 {
				break
			}
		}
		if s.wantsJSON() {
			return nil
		}
		return s.table(func(w io.Writer) { writeTable(w, rows, columns) })
	}
	return cmd
}

// writeTable prints a table with its titles.
func writeTable[T any](w io.Writer, rows []T, columns []column[T]) {
	cells := make([]string, len(columns))
	for i, column := range columns {
		cells[i] = column.title
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
	for _, row := range rows {
		for i, column := range columns {
			cells[i] = column.cell(row)
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
}

// group is a command that only has subcommands.
func group(use, short string, list ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: requireSubcommand, RunE: showHelp}
	cmd.AddCommand(list...)
	return cmd
}

// liveFlag is needed by commands that do something at a carrier.
func (s *service) liveFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.live, "live", false, "allow a live key: real carriers are asked, and labels cost money")
}

// open returns a run of a command, with a client of the profile. A live key is
// announced, and does nothing at a carrier unless --live says so.
func (s *service) open(ctx context.Context, kind effect, args []string) (*request, error) {
	chosen, err := s.chosen.resolve(s.cli)
	if err != nil {
		return nil, err
	}
	if chosen.isLive() {
		if kind == acts && !s.live {
			return nil, errors.New("this is a live key: real carriers would be asked, and may charge for it. Use a test key, or add --live")
		}
		fmt.Fprintf(s.Err, "LIVE: %s\n", chosen.describe())
	}

	answers := &recorder{}
	return &request{
		Context: ctx,
		Client: client.New(chosen.Key, client.Options{
			BaseURL:   chosen.URL,
			UserAgent: "waybill-cli",
			MaxWait:   longestWait,
			Answered:  answers.record,
		}),
		profile: chosen,
		args:    args,
		answers: answers,
	}, nil
}

// longestWait is how long a command waits for a service that asks for patience. If it
// asks for more, the exit code says so, and the person or the script decides.
const longestWait = 3 * time.Second

// requireLimit refuses a purchase with a live key that has no limit.
func (r *request) requireLimit(limit *client.Money) error {
	if r.profile.isLive() && limit == nil {
		return usage("--max-amount is required with a live key: the most that the label may cost")
	}
	return nil
}

// readRequest reads a request as the API takes it from a file; "-" is standard
// input. A field that the API does not know is an error, as it is there.
func (s *service) readRequest(path string, into any) error {
	data, err := s.readFile(path)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}

	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return usage("%s is not a request in JSON: %v", path, err)
	}
	return nil
}

// readFile reads a file; "-" is standard input.
func (s *service) readFile(path string) ([]byte, error) {
	if path == "-" && s.In != nil {
		return io.ReadAll(s.In)
	}
	return os.ReadFile(path)
}

// A savedFile is an answer that is a file. Its path "-" is standard output.
type savedFile struct {
	path string
	data []byte
}

func (s *service) save(file savedFile) error {
	if file.path == "-" {
		_, err := s.Out.Write(file.data)
		return err
	}
	if err := os.WriteFile(file.path, file.data, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "%s: %d bytes\n", file.path, len(file.data))
	return nil
}

// unsettled is the error of an answer whose outcome is not known yet; nil for others.
func unsettled(answer any) error {
	id, status, approval := "", "", ""
	switch thing := answer.(type) {
	case client.Shipment:
		id, status = thing.ID, thing.LabelStatus
		if thing.Approval != nil && thing.Approval.Status == "waiting" {
			approval = thing.Approval.ID
		}
	case client.Pickup:
		id, status = thing.ID, thing.Status
	case client.Manifest:
		id, status = thing.ID, thing.Status
	}
	switch status {
	case "pending", "needs_review", "voiding":
		return &PendingError{ID: id, Status: status, Approval: approval}
	}
	return nil
}
