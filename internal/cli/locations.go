package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// locationFlag is the flag of commands that act at a location.
func locationFlag(cmd *cobra.Command, named *string) {
	cmd.Flags().StringVar(named, "location", "", "location to ship from, by name or id (default: as in the request, or the account's)")
}

// atLocation returns the location of a flag as a request takes it; nil if none is
// named.
func atLocation(ctx context.Context, service *client.Client, named string) (*client.Address, error) {
	switch {
	case named == "":
		return nil, nil
	case strings.HasPrefix(named, "loc_"):
		return client.AtLocation(named), nil
	}

	list, err := service.Locations(ctx)
	if err != nil {
		return nil, err
	}
	for _, location := range list {
		if strings.EqualFold(location.Name, named) {
			return client.AtLocation(location.ID), nil
		}
	}
	return nil, fmt.Errorf("there is no location %q; \"waybill locations\" lists them", named)
}

func (s *service) locationsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "locations",
		Short: "List the places that the account ships from",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := s.open()
			if err != nil {
				return err
			}

			list, err := service.Locations(cmd.Context())
			if err != nil {
				return err
			}
			return s.show(list, func(w io.Writer) {
				fmt.Fprintln(w, "LOCATION\tNAME\tCITY\tCUT-OFF\tDEFAULT")
				for _, l := range list {
					isDefault := ""
					if l.Default {
						isDefault = "yes"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", l.ID, l.Name, l.Address.City, cutoffWords(l), isDefault)
				}
			})
		},
	}
}

// cutoffWords are the cut-off times of a location.
func cutoffWords(location client.Location) string {
	words := make([]string, len(location.CutoffTimes))
	for i, cutoff := range location.CutoffTimes {
		words[i] = strings.TrimSpace(cutoff.Time + " " + cutoff.Carrier)
	}
	return strings.Join(words, ", ")
}
