package cli

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// pickupTime is how times of a pickup are written.
const pickupTime = "2006-01-02T15:04-07:00"

func (s *service) pickupCommand() *cobra.Command {
	cancel := &cobra.Command{Use: "cancel PICKUP", Short: "Cancel a pickup", Example: "  waybill pickup cancel pik_...", Args: oneArgument}
	use(s, acts, cancel, func(r *request) (client.Pickup, error) { return r.CancelPickup(r, r.args[0]) }, writePickup)

	listing := &cobra.Command{Use: "list", Short: "List pickups, newest first"}
	list(s, listing, func(r *request, limit int, cursor string) (client.Page[client.Pickup], error) {
		return r.Pickups(r, limit, cursor)
	}, []column[client.Pickup]{
		{"PICKUP", func(p client.Pickup) string { return p.ID }},
		{"CARRIER", func(p client.Pickup) string { return p.Carrier }},
		{"READY", func(p client.Pickup) string { return p.Window.ReadyAt.Format("2006-01-02 15:04") }},
		{"UNTIL", func(p client.Pickup) string { return p.Window.CloseAt.Format("15:04") }},
		{"STATUS", func(p client.Pickup) string { return p.Status }},
		{"CONFIRMATION", func(p client.Pickup) string { return p.Confirmation }},
	})
	return group("pickup", "Book, list, cancel and resolve pickups", s.pickupBookCommand(), listing, cancel, s.pickupResolveCommand())
}

func (s *service) pickupBookCommand() *cobra.Command {
	var (
		in                       client.PickupRequest
		ready, closing, location string
	)
	cmd := &cobra.Command{
		Use:     "book --carrier CARRIER --ready TIME --close TIME",
		Short:   "Schedule a carrier pickup",
		Example: "  waybill pickup book --carrier ups --ready 2027-03-01T12:00-08:00 --close 2027-03-01T17:00-08:00 --parcels 3",
		Args:    cobra.NoArgs,
	}
	locationFlag(cmd, &location)
	s.sellerFlags(cmd, &in.Carrier, &in.ConnectionID)
	flags := cmd.Flags()
	flags.StringVar(&ready, "ready", "", "when the parcels are ready, with the offset of the place")
	flags.StringVar(&closing, "close", "", "until when the driver can come")
	flags.StringSliceVar(&in.ShipmentIDs, "shipment", nil, "shipments to collect; or")
	flags.IntVar(&in.Parcels, "parcels", 0, "how many parcels")
	flags.Float64Var(&in.Weight, "weight", 0, "weight of all of them")
	flags.StringVar(&in.WeightUnit, "weight-unit", "", "lb, oz, kg or g (default: the account's)")
	flags.StringVar(&in.Instructions, "instructions", "", "where the driver finds the parcels")

	return use(s, acts, cmd, func(r *request) (pickup client.Pickup, err error) {
		if in.ReadyAt, err = time.Parse(pickupTime, ready); err != nil {
			return pickup, usage("--ready %q is not a time with its offset, such as 2027-03-01T12:00-08:00", ready)
		}
		if in.CloseAt, err = time.Parse(pickupTime, closing); err != nil {
			return pickup, usage("--close %q is not a time with its offset, such as 2027-03-01T17:00-08:00", closing)
		}
		if in.Address, err = atLocation(r, location); err != nil {
			return pickup, err
		}
		return r.BookPickup(r, in)
	}, writePickup)
}

// sellerFlags name a carrier account.
func (s *service) sellerFlags(cmd *cobra.Command, carrier, connection *string) {
	cmd.Flags().StringVar(carrier, "carrier", "", "carrier, such as ups")
	cmd.Flags().StringVar(connection, "connection", "", "connection, if the account has several to the carrier")
	_ = cmd.RegisterFlagCompletionFunc("carrier", s.completeCarriers)
}

func writePickup(w io.Writer, pickup client.Pickup) {
	price := ""
	if pickup.Price != nil {
		price = pickup.Price.Amount + " " + pickup.Price.Currency
	}
	writeLines(w, [][2]string{
		{"pickup", pickup.ID},
		{"status", pickup.Status},
		{"carrier", pickup.Carrier + " " + pickup.Confirmation},
		{"price", price},
		{"message", pickup.Message},
	})
}

func (s *service) manifestCommand() *cobra.Command {
	listing := &cobra.Command{Use: "list", Short: "List manifests, newest first"}
	list(s, listing, func(r *request, limit int, cursor string) (client.Page[client.Manifest], error) {
		return r.Manifests(r, limit, cursor)
	}, []column[client.Manifest]{
		{"MANIFEST", func(m client.Manifest) string { return m.ID }},
		{"CARRIER", func(m client.Manifest) string { return m.Carrier }},
		{"DAY", func(m client.Manifest) string { return m.ShipDate }},
		{"LABELS", func(m client.Manifest) string { return strconv.Itoa(m.ShipmentCount) }},
		{"STATUS", func(m client.Manifest) string { return m.Status }},
		{"NUMBER", func(m client.Manifest) string { return m.Number }},
	})

	var path string
	var number int
	file := &cobra.Command{Use: "file MANIFEST", Short: "Save a form of a manifest", Example: "  waybill manifest file man_... -o scan-form.pdf", Args: oneArgument}
	file.Flags().StringVarP(&path, "output", "o", "manifest.pdf", "file to save it in; - for standard output")
	file.Flags().IntVar(&number, "document", 1, "which of its forms")
	use(s, reads, file, func(r *request) (savedFile, error) {
		data, err := r.ManifestFile(r, r.args[0], number)
		return savedFile{path, data}, err
	}, nil)
	return group("manifest", "Close, list, print and resolve manifests", s.manifestCloseCommand(), listing, file, s.manifestResolveCommand())
}

func (s *service) manifestCloseCommand() *cobra.Command {
	var (
		in             client.ManifestRequest
		path, location string
	)
	cmd := &cobra.Command{
		Use:     "close --carrier CARRIER",
		Short:   "Hand the labels of a day over to their carrier",
		Example: "  waybill manifest close --carrier usps -o scan-form.pdf",
		Args:    cobra.NoArgs,
	}
	locationFlag(cmd, &location)
	s.sellerFlags(cmd, &in.Carrier, &in.ConnectionID)
	flags := cmd.Flags()
	flags.StringVar(&in.ShipDate, "ship-date", "", "day, such as 2027-03-01 (default: today)")
	flags.StringSliceVar(&in.ShipmentIDs, "shipment", nil, "shipments (default: everything that is labelled and not handed over)")
	flags.StringVarP(&path, "output", "o", "", "file to save the first form in")

	return use(s, acts, cmd, func(r *request) (manifest client.Manifest, err error) {
		if in.Address, err = atLocation(r, location); err != nil {
			return manifest, err
		}
		manifest, err = r.CloseManifest(r, in)
		if err == nil && path != "" && unsettled(manifest) == nil {
			r.then(func() error {
				data, err := r.ManifestFile(r, manifest.ID, 1)
				if err != nil {
					return err
				}
				return s.save(savedFile{path, data})
			})
		}
		return manifest, err
	}, writeManifest)
}

func writeManifest(w io.Writer, manifest client.Manifest) {
	lines := [][2]string{
		{"manifest", manifest.ID},
		{"status", manifest.Status},
		{"carrier", manifest.Carrier + " " + manifest.Number},
		{"labels", strconv.Itoa(manifest.ShipmentCount)},
	}
	for _, e := range manifest.Excluded {
		lines = append(lines, [2]string{"left out", e.ShipmentID + ": " + e.Reason})
	}
	writeLines(w, append(lines, [2]string{"message", manifest.Message}))
}

func (s *service) pointsCommand() *cobra.Command {
	var in client.ServicePointsRequest
	cmd := &cobra.Command{
		Use:     "points --country COUNTRY --zip ZIP",
		Short:   "Find places where parcels can be collected and handed in",
		Example: "  waybill points --country US --zip 94105 --carrier ups",
		Args:    cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&in.Country, "country", "", "country, such as US")
	flags.StringVar(&in.Zip, "zip", "", "postal code; or")
	flags.StringVar(&in.City, "city", "", "city")
	flags.StringVar(&in.Carrier, "carrier", "", "carrier (default: all)")
	flags.IntVar(&in.Limit, "limit", 10, "how many")
	_ = cmd.RegisterFlagCompletionFunc("carrier", s.completeCarriers)

	return use(s, reads, cmd, func(r *request) (client.ServicePoints, error) { return r.ServicePoints(r, in) },
		func(w io.Writer, found client.ServicePoints) {
			writeTable(w, found.Points, []column[client.ServicePoint]{
				{"CARRIER", func(p client.ServicePoint) string { return p.Carrier }},
				{"POINT", func(p client.ServicePoint) string { return p.ID }},
				{"NAME", func(p client.ServicePoint) string { return p.Name }},
				{"ADDRESS", func(p client.ServicePoint) string { return p.Address.Address1 + ", " + p.Address.City }},
				{"DISTANCE", func(p client.ServicePoint) string {
					if p.Distance == nil {
						return ""
					}
					return fmt.Sprintf("%.0f %s", p.Distance.Value, p.Distance.Unit)
				}},
			})
			for _, e := range found.Errors {
				fmt.Fprintf(w, "%s\t%s\n", e.Carrier, e.Message)
			}
		})
}
