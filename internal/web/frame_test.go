package web

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/member"
)

// TestLivePagesSpeakOfLiveAlone: the two modes cannot be confused, and features
// that only the sandbox has are not offered where labels cost money.
func TestLivePagesSpeakOfLiveAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, section := range []string{"", "/attention", "/shipments", "/shipments/new", "/batches", "/carriers", "/connect/ups", "/routing", "/webhooks", "/events", "/requests", "/keys", "/reference", "/members", "/settings"} {
		page := b.send(member.Owner, b.liveHome+section, nil).Body.String()
		for _, want := range []string{"<title>Live · ", `class="band band-live"`, `class="mode-live"`} {
			if !strings.Contains(page, want) {
				t.Errorf("live%s lacks %s", section, want)
			}
		}
		for _, bad := range []string{"sk_test_", b.liveHome + "/sandbox", "band-test", "Advance"} {
			if strings.Contains(page, bad) {
				t.Errorf("live%s has %s", section, bad)
			}
		}
	}
	if page := b.send(member.Owner, b.home+"/sandbox", nil).Body.String(); !strings.Contains(page, "<title>Test · Sandbox") || strings.Contains(page, b.liveHome+"/sandbox") {
		t.Error("the switch leads from the sandbox to a sandbox of live mode")
	}
}

// TestWithoutACarrierLivePagesSayWhatToDoFirst checks the pages on which a new
// user starts.
func TestWithoutACarrierLivePagesSayWhatToDoFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const says = "No carrier is connected for live labels"
	for _, section := range []string{"", "/shipments", "/shipments/new", "/carriers"} {
		if page := b.send(member.Owner, b.liveHome+section, nil).Body.String(); !strings.Contains(page, says) {
			t.Errorf("live%s does not say that no carrier is connected", section)
		}
		if page := b.send(member.Owner, b.home+section, nil).Body.String(); strings.Contains(page, says) {
			t.Errorf("test%s says that no carrier is connected", section)
		}
	}
	if page := b.send(member.Shipper, b.liveHome+"/shipments/new", nil).Body.String(); !strings.Contains(page, "Ask an owner or a developer") {
		t.Error("a shipper is told to connect a carrier")
	}
}

// TestTheModesOfASectionAreOneClickApart follows both links of the mode from every section
// of the navigation.
func TestTheModesOfASectionAreOneClickApart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	modes := regexp.MustCompile(`(?s)<div class="switch" role="group" aria-label="Mode">(.*?)</div>`)
	href := regexp.MustCompile(`href="([^"]+)"`)

	for _, section := range []string{"", "/shipments", "/batches", "/end-of-day", "/carriers", "/routing", "/settings", "/webhooks", "/sandbox"} {
		page := b.send(member.Owner, b.home+section, nil).Body.String()
		found := modes.FindStringSubmatch(page)
		if found == nil {
			t.Fatalf("%q has no choice of the mode", section)
		}
		links := href.FindAllStringSubmatch(found[1], -1)
		if len(links) != 2 {
			t.Errorf("%q has %d modes", section, len(links))
		}
		for _, link := range links {
			if w := b.send(member.Owner, link[1], nil); w.Code != http.StatusOK {
				t.Errorf("%q leads to %s: %d", section, link[1], w.Code)
			}
		}
	}
}
