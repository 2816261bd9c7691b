package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

func (s *service) ratesCommand() *cobra.Command {
	var flags orderFlags
	cmd := &cobra.Command{
		Use:   "rates",
		Short: "Compare what carriers charge for an order",
		Example: "  waybill rates --to 'Jane Doe, 350 5th Avenue, New York NY 10118, US' --weight 2.5lb\n" +
			"  waybill rates -f order.json",
		Args: cobra.NoArgs,
	}
	flags.add(s, cmd)
	return use(s, reads, cmd, func(r *request) (client.Rates, error) {
		order, err := flags.read(s, r)
		if err != nil {
			return client.Rates{}, err
		}
		return r.Rates(r, ratesOf(order))
	}, writeRates)
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
	writeTable(w, rates.Rates, []column[client.Rate]{
		{"CARRIER", func(r client.Rate) string { return r.Carrier }},
		{"SERVICE", func(r client.Rate) string { return cmp.Or(r.ServiceName, r.Service) }},
		{"PRICE", func(r client.Rate) string { return r.Amount + " " + r.Currency }},
		{"DAYS", func(r client.Rate) string { return strconv.Itoa(r.TransitDays) }},
	})
	for _, e := range rates.Errors {
		fmt.Fprintf(w, "%s\t%s\n", e.Carrier, e.Message)
	}
	for _, warning := range rates.Warnings {
		fmt.Fprintf(w, "warning: %s %s\n", warning.Pointer, warning.Detail)
	}
}

func (s *service) shipCommand() *cobra.Command {
	var (
		flags                  orderFlags
		orderID, rate          string
		maxAmount, idempotency string
		label                  labelTarget
		dryRun                 bool
	)
	cmd := &cobra.Command{
		Use:   "ship",
		Short: "Buy a label for an order",
		Long: "Buy a label for an order and print the carrier and the tracking number.\n\n" +
			"The idempotency key is made from the order number and printed before the purchase, so the\n" +
			"same command can be repeated after a crash or a lost connection: it buys one label.\n" +
			"Exit code 7 means that the carrier has not answered yet: check the shipment later; do not buy again.",
		Example: "  waybill ship --order-id 1001 --to 'Jane Doe, 350 5th Avenue, New York NY 10118, US' --weight 2.5lb --label label.pdf\n" +
			"  waybill ship -f order.json --max-amount 15",
		Args: cobra.NoArgs,
	}
	flags.add(s, cmd)
	label.flags(cmd, "label")
	cmd.Flags().StringVar(&orderID, "order-id", "", "order number (default: that of the file)")
	cmd.Flags().StringVar(&rate, "rate-id", "", "rate to buy: an id that \"waybill rates --json\" prints")
	cmd.Flags().StringVar(&maxAmount, "max-amount", "", "most that the label may cost, such as 15 or \"15 EUR\"; required with a live key")
	cmd.Flags().StringVar(&idempotency, "idempotency-key", "", "idempotency key (default: made from the order number)")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the rates and buy nothing")

	buy := func(r *request) (bought client.Shipment, err error) {
		order, err := flags.read(s, r)
		if err != nil {
			return bought, err
		}
		order.OrderID = cmp.Or(orderID, order.OrderID)
		order.RateID = cmp.Or(rate, order.RateID)
		if order.OrderID == "" {
			return bought, usage("the order has no number: give it one with --order-id, or in the file")
		}
		limit, err := parseMoney(maxAmount)
		if err != nil {
			return bought, err
		}
		if limit != nil {
			order.MaxAmount = limit
		}
		if err := r.requireLimit(order.MaxAmount); err != nil {
			return bought, err
		}
		if err := label.check(); err != nil {
			return bought, err
		}

		key := cmp.Or(idempotency, "cli-"+order.OrderID)
		fmt.Fprintf(s.Err, "idempotency key: %s\n", key)
		bought, err = r.CreateShipment(r, order, client.IdempotencyKey(key))
		if err == nil && bought.Replayed {
			bought, err = s.boughtBefore(r, bought, key)
		}
		if err == nil && bought.LabelStatus == "ready" {
			label.writeThen(s, r, bought.ID)
		}
		return bought, err
	}

	use(s, acts, cmd, buy, writeShipment)
	purchase := cmd.RunE
	compare := use(s, reads, &cobra.Command{}, func(r *request) (client.Rates, error) {
		order, err := flags.read(s, r)
		if err != nil {
			return client.Rates{}, err
		}
		return r.Rates(r, ratesOf(order))
	}, writeRates).RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if dryRun {
			return compare(cmd, args)
		}
		return purchase(cmd, args)
	}
	return cmd
}

// boughtBefore returns a shipment that was bought with the key before, as it is now:
// the service answers a repeated purchase as it did the first time. An order whose
// label was voided since has no label, so it must not look bought.
func (s *service) boughtBefore(r *request, first client.Shipment, key string) (client.Shipment, error) {
	now, err := r.Shipment(r, first.ID)
	if err != nil {
		return first, err
	}

	switch now.LabelStatus {
	case "voided", "voiding", "refund_pending":
		return now, fmt.Errorf("order %s was bought before as %s, and that label was voided; to buy a new label, name another key: --idempotency-key %s-2", now.OrderID, now.ID, key)
	}
	fmt.Fprintf(s.Err, "order %s was bought with this key at %s: this is that shipment\n", now.OrderID, now.CreatedAt.Format(time.DateTime))
	return now, nil
}

func writeShipment(w io.Writer, sh client.Shipment) {
	lines := [][2]string{
		{"shipment", sh.ID},
		{"order", sh.OrderID},
		{"label", sh.LabelStatus},
	}
	if sh.TrackingNumber != "" {
		lines = append(lines, [2]string{"tracking", sh.Carrier + " " + sh.TrackingNumber})
	}
	if sh.Rate != nil {
		lines = append(lines, [2]string{"price", sh.Rate.Amount + " " + sh.Rate.Currency})
	}
	lines = append(lines, [2]string{"status", sh.Status}, [2]string{"reason", sh.Reason})
	for _, warning := range sh.Warnings {
		lines = append(lines, [2]string{"warning", warning})
	}
	writeLines(w, lines)
}

// writeLines prints names and values; those without a value are left out.
func writeLines(w io.Writer, lines [][2]string) {
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", line[0], line[1])
		}
	}
}

func (s *service) shipmentsCommand() *cobra.Command {
	var in client.ShipmentsRequest
	listing := &cobra.Command{
		Use:     "list",
		Short:   "List shipments, newest first",
		Example: "  waybill shipments list --status exception --json=id,carrier --jq 'select(.carrier==\"ups\").id'",
	}
	flags := listing.Flags()
	flags.StringVar(&in.Query, "query", "", "part of an order or tracking number, or words of the recipient")
	flags.StringVar(&in.Status, "status", "", "status, such as in_transit")
	flags.StringSliceVar(&in.LabelStatus, "label-status", nil, "label status, such as voided; several are separated by commas")
	flags.StringVar(&in.Carrier, "carrier", "", "carrier, such as ups")
	flags.StringVar(&in.OrderID, "order-id", "", "order number")
	_ = listing.RegisterFlagCompletionFunc("status", completeWords("label_generated", "picked_up", "in_transit", "out_for_delivery", "delivered", "exception"))
	_ = listing.RegisterFlagCompletionFunc("label-status", completeWords("pending", "ready", "failed", "needs_review", "voiding", "refund_pending", "voided"))
	_ = listing.RegisterFlagCompletionFunc("carrier", s.completeCarriers)
	list(s, listing, func(r *request, limit int, cursor string) (client.Page[client.Shipment], error) {
		in.Limit = limit
		in.Cursor = cursor
		return r.ShipmentsPage(r, in)
	}, []column[client.Shipment]{
		{"SHIPMENT", func(sh client.Shipment) string { return sh.ID }},
		{"ORDER", func(sh client.Shipment) string { return sh.OrderID }},
		{"CARRIER", func(sh client.Shipment) string { return sh.Carrier }},
		{"TRACKING", func(sh client.Shipment) string { return sh.TrackingNumber }},
		{"LABEL", func(sh client.Shipment) string { return sh.LabelStatus }},
		{"STATUS", func(sh client.Shipment) string { return sh.Status }},
		{"CREATED", func(sh client.Shipment) string { return sh.CreatedAt.Format(time.DateTime) }},
	})

	get := use(s, reads, s.ofShipment("get", "Show a shipment"), func(r *request) (client.Shipment, error) { return r.Shipment(r, r.args[0]) }, writeShipment)
	return group("shipments", "List and show shipments", listing, get)
}

// ofShipment returns a command whose argument is a shipment.
func (s *service) ofShipment(name, short string) *cobra.Command {
	return &cobra.Command{Use: name + " SHIPMENT", Short: short, Args: oneArgument, ValidArgsFunction: s.completeShipments}
}

func (s *service) trackCommand() *cobra.Command {
	var carrier string
	cmd := &cobra.Command{Use: "track NUMBER", Short: "Show where a parcel is", Example: "  waybill track 1Z999AA10123456784", Args: oneArgument}
	cmd.Flags().StringVar(&carrier, "carrier", "", "carrier (default: recognized from the number)")
	return use(s, reads, cmd, func(r *request) (client.TrackingResult, error) { return r.Track(r, r.args[0], carrier) },
		func(w io.Writer, found client.TrackingResult) {
			fmt.Fprintf(w, "%s %s\t%s\n", found.Carrier, found.TrackingNumber, found.Status)
			for _, e := range found.Events {
				place := ""
				if e.Location != nil {
					place = *e.Location
				}
				fmt.Fprintf(w, "%s\t%s\t%s\n", e.Timestamp.Format(time.DateTime), e.Description, place)
			}
		})
}

func (s *service) voidCommand() *cobra.Command {
	cmd := s.ofShipment("void", "Void a label that was not used")
	cmd.Example = "  waybill void shp_..."
	return use(s, acts, cmd, func(r *request) (client.Shipment, error) { return r.Void(r, r.args[0]) }, writeShipment)
}

func (s *service) returnCommand() *cobra.Command {
	var (
		in                     client.ReturnRequest
		maxAmount, idempotency string
		label                  labelTarget
	)
	cmd := s.ofShipment("return", "Buy a return label for a shipment, once")
	cmd.Example = "  waybill return shp_... --label return.pdf"
	label.flags(cmd, "label")
	cmd.Flags().StringVar(&in.Carrier, "carrier", "", "carrier (default: your routing rules choose)")
	cmd.Flags().StringVar(&in.Service, "service", "", "service of the carrier")
	cmd.Flags().StringVar(&maxAmount, "max-amount", "", "most that the label may cost, such as 15 or \"15 EUR\"; required with a live key")
	cmd.Flags().StringVar(&idempotency, "idempotency-key", "", "idempotency key (default: made from the shipment)")
	return use(s, acts, cmd, func(r *request) (bought client.Shipment, err error) {
		if in.MaxAmount, err = parseMoney(maxAmount); err != nil {
			return bought, err
		}
		if err := r.requireLimit(in.MaxAmount); err != nil {
			return bought, err
		}
		if err := label.check(); err != nil {
			return bought, err
		}

		key := cmp.Or(idempotency, "cli-return-"+r.args[0])
		bought, err = r.Return(r, r.args[0], in, client.IdempotencyKey(key))
		if err == nil && bought.Replayed {
			bought, err = s.boughtBefore(r, bought, key)
		}
		if err == nil && bought.LabelStatus == "ready" {
			label.writeThen(s, r, bought.ID)
		}
		return bought, err
	}, writeShipment)
}

func (s *service) proofCommand() *cobra.Command {
	var path string
	cmd := s.ofShipment("proof", "Save the carrier's proof of delivery")
	cmd.Example = "  waybill proof shp_... -o proof.pdf"
	cmd.Flags().StringVarP(&path, "output", "o", "proof.pdf", "file to save it in; - for standard output")
	return use(s, reads, cmd, func(r *request) (savedFile, error) {
		data, err := r.ProofOfDelivery(r, r.args[0])
		return savedFile{path, data}, err
	}, nil)
}

func (s *service) dutiesCommand() *cobra.Command {
	var flags orderFlags
	cmd := &cobra.Command{
		Use:     "duties -f FILE",
		Short:   "Estimate what customs will charge for an order",
		Example: "  waybill duties -f abroad.json",
		Args:    cobra.NoArgs,
	}
	flags.add(s, cmd)

	return use(s, reads, cmd, func(r *request) (client.LandedCost, error) {
		order, err := flags.read(s, r)
		if err != nil {
			return client.LandedCost{}, err
		}
		return r.LandedCost(r, order)
	}, func(w io.Writer, cost client.LandedCost) {
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
}
