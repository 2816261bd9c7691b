package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// A labelTarget is where a label goes: a file, a printer, or both.
type labelTarget struct {
	path    string
	print   bool
	printer string
}

// flags adds the flags; file is the name of the one for the file.
func (t *labelTarget) flags(cmd *cobra.Command, file string) {
	flags := cmd.Flags()
	short := ""
	if file == "output" {
		short = "o"
	}
	flags.StringVarP(&t.path, file, short, "", "file to save the label in; its name ends in .pdf, .zpl or .png")
	flags.BoolVar(&t.print, "print", false, "print the label with lp")
	flags.StringVar(&t.printer, "printer", "", "print on this printer: a name that lp knows, or HOST:9100 of a label printer, which gets ZPL (default: WAYBILL_PRINTER, or lp's own)")
	_ = cmd.MarkFlagFilename(file, "pdf", "zpl", "png")
}

// check says what is wrong with the flags, before anything is bought.
func (t *labelTarget) check() error {
	if t.path != "" && !slices.Contains([]string{"pdf", "zpl", "png"}, formatOf(t.path)) {
		return usage("%s does not end in .pdf, .zpl or .png", t.path)
	}
	return nil
}

func formatOf(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// writeThen saves and prints the label of a shipment once the shipment was printed.
func (t *labelTarget) writeThen(s *service, r *request, shipment string) {
	r.then(func() error { return t.write(s, r, shipment) })
}

// write saves and prints the label of a shipment, as the flags say.
func (t *labelTarget) write(s *service, r *request, shipment string) error {
	if t.path != "" {
		label, err := r.Label(r, shipment, client.LabelOptions{Format: formatOf(t.path)})
		if err != nil {
			return err
		}
		if err := s.save(savedFile{t.path, label}); err != nil {
			return err
		}
	}
	if !t.print && t.printer == "" {
		return nil
	}

	printer := cmp.Or(t.printer, lookupOr(s.cli, "WAYBILL_PRINTER"))
	format := "pdf"
	if isAddress(printer) {
		format = "zpl"
	}
	label, err := r.Label(r, shipment, client.LabelOptions{Format: format})
	if err != nil {
		return err
	}
	if err := printLabel(r, printer, label); err != nil {
		return fmt.Errorf("the label of %s is bought but not printed: %w", shipment, err)
	}
	fmt.Fprintf(s.Err, "printed on %s\n", cmp.Or(printer, "the default printer"))
	return nil
}

// isAddress reports whether a printer is one on the network that takes bytes as they
// are.
func isAddress(printer string) bool {
	host, port, err := net.SplitHostPort(printer)
	return err == nil && host != "" && port != ""
}

// printLabel sends a label to a printer: to its port, or to lp.
func printLabel(ctx context.Context, printer string, label []byte) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if isAddress(printer) {
		var dialer net.Dialer
		connection, err := dialer.DialContext(ctx, "tcp", printer)
		if err != nil {
			return err
		}
		_, err = connection.Write(label)
		if closed := connection.Close(); err == nil {
			err = closed
		}
		return err
	}

	args := []string{"-t", "label"}
	if printer != "" {
		args = append(args, "-d", printer)
	}
	lp := exec.CommandContext(ctx, "lp", args...)
	lp.Stdin = bytes.NewReader(label)
	if said, err := lp.CombinedOutput(); err != nil {
		return fmt.Errorf("lp: %w %s", err, bytes.TrimSpace(said))
	}
	return nil
}

func (s *service) labelCommand() *cobra.Command {
	var target labelTarget
	cmd := s.ofShipment("label", "Save or print a label")
	cmd.Example = "  waybill label shp_... -o label.zpl\n  waybill label shp_... --printer 192.0.2.7:9100"
	target.flags(cmd, "output")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if target.path == "" && !target.print && target.printer == "" {
			target.path = "label.pdf"
		}
		if err := target.check(); err != nil {
			return err
		}
		r, err := s.open(cmd.Context(), reads, args)
		if err != nil {
			return err
		}
		return target.write(s, r, args[0])
	}
	return cmd
}
