package cli_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/waybillhq/waybill/internal/cli"
)

var terminalGuide = filepath.Join("..", "..", "docs", "cli.md")

// users returns the commands that use the service.
func users() []*cobra.Command {
	var list []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.RunE != nil && !(cmd.HasSubCommands() && cmd.Example == "") {
			list = append(list, cmd)
		}
		for _, subcommand := range cmd.Commands() {
			walk(subcommand)
		}
	}
	for _, cmd := range cli.NewRoot(cli.Streams{}).Commands() {
		if cmd.GroupID == "use" {
			walk(cmd)
		}
	}
	return list
}

// reference describes the commands, as docs/cli.md has it.
func reference() string {
	var text strings.Builder
	for _, cmd := range users() {
		fmt.Fprintf(&text, "### %s\n\n%s.\n\n", cmd.CommandPath(), strings.TrimSuffix(cmd.Short, "."))
		if cmd.Example != "" {
			fmt.Fprintf(&text, "```sh\n%s\n```\n\n", regexp.MustCompile(`(?m)^  `).ReplaceAllString(cmd.Example, ""))
		}
		rows := 0
		cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Name == "help" {
				return
			}
			if rows++; rows == 1 {
				text.WriteString("| flag | |\n|---|---|\n")
			}
			name := "--" + flag.Name
			if flag.Shorthand != "" {
				name = "-" + flag.Shorthand + ", " + name
			}
			fmt.Fprintf(&text, "| `%s` | %s |\n", name, strings.ReplaceAll(flag.Usage, "|", `\|`))
		})
		if rows > 0 {
			text.WriteString("\n")
		}
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// TestTheTerminalGuideIsWrittenFromTheCommands holds the tables and the reference.
func TestTheTerminalGuideIsWrittenFromTheCommands(t *testing.T) {
	doc := readText(t, terminalGuide)
	var codes, variables strings.Builder
	codes.WriteString("| code | meaning |\n|---|---|\n")
	for _, exit := range cli.ExitCodes {
		fmt.Fprintf(&codes, "| %d | %s |\n", exit.Code, exit.Meaning)
	}
	variables.WriteString("| variable | |\n|---|---|\n")
	for _, variable := range cli.Environment {
		fmt.Fprintf(&variables, "| `%s` | %s |\n", variable[0], variable[1])
	}

	wanted := doc
	for name, text := range map[string]string{"exit-codes": codes.String(), "environment": variables.String(), "reference": reference()} {
		part := regexp.MustCompile(`(?s)<!-- ` + name + ` -->\n.*?<!-- /` + name + ` -->`)
		if !part.MatchString(wanted) {
			t.Fatalf("the guide has no place for %s", name)
		}
		wanted = part.ReplaceAllLiteralString(wanted, "<!-- "+name+" -->\n"+text+"<!-- /"+name+" -->")
	}
	if *update {
		if err := os.WriteFile(terminalGuide, []byte(wanted), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if wanted != doc {
		t.Error(`docs/cli.md differs from the commands: run "go test ./internal/cli -run TheTerminalGuide -update"`)
	}
}

// A script runs commands as the guide shows them, in a shell.
type script struct {
	desk
	replace *strings.Replacer
}

// newScript starts the service, and puts a program named waybill on the path of the
// shell: this test binary.
func newScript(t *testing.T) script {
	t.Helper()
	d := newDesk(t)
	program := d.file(t, "waybill", "#!/bin/sh\n"+asProgram+"=1 exec '"+os.Args[0]+"' \"$@\"\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	d.file(t, "pass", "#!/bin/sh\necho $WAYBILL_KEY\n")
	d.file(t, "order.json", orderText)
	d.file(t, "certificate.pdf", "%PDF-1.4\n%%EOF\n")
	d.file(t, "addresses.json", `{"addresses": [{"object": "Address", "id": "adr_1", "name": "Jane Doe", "street1": "350 5th Avenue", "city": "New York", "state": "NY", "zip": "10118", "country": "US"}]}`)
	d.file(t, "trackers.json", `[{"object": "Tracker", "status": "delivered"}]`)
	d.file(t, "carrier_accounts.json", `[{"object": "CarrierAccount", "type": "UpsAccount"}]`)
	d.file(t, "rates.json", `{"destination": {"country": "US", "zip": "10118"}, "parcel": {"weight": 2.5}}`)
	d.file(t, "abroad.json", `{"destination": {"name": "Ada", "address1": "Unter den Linden 1", "city": "Berlin", "zip": "10117", "country": "DE"}, "parcel": {"weight": 2.1},
		"customs": {"contentsType": "merchandise", "items": [{"description": "Cotton shirt", "quantity": 2, "value": {"amount": "20.00", "currency": "USD"}, "hsCode": "610910", "originCountry": "PT"}]}}`)
	if err := os.Chmod(filepath.Join(d.folder, "pass"), 0o700); err != nil {
		t.Fatal(err)
	}

	printer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { printer.Close() })
	go func() {
		for {
			connection, err := printer.Accept()
			if err != nil {
				return
			}
			connection.Close()
		}
	}()

	bought := d.prints(t, `(shp_\w+) usps (\w+)`, "ship", "--order-id", "docs", "--to", toJane, "--weight", "1lb", "--carrier", "usps", "--jq", `.id + " " + .carrier + " " + .trackingNumber`)
	day := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	pickup := d.prints(t, `pik_\w+`, "pickup", "book", "--carrier", "dhl_express", "--ready", day+"T12:00-08:00", "--close", day+"T17:00-08:00", "--parcels", "1")
	manifest := d.prints(t, `man_\w+`, "manifest", "close", "--carrier", "usps")
	return script{d, strings.NewReplacer(
		"shp_...", bought[1],
		"pik_...", pickup[0],
		"man_...", manifest[0],
		"1Z999AA10123456784", bought[2],
		"2027-03-01", day,
		"192.0.2.7:9100", printer.Addr().String(),
		"http://localhost:3000/hook", newServer(t, func(string, []byte) string { return "{}" }),
		"https://ship.example.com", d.shell["WAYBILL_URL"],
	)}
}

// command returns a shell that runs the text.
func (s script) command(ctx context.Context, text string) *exec.Cmd {
	sh := exec.CommandContext(ctx, "sh", "-eu", "-c", s.replace.Replace(text))
	sh.Dir = s.folder
	sh.Env = []string{"PATH=" + s.folder + ":" + os.Getenv("PATH"), "NO_COLOR=1"}
	for name, value := range s.shell {
		sh.Env = append(sh.Env, name+"="+value)
	}
	return sh
}

// runs runs the text to its end.
func (s script) runs(t *testing.T, text string, want int) {
	t.Helper()
	out, err := s.command(t.Context(), text).CombinedOutput()
	code := 0
	if failed, ok := err.(*exec.ExitError); ok {
		code = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if code != want {
		t.Errorf("%s\nends with %d, want %d:\n%s", text, code, want, out)
	}
	if strings.Contains(string(out), "\x1b[") {
		t.Errorf("%s prints colours in spite of NO_COLOR", text)
	}
}

// follows runs a command that does not end by itself, and stops it.
func (s script) follows(t *testing.T, text string) {
	t.Helper()

	// On a busy machine the signal can come before the program has begun.
	out, err := s.stopped(t, text, 2*time.Second)
	if err != nil && strings.Contains(err.Error(), "signal: ") {
		out, err = s.stopped(t, text, 20*time.Second)
	}
	if err != nil {
		t.Errorf("%s, stopped: %v\n%s", text, err, out)
	}
}

// stopped runs a command and stops it after a while.
func (s script) stopped(t *testing.T, text string, after time.Duration) (string, error) {
	t.Helper()
	running := s.command(t.Context(), "exec "+strings.TrimSpace(text))
	var out strings.Builder
	running.Stdout, running.Stderr = &out, &out
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- running.Wait() }()
	select {
	case err := <-ended:
		return out.String(), fmt.Errorf("it ended by itself: %w", cmp.Or(err, errors.New("exit status 0")))
	case <-time.After(after):
	}
	if err := running.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	return out.String(), err
}

// TestTheExamplesOfTheTerminalGuideWork runs every example of the guide and of the
// commands themselves. That of signing in with a person is
// TestATerminalSignsInThroughTheDashboard.
func TestTheExamplesOfTheTerminalGuideWork(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	blocks := regexp.MustCompile("(?s)<!-- (run|follow)( \\d+)? -->\n```sh\n(.*?)```").FindAllStringSubmatch(readText(t, terminalGuide), -1)
	if len(blocks) < 6 {
		t.Fatalf("only %d blocks were found", len(blocks))
	}
	readme := regexp.MustCompile("(?s)<!-- terminal -->\n```sh\n(.*?)```").FindStringSubmatch(readText(t, filepath.Join("..", "..", "README.md")))
	s.runs(t, strings.ReplaceAll(readme[1], "./waybill", "waybill"), 0)
	for _, block := range blocks {
		code, _ := strconv.Atoi(strings.TrimSpace(block[2]))
		if block[1] == "follow" {
			s.follows(t, block[3])
			continue
		}
		s.runs(t, block[3], code)
	}

	examples := 0
	for _, cmd := range users() {
		for line := range strings.Lines(cmd.Example) {
			examples++
			number := fmt.Sprint("example-", examples) // of an order that was not shipped yet
			line = strings.ReplaceAll(strings.TrimSpace(line), "1001", number)
			s.file(t, "order.json", strings.Replace(orderText, "T-1001", number, 1))
			switch {
			case strings.HasPrefix(line, "waybill login"): // a person approves it
			case strings.HasPrefix(line, "waybill document resolve"): // it was only kept
				s.runs(t, line, 3)
			case strings.Contains(line, "document resolve"): // none was sent
				s.runs(t, line, 3)
			case strings.Contains(line, " resolve "): // nothing needs review
				s.runs(t, line, 1)
			case strings.HasPrefix(line, "waybill proof"): // it must be delivered first
				s.runs(t, "waybill trigger shipment.delivered --shipment shp_... && "+line+" || [ $? = 3 ]", 0)
			case strings.Contains(line, " fault refuse"):
				s.runs(t, line, 5)
			case strings.HasPrefix(line, "waybill void"): // it was moved above
				s.runs(t, "waybill ship --order-id void --to '"+toJane+"' --weight 1lb --jq .id > id && "+strings.Replace(line, "shp_...", "$(cat id)", 1), 0)
			case strings.Contains(line, " tail") && !strings.Contains(line, "--no-follow"), strings.Contains(line, "listen --forward"):
				s.follows(t, line)
			default:
				s.runs(t, line, 0)
			}
		}
	}
	if examples < 20 {
		t.Errorf("only %d examples were found", examples)
	}
}
