package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

func (s *service) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Bring data over from another shipping service",
		Args:  requireSubcommand,
		RunE:  showHelp,
	}
	cmd.AddCommand(s.importEasyPostCommand())
	return cmd
}

func (s *service) importEasyPostCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "easypost FILE...",
		Short: "Bring addresses and open trackers over from EasyPost",
		Long: "Bring addresses and open trackers over from EasyPost, and list the carrier accounts to connect.\n\n" +
			"A file holds what EasyPost's API answers to GET /v2/addresses, /v2/trackers or /v2/carrier_accounts,\n" +
			"or any list of such objects. Addresses keep their ids, so programs that name them go on working.\n" +
			"Trackers of parcels that have arrived are left out. Importing a file again changes nothing.\n" +
			"docs/moving-from-easypost.md describes the whole move.",
		Example: "  waybill import easypost addresses.json trackers.json carrier_accounts.json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, files []string) error {
			found, err := readEasyPost(files)
			if err != nil {
				return err
			}
			if dryRun {
				return s.showValue(found.counts(), found.write)
			}

			// Carriers are asked about trackers, and not about addresses.
			r, err := s.open(cmd.Context(), effect(len(found.trackers) > 0), files)
			if err != nil {
				return err
			}
			if err := found.bring(r, r.Client); err != nil {
				return err
			}
			return s.showValue(found.counts(), found.write)
		},
	}
	s.liveFlag(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count what the files have, and change nothing")
	return cmd
}

// easyPostExport is what files of EasyPost hold.
type easyPostExport struct {
	addresses []map[string]any
	trackers  []map[string]any // of parcels that are on their way
	arrived   int              // trackers that are left out
	accounts  []string         // names and kinds of carrier accounts
	refused   []string         // what could not be brought over and why, a line each
	brought   bool

	refusedAddresses int
	refusedTrackers  int
}

// arrivedStatuses are those of trackers that no carrier is asked about any more.
var arrivedStatuses = []string{"delivered", "return_to_sender", "failure", "cancelled", "error"}

// readEasyPost reads files of EasyPost.
func readEasyPost(files []string) (*easyPostExport, error) {
	found := &easyPostExport{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var content any
		if err := json.Unmarshal(data, &content); err != nil {
			return nil, fmt.Errorf("%s is not JSON: %w", path, err)
		}
		before := found.size()
		found.collect(content)
		if found.size() == before {
			return nil, fmt.Errorf("%s has no addresses, trackers or carrier accounts: it must hold what EasyPost's API answers to GET /v2/addresses, /v2/trackers or /v2/carrier_accounts", path)
		}
	}
	return found, nil
}

func (x *easyPostExport) size() int {
	return len(x.addresses) + len(x.trackers) + x.arrived + len(x.accounts)
}

// collect adds the objects of a value, however deep they are in lists.
func (x *easyPostExport) collect(content any) {
	switch content := content.(type) {
	case []any:
		for _, item := range content {
			x.collect(item)
		}

	case map[string]any:
		switch kind, _ := content["object"].(string); kind {
		case "Address":
			x.addresses = append(x.addresses, content)
		case "Tracker":
			status, _ := content["status"].(string)
			if slices.Contains(arrivedStatuses, status) {
				x.arrived++
				return
			}
			x.trackers = append(x.trackers, content)
		case "CarrierAccount":
			name, _ := content["description"].(string)
			kind, _ := content["type"].(string)
			x.accounts = append(x.accounts, strings.TrimSuffix(kind, "Account")+"\t"+name)
		default:
			for _, member := range content {
				if list, ok := member.([]any); ok {
					x.collect(list)
				}
			}
		}
	}
}

// bring creates the addresses and trackers. One that is refused does not keep the
// others back.
func (x *easyPostExport) bring(ctx context.Context, service *client.Client) error {
	for _, address := range x.addresses {
		delete(address, "verifications")
		if err := x.post(ctx, service, "/v2/addresses", "address", address, &x.refusedAddresses); err != nil {
			return err
		}
	}
	for _, tracker := range x.trackers {
		request := map[string]any{"tracking_code": tracker["tracking_code"], "carrier": tracker["carrier"]}
		if err := x.post(ctx, service, "/v2/trackers", "tracker", request, &x.refusedTrackers); err != nil {
			return err
		}
	}
	x.brought = true
	return nil
}

// post creates one object. One that the service refuses is counted and explained.
func (x *easyPostExport) post(ctx context.Context, service *client.Client, path, name string, object map[string]any, refusals *int) error {
	body, err := json.Marshal(map[string]any{name: object})
	if err != nil {
		return err
	}
	_, err = service.Call(ctx, "POST", path, body)
	if refused, ok := errors.AsType[*client.Error](err); ok && refused.Status == 422 {
		label, _ := object["tracking_code"].(string)
		if id, ok := object["id"].(string); ok {
			label = id
		}
		x.refused = append(x.refused, label+": "+refusalOf(refused))
		*refusals++
		return nil
	}
	return err
}

// refusalOf returns why the EasyPost API refused an object. Its errors are in a member
// of their own, as they are at EasyPost.
func refusalOf(refused *client.Error) string {
	var answer struct {
		Error struct {
			Message string
			Errors  []struct{ Field, Message string }
		}
	}
	if json.Unmarshal(refused.Body, &answer) != nil || answer.Error.Message == "" {
		return refused.Detail
	}

	text := answer.Error.Message
	for _, field := range answer.Error.Errors {
		text += "; " + field.Field + " " + field.Message
	}
	return text
}

func (x *easyPostExport) counts() map[string]any {
	return map[string]any{
		"addresses":       len(x.addresses) - x.refusedAddresses,
		"trackers":        len(x.trackers) - x.refusedTrackers,
		"arrivedTrackers": x.arrived,
		"carrierAccounts": x.accounts,
		"refused":         x.refused,
		"imported":        x.brought,
	}
}

func (x *easyPostExport) write(w io.Writer) {
	verb := "to import"
	if x.brought {
		verb = "imported"
	}
	fmt.Fprintf(w, "%d addresses and %d open trackers %s; %d trackers of parcels that have arrived are left out\n",
		len(x.addresses)-x.refusedAddresses, len(x.trackers)-x.refusedTrackers, verb, x.arrived)
	if len(x.refused) > 0 {
		fmt.Fprintf(w, "%d addresses and %d trackers were refused:\n", x.refusedAddresses, x.refusedTrackers)
	}
	for _, label := range x.refused {
		fmt.Fprintf(w, "not imported: %s\n", label)
	}
	if len(x.accounts) == 0 {
		return
	}
	fmt.Fprintln(w, "\nCarrier accounts to connect with \"waybill connection add\" or in the dashboard (credentials are not exported):")
	for _, account := range x.accounts {
		fmt.Fprintln(w, account)
	}
}
