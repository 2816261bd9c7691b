package cli

import (
	"fmt"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// pagesOfIDs are the pages of the dashboard that show what an id names, by its prefix.
var pagesOfIDs = map[string]string{
	"shp_": "shipments/",
	"evt_": "events/",
	"req_": "requests/",
	"bat_": "batches/",
}

func (s *service) openCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "open [PAGE]",
		Short: "Open the dashboard in a browser",
		Long: "Print the address of a page of the dashboard, and open it in a browser if this is a terminal. A page is\n" +
			"its name, such as shipments, webhooks or keys, the id of a shipment, an event or a request, or docs\n" +
			"for the reference of the API.",
		Example:   "  waybill open\n  waybill open webhooks\n  waybill open shp_...",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"shipments", "batches", "carriers", "routing", "webhooks", "events", "requests", "keys", "sandbox", "settings", "docs"},
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := s.chosen.resolve(s.cli)
			if err != nil {
				return err
			}

			page := ""
			if len(args) == 1 {
				page = strings.Trim(args[0], "/")
			}

			address := dashboardPage(chosen, page)
			fmt.Fprintln(s.Out, address)
			if isTerminal(s.Out) {
				openBrowser(s.cli, address)
			}
			return nil
		},
	}
	return cmd
}

// dashboardPage returns the address of a page in the account and mode of the key. An
// address without an account leads to the one that the person used last.
func dashboardPage(p profile, page string) string {
	if page == "docs" {
		return p.URL + "/docs"
	}
	for prefix, list := range pagesOfIDs {
		if strings.HasPrefix(page, prefix) {
			page = list + page
		}
	}

	address := p.URL + "/app/"
	if p.Account != "" {
		address += p.Account + "/"
	}
	return strings.TrimSuffix(address+p.mode()+"/"+page, "/")
}

// openBrowser opens a page. The address was printed, so a failure is no error.
func openBrowser(c *cli, address string) {
	name, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	if browser := lookupOr(c, "BROWSER"); browser != "" {
		name = browser
	}

	// The browser outlives this command, and its own messages belong nowhere.
	if browser := exec.Command(name, args...); browser.Start() == nil {
		go func() { _ = browser.Wait() }()
	}
}
