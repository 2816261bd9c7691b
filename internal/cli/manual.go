package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpTopics are pages of the help that are no commands.
func helpTopics() []*cobra.Command {
	var codes strings.Builder
	codes.WriteString("Programs decide by the exit code:\n")
	for _, exit := range exitCodes {
		fmt.Fprintf(&codes, "\n  %3d  %s", exit.Code, exit.Meaning)
	}
	return []*cobra.Command{
		{Use: "exit-codes", Short: "Exit codes and what they mean", Long: codes.String()},
		{Use: "environment", Short: "Environment variables of the commands that use the service", Long: environmentText()},
	}
}

// environment are the variables that the commands of the service read.
var environment = [][2]string{
	{"WAYBILL_URL", "URL of the service, together with WAYBILL_KEY"},
	{"WAYBILL_KEY", "API key; it wins over profiles"},
	{"WAYBILL_PROFILE", "profile to use"},
	{"WAYBILL_CONFIG_DIR", "directory of config.yaml with the profiles (default: $XDG_CONFIG_HOME/waybill, or ~/.config/waybill)"},
	{"WAYBILL_PRINTER", "printer of --print: a name that lp knows, or HOST:9100"},
	{"NO_COLOR", "any value turns colours off"},
	{"BROWSER", "program that opens pages"},
}

func environmentText() string {
	var text strings.Builder
	text.WriteString("Flags win over the environment, and the environment over profiles. \"waybill settings\" lists the\nvariables of the service itself.\n")
	for _, variable := range environment {
		fmt.Fprintf(&text, "\n  %-18s  %s", variable[0], variable[1])
	}
	return text.String()
}

func (c *cli) manCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:     "man [COMMAND...]",
		Short:   "Print a manual page, or write all of them",
		Long:    "Print the manual page of a command for man(1), or write those of all commands to a directory.",
		Example: "  waybill man ship | man -l -\n  waybill man --dir /usr/local/share/man/man1",
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			if dir != "" {
				return writeManPages(root, dir)
			}
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return usage("there is no command %q", strings.Join(args, " "))
			}
			_, err = fmt.Fprint(c.Out, manPage(found))
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "directory for the pages of all commands")
	return cmd
}

// writeManPages writes a page for each command.
func writeManPages(cmd *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(manPage(cmd)), 0o644); err != nil {
		return err
	}
	for _, subcommand := range shownCommands(cmd) {
		if err := writeManPages(subcommand, dir); err != nil {
			return err
		}
	}
	return nil
}

// shownCommands are the subcommands that the help lists.
func shownCommands(cmd *cobra.Command) []*cobra.Command {
	var shown []*cobra.Command
	for _, subcommand := range cmd.Commands() {
		if subcommand.IsAvailableCommand() && subcommand.Name() != "help" || subcommand.IsAdditionalHelpTopicCommand() {
			shown = append(shown, subcommand)
		}
	}
	return shown
}

// manPage returns the manual page of a command in the language of man(7). It has what
// --help has; cobra's own generator would add two dependencies for it.
func manPage(cmd *cobra.Command) string {
	var page strings.Builder
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	section := func(title string) { fmt.Fprintf(&page, ".SH %s\n", title) }

	fmt.Fprintf(&page, ".TH \"%s\" 1 \"\" \"waybill\" \"Waybill Manual\"\n", strings.ToUpper(name))
	section("NAME")
	fmt.Fprintf(&page, "%s \\- %s\n", roff(name), roff(cmd.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&page, ".B %s\n", roff(cmd.UseLine()))
	section("DESCRIPTION")
	description := cmd.Long
	if description == "" {
		description = cmd.Short + "."
	}
	fmt.Fprintf(&page, ".nf\n%s\n.fi\n", roff(description))

	writeManFlags(&page, "OPTIONS", cmd.NonInheritedFlags())
	writeManFlags(&page, "COMMON OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		section("EXAMPLES")
		fmt.Fprintf(&page, ".nf\n%s\n.fi\n", roff(cmd.Example))
	}
	section("EXIT STATUS")
	for _, exit := range exitCodes {
		fmt.Fprintf(&page, ".TP\n.B %d\n%s\n", exit.Code, roff(exit.Meaning))
	}

	var related []string
	if cmd.HasParent() {
		related = append(related, cmd.Parent().CommandPath())
	}
	for _, subcommand := range shownCommands(cmd) {
		related = append(related, subcommand.CommandPath())
	}
	section("SEE ALSO")
	for i, path := range related {
		separator := ","
		if i == len(related)-1 {
			separator = ""
		}
		fmt.Fprintf(&page, ".BR %s (1)%s\n", roff(strings.ReplaceAll(path, " ", "-")), separator)
	}
	return page.String()
}

// writeManFlags writes a section of flags.
func writeManFlags(page *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(page, ".SH %s\n", title)
	flags.VisitAll(func(flag *pflag.Flag) {
		if flag.Hidden {
			return
		}
		fmt.Fprintf(page, ".TP\n.B %s\n%s\n", roff(flagWords(flag)), roff(flag.Usage))
	})
}

// flagWords is how a flag is written: "-o, --output string".
func flagWords(flag *pflag.Flag) string {
	words := "--" + flag.Name
	if flag.Shorthand != "" {
		words = "-" + flag.Shorthand + ", " + words
	}
	if kind := flag.Value.Type(); flag.NoOptDefVal != "" && kind != "bool" {
		words += "[=" + strings.ToUpper(flag.Name) + "]"
	} else if kind != "bool" {
		words += " " + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
	}
	return words
}

// roff escapes a text for man(7): backslashes, dashes, and the points and quotes that
// begin a line.
func roff(text string) string {
	text = strings.ReplaceAll(text, `\`, `\e`)
	text = strings.ReplaceAll(text, "-", `\-`)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
