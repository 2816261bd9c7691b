package cli

import (
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
)

// triggerOrder returns the order that is bought to make something happen. The
// destination decides what the sandbox does with it.
func triggerOrder(destination string) client.ShipmentRequest {
	return client.ShipmentRequest{
		OrderID: "TRIGGER-" + rand.Text()[:8],
		Destination: client.Address{
			Name:     destination,
			Address1: "500 Main St",
			City:     "Austin",
			State:    "TX",
			Zip:      "78701",
			Country:  "US",
			Phone:    "+15125550100",
		},
		Parcel: &client.Parcel{Weight: 2.5, WeightUnit: "lb"},
	}
}

// triggers are the events that a new parcel can be moved to, by type. Those without a
// status are events of every purchase.
var triggers = map[string]string{
	"shipment.created":    "",
	"label.generated":     "",
	"shipment.picked_up":  "picked_up",
	"shipment.in_transit": "in_transit",
	"shipment.delivered":  "delivered",
	"shipment.exception":  "exception",
}

func (s *service) triggerCommand() *cobra.Command {
	var shipment, reason string
	cmd := &cobra.Command{
		Use:   "trigger EVENT",
		Short: "Make an event happen in the sandbox",
		Long: "Make an event happen in the sandbox: buy a test label and move the parcel on, so that webhooks and\n" +
			"\"waybill listen\" get the event as they would from a carrier. It needs a test key.\n\n" +
			"Events: " + strings.Join(eventTypes(), ", ") + ".",
		Example: "  waybill trigger shipment.delivered\n" +
			"  waybill trigger shipment.exception --reason damaged\n" +
			"  waybill trigger shipment.in_transit --shipment shp_...",
		Args:      oneArgument,
		ValidArgs: eventTypes(),
	}

	cmd.Flags().StringVar(&shipment, "shipment", "", "shipment to move (default: a new one)")
	cmd.Flags().StringVar(&reason, "reason", "", "reason of an exception, such as address_not_found or damaged")

	use(s, acts, cmd, func(r *request) (client.TrackingResult, error) {
		status, known := triggers[r.args[0]]
		if !known {
			return client.TrackingResult{}, usage("there is no event %q; events are %s", r.args[0], strings.Join(eventTypes(), ", "))
		}

		id := shipment
		if id == "" {
			bought, err := r.CreateShipment(r, triggerOrder("Ada Lovelace"))
			if err != nil {
				return client.TrackingResult{}, err
			}
			fmt.Fprintf(s.Err, "shipment %s, order %s\n", bought.ID, bought.OrderID)
			id = bought.ID
			if status == "" {
				return r.Track(r, bought.TrackingNumber, bought.Carrier)
			}
		}

		return r.Advance(r, id, status, reason)
	}, func(w io.Writer, moved client.TrackingResult) {
		fmt.Fprintf(w, "%s %s\t%s\n", moved.Carrier, moved.TrackingNumber, moved.Status)
	})

	cmd.AddCommand(s.triggerFaultCommand())
	return cmd
}

// faultName is how a fault is written on the command line: "timeout-after-purchase" for
// the magic destination FAULT TIMEOUT AFTER PURCHASE.
func faultName(d sandbox.Destination) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(d.Name, "FAULT ")), " ", "-")
}

func (s *service) triggerFaultCommand() *cobra.Command {
	var names []string
	var about strings.Builder
	for _, destination := range sandbox.Magic {
		names = append(names, faultName(destination))
		fmt.Fprintf(&about, "\n  %-22s %s", faultName(destination), destination.Does)
	}
	cmd := &cobra.Command{
		Use:   "fault NAME",
		Short: "Rehearse a failure in the sandbox",
		Long: "Rehearse a failure of a carrier in the sandbox: get rates, buy a label, or buy and void it, whichever\n" +
			"shows the failure. The exit code is what the failure would give: 7 for a purchase that got no answer.\n" +
			about.String(),
		Example:   "  waybill trigger fault refuse",
		Args:      oneArgument,
		ValidArgs: names,
	}
	return use(s, acts, cmd, func(r *request) (client.Shipment, error) {
		i := slices.Index(names, r.args[0])
		if i < 0 {
			return client.Shipment{}, usage("there is no fault %q; faults are %s", r.args[0], strings.Join(names, ", "))
		}

		fault := sandbox.Magic[i]
		order := triggerOrder(fault.Name)
		if strings.Contains(fault.Name, " QUOTE") {
			if _, err := r.Rates(r, ratesOf(order)); err != nil {
				return client.Shipment{}, err
			}
		}
		bought, err := r.CreateShipment(r, order)
		if err != nil || !strings.Contains(fault.Name, " VOID ") {
			return bought, err
		}
		return r.Void(r, bought.ID)
	}, writeShipment)
}
