package sandbox

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// closeManifest hands the labels over: always with the same result for the same
// order.
func (m *model) closeManifest(order *ship.ManifestOrder) (ship.ManifestClosing, error) {
	closing, err := m.closing(order)
	if err != nil {
		return ship.ManifestClosing{}, err
	}
	if err := m.effectFault(&order.Address, "manifest", m.refusals.manifest, "the labels are not eligible for a manifest"); err != nil {
		return ship.ManifestClosing{}, err
	}
	return closing, nil
}

// findManifest returns what was closed. Every order counts as closed unless a magic
// address says that it is not.
func (m *model) findManifest(order *ship.ManifestOrder) (ship.ManifestClosing, error) {
	if err := m.findFault(&order.Address, "manifest"); err != nil {
		return ship.ManifestClosing{}, err
	}
	return m.closing(order)
}

// closing returns the form with the labels that the carrier's manifest covers, and
// the others as excluded.
func (m *model) closing(order *ship.ManifestOrder) (ship.ManifestClosing, error) {
	var closing ship.ManifestClosing
	var numbers []string
	for _, handed := range order.Labels {
		if m.closes != nil && !slices.Contains(m.closes, handed.Service) {
			closing.Excluded = append(closing.Excluded, ship.ManifestExclusion{
				Shipment: handed.Shipment,
				Reason:   m.serviceName(handed.Service) + " needs no manifest.",
			})
			continue
		}
		numbers = append(numbers, handed.Numbers...)
	}
	if len(numbers) == 0 {
		return ship.ManifestClosing{}, m.decline("manifest", m.refusals.manifest, "none of the labels needs a manifest")
	}

	// FedEx closes a day, and numbers its shipping cycles.
	n := seed(string(order.ShipDate)+" "+strings.Join(numbers, " "), 0)
	closing.Number = cycleNumber(n)
	document := ship.Document{Type: "manifest", Format: "pdf"}
	title := m.title + " Manifest"
	if m.closes != nil {
		title = m.title + " Ground Manifest"
	}
	if m.manifest == carrier.ListedLabels {
		closing.Number = formNumber(n)
		document.Type = "scan_form"
		title = m.title + " SCAN Form"
	}

	form := paper{
		title: title,
		facts: []fact{
			{"Number", closing.Number},
			{"Date", string(order.ShipDate)},
			{"Shipper", strings.Join(order.Address.Lines(false), ", ")},
			{"Packages", strconv.Itoa(len(numbers))},
		},
		list: numbers,
	}
	document.Data = form.pdf()
	closing.Documents = []ship.Document{document}
	return closing, nil
}

// serviceName returns the name of a service, or what stands for it.
func (m *model) serviceName(code string) string {
	for i := range m.services {
		if m.services[i].code == code {
			return m.services[i].name
		}
	}
	return "A service of this kind"
}

// closeManifest closes over the wire.
func (r remote) closeManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	var closing ship.ManifestClosing
	err := r.call(ctx, "manifest", true, order, &closing)
	return closing, err
}

// findManifest looks up over the wire.
func (r remote) findManifest(ctx context.Context, order ship.ManifestOrder) (ship.ManifestClosing, error) {
	var closing ship.ManifestClosing
	if err := r.call(ctx, "find_manifest", false, order, &closing); err != nil {
		return ship.ManifestClosing{}, notByProxy(err)
	}
	if len(closing.Documents) == 0 {
		return ship.ManifestClosing{}, ship.Errorf(ship.Unavailable, "the carrier did not send the manifest")
	}
	return closing, nil
}
