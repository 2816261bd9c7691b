package docs_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/ship"
)

// diagram returns the arrows of a diagram of docs/states.md, such as
// "voiding --> voided", without those from and to the ends. An arrow to or from
// a group is one for each of its states, and the states of a group lead to each
// other.
func diagram(t *testing.T, heading string) []string {
	t.Helper()
	_, section, ok := strings.Cut(read(t, "docs/states.md"), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/states.md has no section %q", heading)
	}
	_, section, _ = strings.Cut(section, "```mermaid\n")
	text, _, _ := strings.Cut(section, "```")

	groups := map[string][]string{}
	for _, group := range regexp.MustCompile(`(?s)state (\w+) \{(.*?)\}`).FindAllStringSubmatch(text, -1) {
		groups[group[1]] = strings.Fields(group[2])
	}
	members := func(name string) []string {
		if group := groups[name]; group != nil {
			return group
		}
		return []string{name}
	}

	arrows := map[string]bool{}
	for _, arrow := range regexp.MustCompile(`(?m)^ *(\w+) --> (\w+)`).FindAllStringSubmatch(text, -1) {
		for _, from := range members(arrow[1]) {
			for _, to := range members(arrow[2]) {
				arrows[from+" --> "+to] = true
			}
		}
	}
	for _, group := range groups {
		for _, from := range group {
			for _, to := range group {
				if from != to {
					arrows[from+" --> "+to] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(arrows))
}

// compareArrows reports the arrows that only the code or only the diagram has.
func compareArrows(t *testing.T, code map[string]bool, drawn []string) {
	t.Helper()
	for _, arrow := range slices.Sorted(maps.Keys(code)) {
		if !slices.Contains(drawn, arrow) {
			t.Errorf("docs/states.md lacks %s", arrow)
		}
	}
	for _, arrow := range drawn {
		if !code[arrow] {
			t.Errorf("docs/states.md draws %s, which never happens", arrow)
		}
	}
}

var purchaseStates = []ship.State{
	ship.StateAwaitingApproval, ship.StatePurchasing, ship.StateUncertain, ship.StateNeedsReview, ship.StatePurchased,
	ship.StateVoiding, ship.StateRefundPending, ship.StateVoided, ship.StateFailed,
}

func TestThePurchasesDiagramIsTheTable(t *testing.T) {
	t.Parallel()
	arrows := map[string]bool{}
	for _, from := range purchaseStates {
		for _, to := range purchaseStates {
			if from.CanBecome(to) {
				arrows[string(from)+" --> "+string(to)] = true
			}
		}
	}
	compareArrows(t, arrows, diagram(t, "A purchase"))
}

func TestTheLabelsDiagramFollowsThePurchases(t *testing.T) {
	t.Parallel()
	arrows := map[string]bool{}
	for _, from := range purchaseStates {
		for _, to := range purchaseStates {
			if from.CanBecome(to) && from.LabelStatus() != to.LabelStatus() {
				arrows[from.LabelStatus()+" --> "+to.LabelStatus()] = true
			}
		}
	}
	compareArrows(t, arrows, diagram(t, "A label"))
}

func TestTheDiagramOfPickupsIsTheTable(t *testing.T) {
	t.Parallel()
	arrows := map[string]bool{}
	for from, list := range effect.Transitions {
		for _, to := range list {
			arrows[string(from)+" --> "+string(to)] = true
		}
	}
	compareArrows(t, arrows, diagram(t, "A pickup or a manifest"))
}

func TestTheDiagramOfReturnRequestsIsTheTable(t *testing.T) {
	t.Parallel()
	arrows := map[string]bool{}
	for _, from := range ship.ReturnStates {
		for _, to := range ship.ReturnStates {
			if from.CanBecome(to) {
				arrows[string(from)+" --> "+string(to)] = true
			}
		}
	}
	compareArrows(t, arrows, diagram(t, "A return request"))
}

// TestTheParcelsDiagramIsWhatScansDo applies every sequence of four scans at
// five times, in and out of order, to a shipment and to a tracked parcel.
func TestTheParcelsDiagramIsWhatScansDo(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var carrierScans []ship.Scan
	for _, status := range []ship.Status{ship.PickedUp, ship.InTransit, ship.OutForDelivery, ship.Delivered, ship.Exception} {
		for hour := range 5 {
			carrierScans = append(carrierScans, ship.Scan{
				Code:   fmt.Sprint(status, hour),
				At:     start.Add(time.Duration(hour) * time.Hour),
				Status: status,
			})
		}
	}
	for hour := range 5 {
		carrierScans = append(carrierScans, ship.Scan{
			Code:   fmt.Sprint("back", hour),
			At:     start.Add(time.Duration(hour) * time.Hour),
			Status: ship.Exception,
			Reason: ship.ReasonReturnToSender,
		})
	}

	arrows := map[string]bool{}
	step := func(before ship.Progress, scans []ship.Scan) ship.Progress {
		after := ship.Advance(before, scans, 1)
		if after.Status != before.Status {
			arrows[string(before.Status)+" --> "+string(after.Status)] = true
		}
		return after
	}
	var walk func(progress ship.Progress, scans []ship.Scan, more int)
	walk = func(progress ship.Progress, scans []ship.Scan, more int) {
		if more == 0 {
			return
		}
		for _, scan := range carrierScans {
			next := append(slices.Clone(scans), scan)
			walk(step(progress, next), next, more-1)
		}
	}

	created := []ship.Scan{ship.CreatedScan(start)}
	progress := ship.Progress{Status: ship.Created}
	walk(progress, created, 3)

	failed := append(slices.Clone(created), ship.FailedScan(start, ""))
	afterRetry := append(slices.Clone(failed), ship.LabelScan(start))
	labelled := step(step(progress, failed), afterRetry)
	walk(labelled, afterRetry, 3)
	step(progress, append(slices.Clone(created), ship.LabelScan(start)))

	compareArrows(t, arrows, diagram(t, "A parcel"))
}
