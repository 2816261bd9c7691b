package web

import (
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
