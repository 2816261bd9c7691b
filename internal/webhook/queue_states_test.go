package webhook

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/waybillhq/waybill/internal/ship"
)

// stateOf returns the state of a queue under its name in docs/states.md.
func stateOf(q *queue) string {
	switch {
	case !q.endpoint.Enabled:
		return "disabled"
	case q.endpoint.Parked:
		return "parked"
	case q.detached:
		return "catching_up"
	}
	return "following"
}

// TestTheQueuesDiagramIsWhatTheDispatcherDoes drives the dispatcher through
// random histories and compares the transitions with the diagram.
func TestTheQueuesDiagramIsWhatTheDispatcherDoes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/states.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## A webhook endpoint's queue\n")
	section, _, _ = strings.Cut(section, "\n## ")
	drawn := map[string]bool{}
	for _, arrow := range regexp.MustCompile(`(?m)^ *(\w+ --> \w+):`).FindAllStringSubmatch(section, -1) {
		drawn[arrow[1]] = true
	}

	seen := map[string]bool{}
	for range 5 {
		rapid.Check(t, func(rt *rapid.T) {
			m := newStageModel(rt)
			before := map[*queue]string{}
			note := func(*rapid.T) {
				after := map[*queue]string{}
				for _, id := range slices.Sorted(maps.Keys(m.d.queues)) {
					q := m.d.queues[id]
					after[q] = stateOf(q)
					if was := before[q]; was != "" && was != after[q] {
						seen[was+" --> "+after[q]] = true
					}
				}
				before = after
			}
			rt.Repeat(map[string]func(*rapid.T){
				"write":   func(*rapid.T) { m.write(); m.write(); m.write() },
				"common":  func(*rapid.T) { m.readCommon() },
				"own":     func(*rapid.T) { m.readOwn() },
				"pump":    func(*rapid.T) { m.pump() },
				"due":     func(*rapid.T) { m.due() },
				"arrive":  func(*rapid.T) { m.end(true) },
				"fail":    func(*rapid.T) { m.end(false) },
				"record":  func(*rapid.T) { m.record(0) },
				"change":  func(*rapid.T) { m.change() },
				"refresh": func(*rapid.T) { m.refresh() },
				"park": func(*rapid.T) {
					q := m.d.queues[ship.EndpointIDOf(numbered(1+m.pick(modelEndpoints, "endpoint")))]
					if q != nil && !q.isStopped() {
						q.endpoint.Failures = maxFailures - 1
					}
				},
				"": note,
			})
		})
	}

	for _, arrow := range slices.Sorted(maps.Keys(seen)) {
		if !drawn[arrow] {
			t.Errorf("docs/states.md lacks %s", arrow)
		}
	}
	for _, arrow := range slices.Sorted(maps.Keys(drawn)) {
		if !seen[arrow] {
			t.Errorf("docs/states.md draws %s, which never happened in 500 histories", arrow)
		}
	}
}
