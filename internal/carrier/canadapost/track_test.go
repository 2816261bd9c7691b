package canadapost_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/canadapost"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/ship"
)

const pin = "0073938000549297"

// event returns one event: "2026-03-03 12:00:00 EST".
func event(moment, code, text, place string) string {
	when := append(strings.Fields(moment), "", "", "")
	site, province, _ := strings.Cut(place, ", ")
	return fmt.Sprintf("<occurrence><event-identifier>%s</event-identifier><event-date>%s</event-date><event-time>%s</event-time><event-time-zone>%s</event-time-zone>"+
		"<event-description>%s</event-description><signatory-name/><event-site>%s</event-site><event-province>%s</event-province></occurrence>",
		code, when[0], when[1], when[2], text, site, province)
}

func history(more string, events ...string) string {
	return `<tracking-detail xmlns="http://www.canadapost.ca/ws/track"><pin>` + pin + `</pin>` + more +
		`<significant-events>` + strings.Join(events, "") + `</significant-events></tracking-detail>`
}

type fixed struct {
	status int
	body   string
}

// Do is carrier.Doer.
func (f fixed) Do(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: f.status,
		Header:     http.Header{"Content-Type": {"application/vnd.cpc.track-v2+xml"}},
		Body:       io.NopCloser(strings.NewReader(f.body)),
	}, nil
}

func TestTimelines(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body string
		want []string
	}{
		"delivered, newest first, with zones and a day of delivery in Calgary": {
			history("<expected-delivery-date>2026-03-05</expected-delivery-date><changed-expected-date/><destination-postal-id>T2P1A1</destination-postal-id>",
				event("2026-03-05 10:59:23 MST", "1408", "Item successfully delivered", "CALGARY, AB"),
				event("2026-03-05 07:10:00 PST", "0500", "Item out for delivery", "VANCOUVER, BC"),
				event("2026-03-03 21:00:00 NST", "100", "Item processed", "ST. JOHN'S, NL"),
				event("2026-03-02 13:56:21 EST", "3000", "Electronic information submitted by shipper", "")),
			[]string{
				"2026-03-05T17:59:23Z 1408 delivered [CALGARY, AB] Item successfully delivered <03-06T06:59Z>",
				"2026-03-05T15:10:00Z 0500 out_for_delivery [VANCOUVER, BC] Item out for delivery <03-06T06:59Z>",
				"2026-03-04T00:30:00Z 0100 in_transit [ST. JOHN'S, NL] Item processed <03-06T06:59Z>",
				"2026-03-02T18:56:21Z 3000 label_generated [] Electronic information submitted by shipper <03-06T06:59Z>",
			},
		},
		"texts decide where an identifier has two senses": {
			history("",
				event("2026-03-09 10:00:00 EST", "1496", "Item returned to sender and delivered", ""),
				event("2026-03-09 09:30:00 EST", "1408", "Item successfully delivered to the sender", ""),
				event("2026-03-09 08:00:00 EST", "0174", "Returned item is out for delivery", ""),
				event("2026-03-08 08:00:00 EST", "1496", "Delivered", ""),
				event("2026-03-07 08:00:00 EST", "3002", "Return label created", ""),
				event("2026-03-06 08:00:00 EST", "1435", "Notice card left", "")),
			[]string{
				"2026-03-09T15:00:00Z 1496/RETURN exception/return_to_sender [] Item returned to sender and delivered",
				"2026-03-09T14:30:00Z 1408/RETURN exception/return_to_sender [] Item successfully delivered to the sender",
				"2026-03-09T13:00:00Z 0174/RETURN exception/return_to_sender [] Returned item is out for delivery",
				"2026-03-08T13:00:00Z 1496 delivered [] Delivered",
				"2026-03-07T13:00:00Z 3002 label_generated/return_label [] Return label created",
				"2026-03-06T13:00:00Z 1435 exception/delivery_attempted [] Notice card left",
			},
		},
		"unknown zones, missing times, unknown identifiers, and odd events": {
			history("",
				event("2026-03-03 09:00:00 XYZ", "0100", "Item processed", ""),
				event("2026-03-03", "0100", "Item processed", "OTTAWA, ON"),
				event("2026-03-03 09:00:00 EST", "9999", "New", ""),
				event("2026-02-30 09:00:00 EST", "0100", "", ""), event("2999-03-03 09:00:00 EST", "1408", "", ""), event("2026-03-03 09:00:00 EST", "", "", "")),
			[]string{
				"2026-03-03T09:00:00? 0100 in_transit [] Item processed",
				"2026-03-03T00:00:00? 0100 in_transit [OTTAWA, ON] Item processed",
				"2026-03-03T14:00:00Z 9999 /unmapped [] New",
			},
		},
		"nothing was scanned yet":                   {history(""), nil},
		"no history, which is said with status 200": {`<messages xmlns="http://www.canadapost.ca/ws/messages"><message><code>004</code><description>No Pin History</description></message></messages>`, nil},
	} {
		post := openWith(t, credentials, fixed{200, test.body})
		updates, err := post.Track(t.Context(), []string{pin})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, update := range updates {
			got = append(got, line(update))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// line formats an update on one line; a time without a zone ends in "?".
func line(update carrier.TrackingUpdate) string {
	scan := update.Scan
	at := scan.At.Format(time.RFC3339)
	if scan.ZoneUnknown {
		at = strings.TrimSuffix(at, "Z") + "?"
	}
	out := fmt.Sprintf("%s %s %s", at, scan.Code, scan.Status)
	if scan.Reason != "" {
		out += "/" + scan.Reason
	}
	out += " [" + scan.Location + "] " + scan.Description
	if !update.EstimateAt.IsZero() {
		out += " <" + update.EstimateAt.Format("01-02T15:04Z07:00") + ">"
	}
	return out
}

func TestUnknownNumbersAreNotErrors(t *testing.T) {
	t.Parallel()
	post := openWith(t, credentials, newSchemas(t).Checked(carriertest.Server(t, newStandIn(t))))
	if updates, err := post.Track(t.Context(), []string{pin}); err != nil || len(updates) != 0 {
		t.Errorf("%+v, %v", updates, err)
	}
	post = openWith(t, credentials, fixed{404, "<html>no such page</html>"})
	if _, err := post.Track(t.Context(), []string{pin}); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("a page of a proxy: %v, want unavailable", err)
	}
}

// TestEveryIdentifierHasARow checks the status table against the list of Canada
// Post's identifiers.
func TestEveryIdentifierHasARow(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	data, err := os.ReadFile(filepath.Join(dir, "canada-post", "event-codes.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Codes []struct{ Code, Normalized string } `json:"codes"`
	}
	if err := json.Unmarshal(data, &list); err != nil || len(list.Codes) < 200 {
		t.Fatalf("%d codes: %v", len(list.Codes), err)
	}
	for _, c := range list.Codes {
		if status, _, known := canadapost.Spec.MeaningOf(c.Code); !known || string(status) != c.Normalized {
			t.Errorf("%s is %q, known %v, want %q", c.Code, status, known, c.Normalized)
		}
	}
	t.Logf("%d codes", len(list.Codes))
}
