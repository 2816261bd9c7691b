package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// orderFile is the flag of commands that read an order.
func orderFile(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVarP(path, "file", "f", "", "file with the order in JSON, as POST /v1/shipments takes it; - for standard input")
}

func (s *service) ratesCommand() *cobra.Command {
	var file, location string
	cmd := &cobra.Command{
		Use:     "rates -f FILE",
		Short:   "Compare what carriers charge for an order",
		Example: "  waybill rates -f order.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var order client.ShipmentRequest
			if err := s.readRequest(file, &order); err != nil {
				return err
			}
			service, err := s.open()
			if err != nil {
				return err
			}

			if err := leaveFrom(cmd.Context(), service, &order, location); err != nil {
				return err
			}
			rates, err := service.Rates(cmd.Context(), ratesOf(order))
			if err != nil {
				return err
			}
			return s.show(rates, func(w io.Writer) { writeRates(w, rates) })
		},
	}

	orderFile(cmd, &file)
	locationFlag(cmd, &location)
	return cmd
}

// leaveFrom has the order leave from the location that a flag names, if it does.
func leaveFrom(ctx context.Context, service *client.Client, order *client.ShipmentRequest, location string) error {
	origin, err := atLocation(ctx, service, location)
	if origin != nil {
		order.Origin = origin
	}
	return err
}

// ratesOf asks for the rates of an order.
func ratesOf(order client.ShipmentRequest) client.RatesRequest {
	request := client.RatesRequest{
		Destination:  order.Destination,
		Parcel:       order.Parcel,
		Parcels:      order.Parcels,
		Origin:       order.Origin,
		ConnectionID: order.ConnectionID,
		ShipDate:     order.ShipDate,
		DeliverBy:    order.DeliverBy,
		Options:      order.Options,
		Customs:      order.Customs,
	}
	if order.Carrier != "" {
		request.Carriers = []string{order.Carrier}
	}
	if order.Service != "" {
		request.Services = []string{order.Service}
	}
	return request
}

func writeRates(w io.Writer, rates client.Rates) {
	fmt.Fprintln(w, "CARRIER\tSERVICE\tPRICE\tDAYS\tRATE")
	for _, r := range rates.Rates {
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%d\t%s\n", r.Carrier, cmp.Or(r.ServiceName, r.Service), r.Amount, r.Currency, r.TransitDays, r.ID)
	}
	for _, e := range rates.Errors {
		fmt.Fprintf(w, "%s\t%s\n", e.Carrier, e.Message)
	}
	for _, warning := range rates.Warnings {
		fmt.Fprintf(w, "warning: %s %s\n", warning.Pointer, warning.Detail)
	}
}

// shipOrder is the command "waybill ship".
type shipOrder struct {
	*service
	file, order, rate, maxAmount string
	location                     string
	idempotency, label           string
	dryRun                       bool
}

func (s *service) shipCommand() *cobra.Command {
	b := &shipOrder{service: s}
	cmd := &cobra.Command{
		Use:   "ship -f FILE",
		Short: "Buy a label for an order",
		Long: "Buy a label for an order and print the carrier and the tracking number.\n\n" +
			"The idempotency key is made from the order number and printed before the purchase, so the\n" +
			"same command can be repeated after a crash or a lost connection: it buys one label.\n" +
			"Exit code 7 means that the carrier has not answered yet: look at the shipment, do not buy anew.",
		Example: "  waybill ship -f order.json --max-amount 15 --label label.pdf",
		Args:    cobra.NoArgs,
		RunE:    b.run,
	}

	orderFile(cmd, &b.file)
	locationFlag(cmd, &b.location)
	s.liveFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&b.order, "order-id", "", "order number (default: that of the file)")
	flags.StringVar(&b.rate, "rate-id", "", "rate to buy, as \"waybill rates\" prints it")
	flags.StringVar(&b.maxAmount, "max-amount", "", "most that the label may cost, such as 15 or \"15 EUR\"; required with a live key")
	flags.StringVar(&b.idempotency, "idempotency-key", "", "idempotency key (default: made from the order number)")
	flags.StringVar(&b.label, "label", "", "file to save the label in; its name ends in .pdf, .zpl or .png")
	flags.BoolVar(&b.dryRun, "dry-run", false, "print the rates and buy nothing")
	return cmd
}

func (b *shipOrder) run(cmd *cobra.Command, _ []string) error {
	order, err := b.readOrder()
	if err != nil {
		return err
	}
	if b.dryRun {
		service, err := b.open()
		if err != nil {
			return err
		}
		if err := leaveFrom(cmd.Context(), service, &order, b.location); err != nil {
			return err
		}
		rates, err := service.Rates(cmd.Context(), ratesOf(order))
		if err != nil {
			return err
		}
		return b.show(rates, func(w io.Writer) { writeRates(w, rates) })
	}

	service, err := b.openToAct()
	if err != nil {
		return err
	}
	if b.isLive() && order.MaxAmount == nil {
		return errors.New("--max-amount is required with a live key: the most that the label may cost")
	}

	if err := leaveFrom(cmd.Context(), service, &order, b.location); err != nil {
		return err
	}

	key := cmp.Or(b.idempotency, "cli-"+order.OrderID)
	fmt.Fprintf(b.Err, "idempotency key: %s\n", key)
	bought, err := service.CreateShipment(cmd.Context(), order, client.IdempotencyKey(key))
	if err != nil {
		return err
	}
	if err := b.showShipment(bought); err != nil {
		return err
	}
	if b.label == "" || bought.LabelStatus != "ready" {
		return pending(bought)
	}
	return b.saveLabel(cmd, service, bought.ID, b.label)
}

// readOrder reads the order and what the flags change.
func (b *shipOrder) readOrder() (client.ShipmentRequest, error) {
	var order client.ShipmentRequest
	if err := b.readRequest(b.file, &order); err != nil {
		return order, err
	}
	order.OrderID = cmp.Or(b.order, order.OrderID)
	order.RateID = cmp.Or(b.rate, order.RateID)
	if order.OrderID == "" {
		return order, errors.New("the order has no number: give it one in the file, or with --order-id")
	}
	if b.maxAmount == "" {
		return order, nil
	}
	limit, err := parseMoney(b.maxAmount)
	order.MaxAmount = &limit
	return order, err
}

// parseMoney reads an amount with its currency, which is USD if it is left out.
func parseMoney(text string) (client.Money, error) {
	fields := strings.Fields(text)
	switch len(fields) {
	case 1:
		return client.Money{Amount: fields[0], Currency: "USD"}, nil
	case 2:
		return client.Money{Amount: fields[0], Currency: strings.ToUpper(fields[1])}, nil
	}
	return client.Money{}, fmt.Errorf("%q is not an amount such as 15 or 15 EUR", text)
}

// pending is the error of a shipment whose outcome is not known yet; nil for
// others.
func pending(shipment client.Shipment) error {
	if slices.Contains([]string{"pending", "needs_review", "voiding"}, shipment.LabelStatus) {
		return &PendingError{shipment.ID, shipment.LabelStatus}
	}
	return nil
}

func (s *service) showShipment(sh client.Shipment) error {
	return s.show(sh, func(w io.Writer) {
		fmt.Fprintf(w, "shipment\t%s\n", sh.ID)
		fmt.Fprintf(w, "order\t%s\n", sh.OrderID)
		fmt.Fprintf(w, "label\t%s\n", sh.LabelStatus)
		if sh.TrackingNumber != "" {
			fmt.Fprintf(w, "tracking\t%s %s\n", sh.Carrier, sh.TrackingNumber)
		}
		if sh.Rate != nil {
			fmt.Fprintf(w, "price\t%s %s\n", sh.Rate.Amount, sh.Rate.Currency)
		}
		fmt.Fprintf(w, "status\t%s\n", sh.Status)
		if sh.Reason != "" {
			fmt.Fprintf(w, "reason\t%s\n", sh.Reason)
		}
		for _, warning := range sh.Warnings {
			fmt.Fprintf(w, "warning\t%s\n", warning)
		}
	})
}

func (s *service) shipmentsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "shipments", Short: "List and show shipments", Args: requireSubcommand, RunE: showHelp}
	var in client.ShipmentsRequest
	list := &cobra.Command{
		Use:   "list",
		Short: "List shipments, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			page, err := service.ShipmentsPage(cmd.Context(), in)
			if err != nil {
				return err
			}
			return s.show(page.Data, func(w io.Writer) {
				fmt.Fprintln(w, "SHIPMENT\tORDER\tCARRIER\tTRACKING\tLABEL\tSTATUS\tCREATED")
				for _, sh := range page.Data {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", sh.ID, sh.OrderID, sh.Carrier, sh.TrackingNumber, sh.LabelStatus, sh.Status, sh.CreatedAt.Format(time.DateTime))
				}
			})
		},
	}

	flags := list.Flags()
	flags.StringVar(&in.Query, "query", "", "part of an order or tracking number, or words of the recipient")
	flags.StringVar(&in.Status, "status", "", "status, such as in_transit")
	flags.StringVar(&in.Carrier, "carrier", "", "carrier, such as ups")
	flags.StringVar(&in.OrderID, "order-id", "", "order number")
	flags.IntVar(&in.Limit, "limit", 20, "how many")

	get := &cobra.Command{
		Use:   "get SHIPMENT",
		Short: "Show a shipment",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			shipment, err := service.Shipment(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := s.showShipment(shipment); err != nil {
				return err
			}
			return pending(shipment)
		},
	}
	cmd.AddCommand(list, get)
	return cmd
}

func (s *service) trackCommand() *cobra.Command {
	var carrier string
	cmd := &cobra.Command{
		Use:   "track NUMBER",
		Short: "Show where a parcel is",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			found, err := service.Track(cmd.Context(), args[0], carrier)
			if err != nil {
				return err
			}
			return s.show(found, func(w io.Writer) {
				fmt.Fprintf(w, "%s %s\t%s\n", found.Carrier, found.TrackingNumber, found.Status)
				for _, e := range found.Events {
					place := ""
					if e.Location != nil {
						place = *e.Location
					}
					fmt.Fprintf(w, "%s\t%s\t%s\n", e.Timestamp.Format(time.DateTime), e.Description, place)
				}
			})
		},
	}

	cmd.Flags().StringVar(&carrier, "carrier", "", "carrier (default: recognized from the number)")
	return cmd
}

func (s *service) labelCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:     "label SHIPMENT -o FILE",
		Short:   "Save a label",
		Example: "  waybill label shp_... -o label.zpl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			return s.saveLabel(cmd, service, args[0], path)
		},
	}

	cmd.Flags().StringVarP(&path, "output", "o", "label.pdf", "file to save it in; its name ends in .pdf, .zpl or .png")
	return cmd
}

func (s *service) saveLabel(cmd *cobra.Command, service *client.Client, id, path string) error {
	format := path[strings.LastIndexByte(path, '.')+1:]
	if !slices.Contains([]string{"pdf", "zpl", "png"}, format) {
		return fmt.Errorf("%s does not end in .pdf, .zpl or .png", path)
	}
	label, err := service.Label(cmd.Context(), id, client.LabelOptions{Format: format})
	if err != nil {
		return err
	}
	return s.save(path, label)
}

func (s *service) voidCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "void SHIPMENT",
		Short: "Void a label that was not used",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := s.openToAct()
			if err != nil {
				return err
			}

			voided, err := service.Void(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := s.showShipment(voided); err != nil {
				return err
			}
			return pending(voided)
		},
	}

	s.liveFlag(cmd)
	return cmd
}

func (s *service) returnCommand() *cobra.Command {
	var (
		in        client.ReturnRequest
		maxAmount string
		label     string
	)
	cmd := &cobra.Command{
		Use:     "return SHIPMENT",
		Short:   "Buy a return label for a shipment, once",
		Example: "  waybill return shp_... --label return.pdf",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := s.openToAct()
			if err != nil {
				return err
			}

			if maxAmount != "" {
				limit, err := parseMoney(maxAmount)
				if err != nil {
					return err
				}
				in.MaxAmount = &limit
			} else if s.isLive() {
				return errors.New("--max-amount is required with a live key: the most that the label may cost")
			}

			bought, err := service.Return(cmd.Context(), args[0], in, client.IdempotencyKey("cli-return-"+args[0]))
			if err != nil {
				return err
			}
			if err := s.showShipment(bought); err != nil {
				return err
			}
			if label == "" || bought.LabelStatus != "ready" {
				return pending(bought)
			}
			return s.saveLabel(cmd, service, bought.ID, label)
		},
	}

	s.liveFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&in.Carrier, "carrier", "", "carrier (default: your routing rules choose)")
	flags.StringVar(&in.Service, "service", "", "service of the carrier")
	flags.StringVar(&maxAmount, "max-amount", "", "most that the label may cost, such as 15 or \"15 EUR\"; required with a live key")
	flags.StringVar(&label, "label", "", "file to save the label in; its name ends in .pdf, .zpl or .png")
	return cmd
}

func (s *service) proofCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "proof SHIPMENT -o FILE",
		Short: "Save the carrier's proof of delivery",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			proof, err := service.ProofOfDelivery(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.save(path, proof)
		},
	}

	cmd.Flags().StringVarP(&path, "output", "o", "proof.pdf", "file to save it in; - for standard output")
	return cmd
}

func (s *service) dutiesCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "duties -f FILE",
		Short: "Estimate what customs will charge for an order",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var order client.ShipmentRequest
			if err := s.readRequest(file, &order); err != nil {
				return err
			}
			service, err := s.open()
			if err != nil {
				return err
			}

			cost, err := service.LandedCost(cmd.Context(), order)
			if err != nil {
				return err
			}
			return s.show(cost, func(w io.Writer) {
				fmt.Fprintln(w, "CARRIER\tCHARGE\tAMOUNT")
				for _, estimate := range cost.Estimates {
					for _, charge := range estimate.Charges {
						fmt.Fprintf(w, "%s\t%s\t%s %s\n", estimate.Carrier, cmp.Or(charge.Name, charge.Type), charge.Amount.Amount, charge.Amount.Currency)
					}
				}
				for _, e := range cost.Errors {
					fmt.Fprintf(w, "%s\t%s\n", e.Carrier, e.Message)
				}
			})
		},
	}

	orderFile(cmd, &file)
	return cmd
}

func (s *service) apiCommand() *cobra.Command {
	var data, key string
	cmd := &cobra.Command{
		Use:   "api METHOD PATH",
		Short: "Call the API and print the answer",
		Long: "Call the API and print the answer. A POST gets an idempotency key, and is repeated with it if\n" +
			"the answer is lost.",
		Example: "  waybill api GET '/v1/events?limit=5'\n  waybill api POST /v1/rates -d @order.json",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			open := s.open
			if args[0] != "GET" {
				open = s.openToAct
			}
			service, err := open()
			if err != nil {
				return err
			}
			body := []byte(data)
			if path, isFile := strings.CutPrefix(data, "@"); isFile {
				if body, err = os.ReadFile(path); err != nil {
					return err
				}
			}
			answer, err := service.Call(cmd.Context(), args[0], args[1], body, client.IdempotencyKey(key))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(s.Out, strings.TrimSpace(string(answer)))
			return err
		},
	}

	s.liveFlag(cmd)
	cmd.Flags().StringVarP(&data, "data", "d", "", "body in JSON, or @FILE")
	cmd.Flags().StringVar(&key, "idempotency-key", "", "idempotency key of a POST (default: a new one)")
	return cmd
}
