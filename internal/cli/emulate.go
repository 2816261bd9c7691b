package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	"github.com/waybillhq/waybill/internal/emulator/amazonshipping"
	"github.com/waybillhq/waybill/internal/emulator/canadapost"
	"github.com/waybillhq/waybill/internal/emulator/dhlexpress"
	"github.com/waybillhq/waybill/internal/emulator/dhlparcelde"
	"github.com/waybillhq/waybill/internal/emulator/fedex"
	"github.com/waybillhq/waybill/internal/emulator/gls"
	"github.com/waybillhq/waybill/internal/emulator/postnl"
	"github.com/waybillhq/waybill/internal/emulator/royalmail"
	"github.com/waybillhq/waybill/internal/emulator/ups"
	"github.com/waybillhq/waybill/internal/emulator/usps"
	"github.com/waybillhq/waybill/internal/ship"
)

// emulated is a carrier that "waybill emulate" can emulate.
type emulated struct {
	name string // of the carrier's Spec
	open func(*emulator.Ledger) *emulator.Server
	// accepts are the credentials that it takes, by field of the carrier.
	accepts carrier.Credentials
}

var emulatedCarriers = []emulated{
	{"ups", ups.New, carrier.Credentials{
		"client_id":      ups.ClientID,
		"client_secret":  ups.ClientSecret,
		"account_number": ups.Account,
	}},
	{"usps", usps.New, carrier.Credentials{
		"client_id":      usps.ClientID,
		"client_secret":  usps.ClientSecret,
		"crid":           usps.CRID,
		"mid":            usps.MID,
		"manifest_mid":   usps.ManifestMID,
		"account_number": usps.Account,
	}},
	{"fedex", fedex.New, carrier.Credentials{
		"client_id":           fedex.ClientID,
		"client_secret":       fedex.ClientSecret,
		"account_number":      fedex.Account,
		"track_client_id":     fedex.TrackClientID,
		"track_client_secret": fedex.TrackClientSecret,
		"ground_economy_hub":  fedex.Hub,
	}},
	{"dhl_express", dhlexpress.New, carrier.Credentials{
		"api_key":           dhlexpress.APIKey,
		"api_secret":        dhlexpress.APISecret,
		"account_number":    dhlexpress.Account,
		"service_point_key": dhlexpress.ServicePointKey,
	}},
	{"dhl_parcel_de", dhlparcelde.New, carrier.Credentials{
		"api_key":                         dhlparcelde.APIKey,
		"api_secret":                      dhlparcelde.APISecret,
		"username":                        dhlparcelde.User,
		"password":                        dhlparcelde.Password,
		"billing_paket":                   dhlparcelde.BillingPaket,
		"billing_kleinpaket":              dhlparcelde.BillingKleinpaket,
		"billing_paket_international":     dhlparcelde.BillingPaketInternational,
		"billing_europaket":               dhlparcelde.BillingEuropaket,
		"billing_warenpost_international": dhlparcelde.BillingWarenpostInternational,
		"billing_pickup":                  dhlparcelde.BillingPickup,
	}},
	{"gls", gls.New, carrier.Credentials{
		"client_id":     gls.ClientID,
		"client_secret": gls.ClientSecret,
		"contact_id":    gls.ContactID,
	}},
	{"royal_mail", royalmail.New, carrier.Credentials{
		"api_key":                royalmail.APIKey,
		"tracking_client_id":     royalmail.TrackingClientID,
		"tracking_client_secret": royalmail.TrackingClientSecret,
	}},
	{"postnl", postnl.New, carrier.Credentials{
		"api_key":             postnl.APIKey,
		"customer_code":       postnl.CustomerCode,
		"customer_number":     postnl.CustomerNumber,
		"collection_location": postnl.CollectionLocation,
	}},
	{"canada_post", canadapost.New, carrier.Credentials{
		"api_user":        canadapost.User,
		"api_password":    canadapost.Password,
		"customer_number": canadapost.Customer,
		"contract_id":     canadapost.Contract,
		"refund_email":    canadapost.Email,
	}},
	{"amazon_shipping", amazonshipping.New, carrier.Credentials{
		"client_id":     amazonshipping.ClientID,
		"client_secret": amazonshipping.ClientSecret,
		"refresh_token": amazonshipping.RefreshToken,
		"business_id":   amazonshipping.BusinessID,
	}},
}

// emulation is the command "waybill emulate".
type emulation struct {
	*cli
	listen string
	ledger string
	faults string
	scale  float64
}

func (c *cli) emulateCommand() *cobra.Command {
	e := &emulation{cli: c}
	var names []string
	for _, candidate := range emulatedCarriers {
		names = append(names, candidate.name)
	}

	cmd := &cobra.Command{
		Use:   "emulate CARRIER",
		Short: "Emulate a carrier on this machine, for tests",
		Long: "Emulate a carrier on this machine until stopped. The emulator speaks the carrier's protocol, sells\n" +
			"nothing real, keeps a ledger of what it sold, and injects the configured faults.\n\n" +
			"Carriers: " + strings.Join(names, ", ") + ".",
		Example: "  waybill emulate ups --listen 127.0.0.1:9001\n" +
			`  waybill emulate usps --ledger usps.jsonl --faults '{"latency":"200ms","buy":{"hang":0.08}}'`,
		Args:      oneArgument,
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			i := slices.Index(names, args[0])
			if i < 0 {
				return fmt.Errorf("there is no emulator for %q: choose from %s", args[0], strings.Join(names, ", "))
			}
			return e.run(cmd.Context(), emulatedCarriers[i])
		},
	}

	flags := cmd.Flags()
	flags.StringVar(&e.listen, "listen", "127.0.0.1:9001", "address to listen on")
	flags.StringVar(&e.ledger, "ledger", "", "ledger file, read at startup and appended to (default: in memory)")
	flags.StringVar(&e.faults, "faults", "", "faults to inject: JSON or the path of a JSON file (default: none)")
	flags.Float64Var(&e.scale, "lookup-scale", 1, "factor of the carrier's delay before a look-up finds a new label; 0 finds it at once")
	return cmd
}

// run emulates the carrier until ctx ends.
func (e *emulation) run(ctx context.Context, played emulated) (err error) {
	if e.scale < 0 || math.IsNaN(e.scale) || math.IsInf(e.scale, 0) {
		return fmt.Errorf("--lookup-scale is %v: it must be 0 or more, such as 0.001", e.scale)
	}
	faults, err := readFaults(e.faults)
	if err != nil {
		return err
	}
	ledger, err := emulator.OpenLedger(e.ledger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ledger.Close()) }()

	carrier := played.open(ledger)
	carrier.LookupScale = e.scale
	if err := carrier.Turn(faults); err != nil {
		return fmt.Errorf("--faults: %w", err)
	}

	listener, err := net.Listen("tcp", e.listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: carrier, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	if err := e.announce(played, "http://"+listener.Addr().String()); err != nil {
		return errors.Join(err, server.Close())
	}

	// The ledger is closed after the server: a request that is under way may
	// still sell.
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

// readFaults reads JSON, or a file of it.
func readFaults(text string) (faults emulator.Faults, err error) {
	if text == "" {
		return faults, nil
	}

	data := []byte(text)
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		if data, err = os.ReadFile(strings.TrimPrefix(text, "@")); err != nil {
			return faults, fmt.Errorf("--faults must be JSON or the path of a JSON file: %w", err)
		}
	}

	if err := ship.UnmarshalStrict(data, &faults); err != nil {
		return faults, fmt.Errorf("--faults: %w", err)
	}
	return faults, nil
}

// announce prints how to connect, in one write.
func (e *emulation) announce(played emulated, address string) error {
	spec, err := liveSpec(played.name)
	if err != nil {
		return err
	}
	base, err := url.Parse(spec.LiveURL)
	if err != nil {
		return err
	}

	var text strings.Builder
	fmt.Fprintf(&text, "The %s emulator is listening on %s. It accepts these credentials:\n\n", spec.Title, address)
	for _, field := range spec.Fields {
		if value, ok := played.accepts[field.Name]; ok {
			fmt.Fprintf(&text, "  %-19s %s\n", field.Name, value)
		}
	}
	fmt.Fprintf(&text, "\nSet this for the service and for \"waybill connection\", so that they call the emulator instead of %s:\n\n  export CARRIER_URLS=%s=%s%s\n", spec.Title, played.name, address, base.Path)
	fmt.Fprintf(&text, "\nThen connect it in test mode (DATABASE_URL must be set):\n\n  %s connection add --carrier %s%s\n", program(), played.name, played.flags(spec))
	fmt.Fprintf(&text, "\nSee what it sold, and set its faults:\n\n  curl %s/_emulator/ledger\n", address)
	fmt.Fprintf(&text, "  curl -X PUT %s/_emulator/faults -d '{\"buy\":{\"reset\":1}}'\n", address)

	_, err = fmt.Fprint(e.Out, text.String())
	return err
}

// flags returns the credentials as "waybill connection add" takes them. They
// are worth nothing, so the list of processes may show them.
func (e emulated) flags(spec carrier.Spec) string {
	var text strings.Builder
	for _, field := range spec.Fields {
		if value, ok := e.accepts[field.Name]; ok {
			fmt.Fprintf(&text, " --set %s=%s", field.Name, value)
		}
	}
	return text.String()
}

func liveSpec(name string) (carrier.Spec, error) {
	spec, ok := findSpec(all.Specs, name)
	if !ok {
		return spec, fmt.Errorf("there is no carrier %s", name)
	}
	return spec, nil
}
