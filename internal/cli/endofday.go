package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// pickupTime is how times of a pickup are written.
const pickupTime = "2006-01-02T15:04-07:00"

func (s *service) pickupCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "pickup", Short: "Book, list and cancel pickups", Args: requireSubcommand, RunE: showHelp}
	cmd.AddCommand(s.pickupBookCommand(), s.pickupListCommand(), s.pickupCancelCommand())
	return cmd
}

func (s *service) pickupBookCommand() *cobra.Command {
	var (
		in             client.PickupRequest
		ready, closing string
		location       string
	)
	cmd := &cobra.Command{
		Use:     "book --carrier CARRIER --ready TIME --close TIME",
		Short:   "Have a carrier collect parcels",
		Example: "  waybill pickup book --carrier ups --ready 2027-03-01T12:00-08:00 --close 2027-03-01T17:00-08:00 --parcels 3",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if in.ReadyAt, err = time.Parse(pickupTime, ready); err != nil {
				return fmt.Errorf("--ready %q is not a time with its offset, such as 2027-03-01T12:00-08:00", ready)
			}
			if in.CloseAt, err = time.Parse(pickupTime, closing); err != nil {
				return fmt.Errorf("--close %q is not a time with its offset, such as 2027-03-01T17:00-08:00", closing)
			}
			service, err := s.openToAct()
			if err != nil {
				return err
			}

			if in.Address, err = atLocation(cmd.Context(), service, location); err != nil {
				return err
			}
			pickup, err := service.BookPickup(cmd.Context(), in)
			if err != nil {
				return err
			}
			return s.showPickup(pickup)
		},
	}

	s.liveFlag(cmd)
	locationFlag(cmd, &location)
	flags := cmd.Flags()
	sellerFlags(cmd, &in.Carrier, &in.ConnectionID)
	flags.StringVar(&ready, "ready", "", "when the parcels are ready, with the offset of the place")
	flags.StringVar(&closing, "close", "", "until when the driver can come")
	flags.StringSliceVar(&in.ShipmentIDs, "shipment", nil, "shipments to collect; or")
	flags.IntVar(&in.Parcels, "parcels", 0, "how many parcels")
	flags.Float64Var(&in.Weight, "weight", 0, "weight of all of them")
	flags.StringVar(&in.WeightUnit, "weight-unit", "", "lb, oz, kg or g (default: the account's)")
	flags.StringVar(&in.Instructions, "instructions", "", "where the driver finds the parcels")
	return cmd
}

// sellerFlags name a carrier account.
func sellerFlags(cmd *cobra.Command, carrier, connection *string) {
	cmd.Flags().StringVar(carrier, "carrier", "", "carrier, such as ups")
	cmd.Flags().StringVar(connection, "connection", "", "connection, if the account has several to the carrier")
}

// showPickup prints a pickup; it is an error if nobody knows whether it is booked.
func (s *service) showPickup(pickup client.Pickup) error {
	err := s.show(pickup, func(w io.Writer) {
		fmt.Fprintf(w, "pickup\t%s\n", pickup.ID)
		fmt.Fprintf(w, "status\t%s\n", pickup.Status)
		fmt.Fprintf(w, "carrier\t%s %s\n", pickup.Carrier, pickup.Confirmation)
		if pickup.Price != nil {
			fmt.Fprintf(w, "price\t%s %s\n", pickup.Price.Amount, pickup.Price.Currency)
		}
		if pickup.Message != "" {
			fmt.Fprintf(w, "message\t%s\n", pickup.Message)
		}
	})
	if err == nil && (pickup.Status == "pending" || pickup.Status == "needs_review") {
		return &PendingError{pickup.ID, pickup.Status}
	}
	return err
}

func (s *service) pickupListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List pickups, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			page, err := service.Pickups(cmd.Context(), limit, "")
			if err != nil {
				return err
			}
			return s.show(page.Data, func(w io.Writer) {
				fmt.Fprintln(w, "PICKUP\tCARRIER\tREADY\tUNTIL\tSTATUS\tCONFIRMATION")
				for _, p := range page.Data {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", p.ID, p.Carrier, p.Window.ReadyAt.Format("2006-01-02 15:04"), p.Window.CloseAt.Format("15:04"), p.Status, p.Confirmation)
				}
			})
		},
	}

	cmd.Flags().IntVar(&limit, "limit", 20, "how many")
	return cmd
}

func (s *service) pickupCancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel PICKUP",
		Short: "Cancel a pickup",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := s.openToAct()
			if err != nil {
				return err
			}

			pickup, err := service.CancelPickup(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return s.showPickup(pickup)
		},
	}

	s.liveFlag(cmd)
	return cmd
}

func (s *service) manifestCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "manifest", Short: "Close, list and print manifests", Args: requireSubcommand, RunE: showHelp}
	cmd.AddCommand(s.manifestCloseCommand(), s.manifestListCommand(), s.manifestFileCommand())
	return cmd
}

func (s *service) manifestCloseCommand() *cobra.Command {
	var (
		in       client.ManifestRequest
		path     string
		location string
	)
	cmd := &cobra.Command{
		Use:     "close --carrier CARRIER",
		Short:   "Hand the labels of a day over to their carrier",
		Example: "  waybill manifest close --carrier usps -o scan-form.pdf",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := s.openToAct()
			if err != nil {
				return err
			}

			if in.Address, err = atLocation(cmd.Context(), service, location); err != nil {
				return err
			}
			manifest, err := service.CloseManifest(cmd.Context(), in)
			if err != nil {
				return err
			}
			if err := s.showManifest(manifest); err != nil || path == "" {
				return err
			}
			file, err := service.ManifestFile(cmd.Context(), manifest.ID, 1)
			if err != nil {
				return err
			}
			return s.save(path, file)
		},
	}

	s.liveFlag(cmd)
	locationFlag(cmd, &location)
	flags := cmd.Flags()
	sellerFlags(cmd, &in.Carrier, &in.ConnectionID)
	flags.StringVar(&in.ShipDate, "ship-date", "", "day, such as 2027-03-01 (default: today)")
	flags.StringSliceVar(&in.ShipmentIDs, "shipment", nil, "shipments (default: everything that is labelled and not handed over)")
	flags.StringVarP(&path, "output", "o", "", "file to save the first form in")
	return cmd
}

// showManifest prints a manifest; it is an error if nobody knows whether it is
// closed.
func (s *service) showManifest(manifest client.Manifest) error {
	err := s.show(manifest, func(w io.Writer) {
		fmt.Fprintf(w, "manifest\t%s\n", manifest.ID)
		fmt.Fprintf(w, "status\t%s\n", manifest.Status)
		fmt.Fprintf(w, "carrier\t%s %s\n", manifest.Carrier, manifest.Number)
		fmt.Fprintf(w, "labels\t%d\n", manifest.ShipmentCount)
		for _, e := range manifest.Excluded {
			fmt.Fprintf(w, "left out\t%s: %s\n", e.ShipmentID, e.Reason)
		}
		if manifest.Message != "" {
			fmt.Fprintf(w, "message\t%s\n", manifest.Message)
		}
	})
	if err == nil && (manifest.Status == "pending" || manifest.Status == "needs_review") {
		return &PendingError{manifest.ID, manifest.Status}
	}
	return err
}

func (s *service) manifestListCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List manifests, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			page, err := service.Manifests(cmd.Context(), limit, "")
			if err != nil {
				return err
			}
			return s.show(page.Data, func(w io.Writer) {
				fmt.Fprintln(w, "MANIFEST\tCARRIER\tDAY\tLABELS\tSTATUS\tNUMBER")
				for _, m := range page.Data {
					fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", m.ID, m.Carrier, m.ShipDate, m.ShipmentCount, m.Status, m.Number)
				}
			})
		},
	}

	cmd.Flags().IntVar(&limit, "limit", 20, "how many")
	return cmd
}

func (s *service) manifestFileCommand() *cobra.Command {
	var (
		path   string
		number int
	)
	cmd := &cobra.Command{
		Use:   "file MANIFEST -o FILE",
		Short: "Save a form of a manifest",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			file, err := service.ManifestFile(cmd.Context(), args[0], number)
			if err != nil {
				return err
			}
			return s.save(path, file)
		},
	}

	cmd.Flags().StringVarP(&path, "output", "o", "manifest.pdf", "file to save it in; - for standard output")
	cmd.Flags().IntVar(&number, "document", 1, "which of its forms")
	return cmd
}

func (s *service) pointsCommand() *cobra.Command {
	var in client.ServicePointsRequest
	cmd := &cobra.Command{
		Use:     "points --country COUNTRY --zip ZIP",
		Short:   "Find places where parcels can be collected and handed in",
		Example: "  waybill points --country US --zip 94105 --carrier ups",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			found, err := service.ServicePoints(cmd.Context(), in)
			if err != nil {
				return err
			}
			return s.show(found, func(w io.Writer) {
				fmt.Fprintln(w, "CARRIER\tPOINT\tNAME\tADDRESS\tDISTANCE")
				for _, p := range found.Points {
					distance := ""
					if p.Distance != nil {
						distance = fmt.Sprintf("%.0f %s", p.Distance.Value, p.Distance.Unit)
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s, %s\t%s\n", p.Carrier, p.ID, p.Name, p.Address.Address1, p.Address.City, distance)
				}
				for _, e := range found.Errors {
					fmt.Fprintf(w, "%s\t%s\n", e.Carrier, e.Message)
				}
			})
		},
	}

	flags := cmd.Flags()
	flags.StringVar(&in.Country, "country", "", "country, such as US")
	flags.StringVar(&in.Zip, "zip", "", "postal code; or")
	flags.StringVar(&in.City, "city", "", "city")
	flags.StringVar(&in.Carrier, "carrier", "", "carrier (default: all)")
	flags.IntVar(&in.Limit, "limit", 10, "how many")
	return cmd
}
