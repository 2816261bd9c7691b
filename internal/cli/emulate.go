package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
	"github.com/waybillhq/waybill/internal/emulator"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
)

// A standIn is a carrier that "waybill emulate" can play.
type standIn struct {
	name string // of the carrier's Spec
	open func(*emulator.Ledger) *emulator.Server
	// accepts are the credentials that it takes, by field of the carrier.
	accepts carrier.Credentials
}

var standIns = []standIn{
	{"ups", ups.New, carrier.Credentials{"client_id": ups.ClientID, "client_secret": ups.ClientSecret, "account_number": ups.Account}},
	{"usps", usps.New, carrier.Credentials{
		"client_id": usps.ClientID, "client_secret": usps.ClientSecret, "crid": usps.CRID, "mid": usps.MID, "manifest_mid": usps.ManifestMID,
		"account_number": usps.Account,
	}},
	{"fedex", fedex.New, carrier.Credentials{
		"client_id": fedex.ClientID, "client_secret": fedex.ClientSecret, "account_number": fedex.Account,
		"track_client_id": fedex.TrackClientID, "track_client_secret": fedex.TrackClientSecret, "ground_economy_hub": fedex.Hub,
	}},
	{"dhl_express", dhlexpress.New, carrier.Credentials{"api_key": dhlexpress.APIKey, "api_secret": dhlexpress.APISecret, "account_number": dhlexpress.Account}},
}

// emulation is the command "waybill emulate".
type emulation struct {
	*cli
	listen, ledger, knobs string
}

func (c *cli) emulateCommand() *cobra.Command {
	e := &emulation{cli: c}
	var names []string
	for _, s := range standIns {
		names = append(names, s.name)
	}
	cmd := &cobra.Command{
		Use:   "emulate CARRIER",
		Short: "Play a carrier on this machine, for tests",
		Long: "Play a carrier on this machine until stopped: it speaks the carrier's own protocol, sells\n" +
			"nothing real, keeps a ledger of what it sold, and misbehaves as its knobs say.\n\n" +
			"Carriers: " + strings.Join(names, ", ") + ".",
		Example: "  waybill emulate ups --listen 127.0.0.1:9001\n" +
			`  waybill emulate usps --ledger usps.jsonl --knobs '{"latency":"200ms","buy":{"hang":0.08}}'`,
		Args:      oneArgument,
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.IndexFunc(standIns, func(s standIn) bool { return s.name == args[0] })
			if i < 0 {
				return fmt.Errorf("there is no stand-in for %q: choose from %s", args[0], strings.Join(names, ", "))
			}
			return e.run(cmd.Context(), standIns[i])
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&e.listen, "listen", "127.0.0.1:9001", "address that it listens on")
	flags.StringVar(&e.ledger, "ledger", "", "file of the ledger, read at the start and written on (default: kept in memory)")
	flags.StringVar(&e.knobs, "knobs", "", "how it misbehaves: JSON, or a file of JSON (default: it behaves)")
	return cmd
}

// run plays the carrier until ctx ends.
func (e *emulation) run(ctx context.Context, s standIn) (err error) {
	knobs, err := readKnobs(e.knobs)
	if err != nil {
		return err
	}
	ledger, err := emulator.OpenLedger(e.ledger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()
	carrier := s.open(ledger)
	if err := carrier.Turn(knobs); err != nil {
		return fmt.Errorf("--knobs: %w", err)
	}
	listener, err := net.Listen("tcp", e.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: carrier, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if err := e.tell(s, "http://"+listener.Addr().String()); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return stopServer(ctx, server)
	}
}

// stopServer lets the running requests end, but not those that hang on
// purpose.
func stopServer(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}

// readKnobs reads JSON, or a file of it.
func readKnobs(text string) (k emulator.Knobs, err error) {
	if text == "" {
		return k, nil
	}
	data := []byte(text)
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		if data, err = os.ReadFile(strings.TrimPrefix(text, "@")); err != nil {
			return k, fmt.Errorf("--knobs is neither JSON nor a file: %w", err)
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&k); err != nil {
		return k, fmt.Errorf("--knobs: %w", err)
	}
	return k, nil
}

// tell says how to connect, in one write.
func (e *emulation) tell(s standIn, address string) error {
	spec, err := liveSpec(s.name)
	if err != nil {
		return err
	}
	base, err := url.Parse(spec.LiveURL)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "A stand-in for %s listens on %s. It takes these credentials:\n\n", spec.Title, address)
	for _, f := range spec.Fields {
		if value, ok := s.accepts[f.Name]; ok {
			fmt.Fprintf(&b, "  %-19s %s\n", f.Name, value)
		}
	}
	fmt.Fprintf(&b, "\nSet this for the service, and where you connect it, so that they call here instead of %s:\n\n  export CARRIER_URLS=%s=%s%s\n", spec.Title, s.name, address, base.Path)
	fmt.Fprintf(&b, "\nThen connect it, for test keys (DATABASE_URL says to which service):\n\n  %s connection add --carrier %s%s\n", program(), s.name, s.flags(spec))
	fmt.Fprintf(&b, "\nWhat it did, and how it is to misbehave from now on:\n\n  curl %s/_emulator/ledger\n", address)
	fmt.Fprintf(&b, "  curl -X PUT %s/_emulator/knobs -d '{\"buy\":{\"reset\":1}}'\n", address)
	_, err = fmt.Fprint(e.Out, b.String())
	return err
}

// flags are the credentials as "waybill connection add" takes them. They are
// worth nothing, so that the list of processes may show them.
func (s standIn) flags(spec carrier.Spec) string {
	var b strings.Builder
	for _, f := range spec.Fields {
		if value, ok := s.accepts[f.Name]; ok {
			fmt.Fprintf(&b, " --set %s=%s", f.Name, value)
		}
	}
	return b.String()
}

func liveSpec(name string) (carrier.Spec, error) {
	for _, s := range all.Specs {
		if s.Name == name {
			return s, nil
		}
	}
	return carrier.Spec{}, fmt.Errorf("there is no carrier %s", name)
}
