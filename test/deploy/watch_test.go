package deploy

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var metric = regexp.MustCompile(`\bwaybill_[a-z_]+[a-z]\b`)

// Rules and panels of a metric that does not exist are silent for good.
func TestAlertsAndDashboardUseMetricsThatExist(t *testing.T) {
	documented := map[string]bool{}
	for line := range strings.Lines(read(t, "docs", "operations.md")) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			documented[name] = true
		}
	}

	for _, file := range [][]string{{"deploy", "prometheus", "alerts.yaml"}, {"deploy", "prometheus", "alerts.test.yaml"}, {"deploy", "grafana", "waybill.json"}} {
		used := metric.FindAllString(read(t, file...), -1)
		if len(used) < 15 {
			t.Errorf("%v uses %d metrics", file, len(used))
		}
		for _, name := range used {
			if !documented[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("%v: there is no metric %s", file, name)
			}
		}
	}
}

// promtool fires them in scripts/release-check.
func TestEachAlertIsFiredOnce(t *testing.T) {
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	var fired struct{ Tests []struct{ Name string } }
	for name, into := range map[string]any{"alerts.yaml": &rules, "alerts.test.yaml": &fired} {
		if err := yaml.Unmarshal([]byte(read(t, "deploy", "prometheus", name)), into); err != nil {
			t.Fatal(err)
		}
	}

	tested := map[string]int{}
	for _, test := range fired.Tests {
		tested[test.Name]++
	}
	for _, rule := range rules.Groups[0].Rules {
		if tested[rule.Alert] != 1 {
			t.Errorf("%s is tested %d times", rule.Alert, tested[rule.Alert])
		}
		if !slices.Contains([]string{"page", "ticket"}, rule.Labels["severity"]) || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s: %v %v", rule.Alert, rule.Labels, rule.Annotations)
		}
	}
}

func TestTheGrafanaDashboardIsComplete(t *testing.T) {
	var dashboard struct {
		Panels []struct {
			ID      int
			Type    string
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "deploy", "grafana", "waybill.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, panel := range dashboard.Panels {
		if seen[panel.ID] || panel.Title == "" || panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %d %q", panel.ID, panel.Title)
		}
		seen[panel.ID] = true
	}
}
