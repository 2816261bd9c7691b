package dhlexpress

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestSearchesForPointsAreWrittenAsTheGoldenFiles(t *testing.T) {
	for name, query := range map[string]ship.PointQuery{
		"points-bonn":  {Country: "DE", Zip: "53113", City: "Bonn", Limit: 5},
		"points-isles": {Country: "ES", Zip: "35002", Limit: 500},
		"points-dubai": {Country: "AE", City: "Dubai"},
	} {
		goldenQuery(t, name, pointsQuery(query))
	}
}

func TestWithoutAKeyPointsAreUnsupported(t *testing.T) {
	_, err := driver{}.FindPoints(t.Context(), ship.PointQuery{Country: "DE", City: "Bonn"})
	if ship.KindOf(err) != ship.Unsupported || !strings.Contains(err.Error(), "service_point_key") {
		t.Errorf("%v, want unsupported with the name of the credential", err)
	}
}

func TestClocksAndDistancesAreRead(t *testing.T) {
	for written, want := range map[string]string{
		"09:00": "09:00", "9:00 AM": "09:00", "9:30 PM": "21:30", "12:00 am": "00:00", "600": "10:00", "1440": "24:00",
		"18:30:00": "18:30", "": "", "soon": "", "1441": "", "25:00": "",
	} {
		if got, ok := clockOf(written); got != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", written, got, want)
		}
	}
	for written, want := range map[string]int64{
		"0.42 km": 420, "0.26 mi": 418, "1,65 KM": 1650, "800 m": 800, "": -1, "near": -1, "1.2": -1, "-1 km": -1,
	} {
		if got := metres(written); got != want {
			t.Errorf("%q is %d m, want %d", written, got, want)
		}
	}
}

func TestAnswersAboutPointsAreRead(t *testing.T) {
	const near = `{"facilityId":"BON002","localName":"Near","distance":"0.4 km","address":{"addressLine1":"A 1","city":"BONN","zipCode":53113,"country":"DE"}}`
	const far = `{"facilityId":"BON001","servicePointName":"Far","distance":"2 km","address":{"street":"B","houseNumber":"2","city":"BONN","country":"DE"},"servicePointType":"TWENTYFOURSEVEN"}`
	const unknown = `{"facilityId":"BON003","localName":"Somewhere","distance":null,"address":{"addressLine1":"C 3","country":"KV"},"openingHours":null}`
	const closed = `{"facilityId":"BON004","localName":"Closed","svpStatus":"X","address":{"country":"DE"}}`
	for name, tc := range map[string]struct {
		body string
		want string
		kind ship.Kind
	}{
		"the nearest first":  {`{"status":{"statusCode":1},"servicePoints":[` + unknown + `,` + far + `,` + near + `,` + closed + `]}`, "BON002 BON001 BON003", ""},
		"without a status":   {`{"servicePoints":[` + near + `]}`, "BON002", ""},
		"a warning":          {`{"status":{"statusCode":3,"statusMessage":"Warning: Language"},"servicePoints":[` + near + `]}`, "BON002", ""},
		"a good status":      {`{"status":{"statusCode":0,"ok":true},"servicePoints":[` + near + `]}`, "BON002", ""},
		"none near":          {`{"status":{"statusCode":201,"statusMessage":"Error: No Service Points found."},"servicePoints":null}`, "", ""},
		"none with room":     {`{"status":{"statusCode":202},"servicePoints":[]}`, "", ""},
		"none there":         {`{"status":{"statusCode":600},"servicePoints":null}`, "", ""},
		"a parameter":        {`{"status":{"statusCode":101,"statusMessage":"Error: Mandatory parameter is missing"}}`, "", ship.Invalid},
		"a wrong key":        {`{"status":{"statusCode":103,"statusMessage":"Error: Invalid API key"}}`, "", ship.Forbidden},
		"says nothing of it": {`{}`, "", ship.Unavailable},
		"a status alone":     {`{"status":{"statusCode":1}}`, "", ship.Unavailable},
	} {
		var answer pointsAnswer
		if err := json.Unmarshal([]byte(tc.body), &answer); err != nil {
			t.Fatal(name, err)
		}
		points, err := answer.points()
		var ids []string
		for _, point := range points {
			ids = append(ids, point.ID)
		}
		if strings.Join(ids, " ") != tc.want || ship.KindOf(err) != tc.kind {
			t.Errorf("%s: %v, %v", name, ids, err)
		}
		if len(points) == 3 && (!points[1].IsLocker || points[1].Address.Address1 != "B 2" || points[2].Address.Country != "XK" || points[0].Address.Zip != "53113") {
			t.Errorf("%s: %+v", name, points)
		}
	}
}

func TestTheCarriersExamplesOfPointsAreRead(t *testing.T) {
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Skip("CARRIER_SPECS is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "dhl-express", "examples", "get_servicepoints", "response-200-*.json"))
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}

	var seen []string
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var answer pointsAnswer
		if err := json.Unmarshal(body, &answer); err != nil {
			t.Fatal(file, err)
		}
		points, err := answer.points()
		if isInvalid := strings.Contains(file, "invalid-input") || strings.Contains(file, "missing-mandatory"); (ship.KindOf(err) == ship.Invalid) != isInvalid {
			t.Errorf("%s: %v", file, err)
		}
		for _, point := range points {
			monday := point.Hours[0]
			seen = append(seen, fmt.Sprintf("%s %d %s %s-%s %d", point.ID, point.DistanceM, monday.Day, monday.Open, monday.Close, len(point.Abilities)))
		}
	}
	slices.Sort(seen)
	want := []string{"HEL1D6 -1 monday 07:00-21:00 3", "MAA108 -1 monday 09:00-21:00 3", "MAA108 1650 monday 09:00-21:00 3", "PRG041 420 monday 10:00-16:30 3"}
	if got := slices.Compact(seen); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
