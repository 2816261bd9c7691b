package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// completeTime is how long a shell waits for words that the service knows.
const completeTime = 2 * time.Second

// completion completes an argument or a flag.
type completion = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// completeWords offers words.
func completeWords(words ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeShipments offers the newest shipments, with their order numbers.
func (s *service) completeShipments(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(context.Background(), completeTime)
	defer cancel()
	r, err := s.open(ctx, reads, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	page, err := r.ShipmentsPage(r, client.ShipmentsRequest{Limit: 20})
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	var words []string
	for _, shipment := range page.Data {
		words = append(words, shipment.ID+"\t"+shipment.OrderID+" "+shipment.Status)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// completeCarriers offers the carriers that the key can use.
func (s *service) completeCarriers(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(context.Background(), completeTime)
	defer cancel()
	r, err := s.open(ctx, reads, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	carriers, err := r.Carriers(r)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	var words []string
	for _, carrier := range carriers {
		words = append(words, carrier.Carrier+"\t"+carrier.Name)
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
