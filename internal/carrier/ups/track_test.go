package ups

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// asked is the number that the answers in testdata/track are about.
const asked = "1ZA1B2C30300001017"

// Every response, usual or hostile, yields the timeline in the file beside it.
func TestAnswersGiveTheirTimelines(t *testing.T) {
	files, err := filepath.Glob("testdata/track/*.json")
	if err != nil || len(files) < 12 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var a trackAnswer
			if err := json.Unmarshal(data, &a); err != nil {
				t.Fatal(err)
			}
			got := timelines(updatesOf(a, asked, now))
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the timeline is\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// timelines writes the decoded updates, one parcel after the other.
func timelines(heard []carrier.TrackingUpdate) string {
	var numbers []string
	scans := map[string][]ship.Scan{}
	estimates := map[string]time.Time{}
	for _, h := range heard {
		if scans[h.TrackingNumber] == nil {
			numbers = append(numbers, h.TrackingNumber)
		}
		scans[h.TrackingNumber] = append(scans[h.TrackingNumber], h.Scan)
		estimates[h.TrackingNumber] = h.EstimateAt
	}
	var b strings.Builder
	for _, n := range numbers {
		p := ship.Advance(ship.Progress{}, scans[n], 1)
		fmt.Fprintf(&b, "%s: %s %s\n", n, p.Status, p.Reason)
		if e := estimates[n]; !e.IsZero() {
			fmt.Fprintf(&b, "  to arrive %s\n", e.Format(time.RFC3339))
		}
		for _, s := range ship.Timeline(scans[n]) {
			zone := ""
			if s.ZoneUnknown {
				zone = " (zone unknown)"
			}
			fmt.Fprintf(&b, "  %s%s | %s %s | %s | %s | %s\n", s.At.Format(time.RFC3339), zone, s.Status, s.Reason, s.Code, s.Location, s.Description)
		}
	}
	return b.String()
}

func TestRawEventsGiveTheSameMeaningAgain(t *testing.T) {
	raw := `{"location":{"address":{"city":"RENO"}},"status":{"type":"X","code":"48","statusCode":"022"},"date":"20261105","time":"080000"}`
	var a trackAnswer
	body := `{"trackResponse":{"shipment":[{"package":[{"trackingNumber":"` + asked + `","activity":[` + raw + `]}]}]}}`
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatal(err)
	}
	heard := updatesOf(a, asked, now)
	if len(heard) != 1 || string(heard[0].Raw) != raw {
		t.Fatalf("heard %+v", heard)
	}
	status, reason, known := Spec.MeaningOf(heard[0].Scan.Code)
	if !known || status != heard[0].Scan.Status || reason != heard[0].Scan.Reason || status != ship.Exception {
		t.Errorf("%s means %s %s, heard %+v", heard[0].Scan.Code, status, reason, heard[0].Scan)
	}
}

func TestHoursAndOffsetsAreReadInEverySpelling(t *testing.T) {
	for in, want := range map[string]string{
		"163012": "16h30m12s", "74700": "7h47m0s", "747": "7m47s", "0": "0s", "16:30:12": "16h30m12s", "7:05": "7h5m0s",
		"": "", "246000": "", "9 p.m.": "", "1630123": "", "-1": "", "::": "",
	} {
		got, ok := readHour(in)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("readHour(%q) = %v, %v, want %q", in, got, ok, want)
		}
	}
	for in, want := range map[string]string{
		"-05:00": "-5h0m0s", "-04.00": "-4h0m0s", "+05:30": "5h30m0s", "+0530": "5h30m0s", "-5": "-5h0m0s", "+00:00": "0s",
		"": "", "05:00": "", "-25:00": "", "+05:99": "", "-": "", "+a:00": "", "--5:00": "",
	} {
		got, ok := readOffset(in)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("readOffset(%q) = %v, %v, want %q", in, got, ok, want)
		}
	}
}

// Scans of the hubs have the zone of their city, where the state has two.
func TestScansOfDividedStatesHaveTheZoneOfTheirCity(t *testing.T) {
	for _, tc := range []struct {
		place place
		want  string // of noon on the place's clocks
	}{
		{place{City: "LOUISVILLE", StateProvince: "KY", CountryCode: "US"}, "2026-11-12T17:00:00Z"},
		{place{City: "Dallas", StateProvince: "TX", CountryCode: "US"}, "2026-11-12T18:00:00Z"},
		{place{City: "San Juan", StateProvince: "PR", CountryCode: "US"}, "2026-11-12T16:00:00Z"},
		{place{City: "Charlotte Amalie", StateProvince: "VI", CountryCode: "US"}, "2026-11-12T16:00:00Z"},
		{place{City: "Madrid", CountryCode: "ES"}, "2026-11-12T11:00:00Z"},
		{place{City: "Las Palmas", CountryCode: "IC"}, "2026-11-12T12:00:00Z"},
		{place{City: "Hanoi", CountryCode: "VN"}, "2026-11-12T05:00:00Z"},
		{place{City: "Dublin", CountryCode: "IE"}, "2026-11-12T12:00:00Z"},
		{place{City: "Lost Springs", StateProvince: "TX", CountryCode: "US"}, ""},
	} {
		scan := reportedEvent{
			number: "1Z",
			mark:   mark{kind: "I", activity: "AR", status: "005"},
			place:  tc.place,
			moment: moment{date: "20261112", clock: "120000"},
		}
		heard, ok := scan.update(now)
		if !ok || heard.Scan.ZoneUnknown != (tc.want == "") {
			t.Errorf("%s: zone unknown %v", tc.place.name(), heard.Scan.ZoneUnknown)
		}
		if got := heard.Scan.At.Format(time.RFC3339); tc.want != "" && got != tc.want {
			t.Errorf("%s: %s, want %s", tc.place.name(), got, tc.want)
		}
	}
}

func TestCitiesAreShownAlike(t *testing.T) {
	for in, want := range map[string]string{
		"PARAMUS": "Paramus", "FORT WORTH": "Fort Worth", "O'FALLON": "O'Fallon", "Koeln": "Koeln", "KÖLN": "Köln", "東京": "東京", "": "",
	} {
		if got := titled(in); got != want {
			t.Errorf("titled(%q) = %q, want %q", in, got, want)
		}
	}
	if got := (place{City: "RENO", StateProvince: "NV", CountryCode: "US"}).name(); got != "Reno, NV, US" {
		t.Error(got)
	}
	if got := (place{City: "Berlin", Country: "DE"}).name(); got != "Berlin, DE" {
		t.Error(got)
	}
}
