package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/client"
)

// atLocation returns the location of a flag as a request takes it; nil if none is
// named.
func atLocation(r *request, named string) (*client.Address, error) {
	switch {
	case named == "":
		return nil, nil
	case strings.HasPrefix(named, "loc_"):
		return client.AtLocation(named), nil
	}

	known, err := r.Locations(r)
	if err != nil {
		return nil, err
	}
	for _, location := range known {
		if strings.EqualFold(location.Name, named) {
			return client.AtLocation(location.ID), nil
		}
	}
	return nil, fmt.Errorf("there is no location %q; \"waybill locations\" lists them", named)
}

// locationFlag is the flag of commands that act at a location.
func locationFlag(cmd *cobra.Command, named *string) {
	cmd.Flags().StringVar(named, "location", "", "location to ship from, by name or id (default: as in the request, or the account's)")
}

func (s *service) locationsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "locations", Short: "List the places that the account ships from", Example: "  waybill locations"}
	return list(s, cmd, func(r *request, _ int, _ string) (page client.Page[client.Location], err error) {
		page.Data, err = r.Locations(r)
		return page, err
	}, []column[client.Location]{
		{"LOCATION", func(l client.Location) string { return l.ID }},
		{"NAME", func(l client.Location) string { return l.Name }},
		{"CITY", func(l client.Location) string { return l.Address.City }},
		{"CUT-OFF", cutoffWords},
		{"DEFAULT", func(l client.Location) string { return yesOrEmpty(l.Default) }},
	})
}

// cutoffWords are the cut-off times of a location.
func cutoffWords(location client.Location) string {
	words := make([]string, len(location.CutoffTimes))
	for i, cutoff := range location.CutoffTimes {
		words[i] = strings.TrimSpace(cutoff.Time + " " + cutoff.Carrier)
	}
	return strings.Join(words, ", ")
}
