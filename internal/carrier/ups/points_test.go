package ups

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestSearchesForPointsAreWrittenAsTheGoldenFiles(t *testing.T) {
	golden(t, "points", newLocatorRequest(ship.PointQuery{Country: "US", Zip: "10118-0110", City: "New York", Limit: 5}))
	golden(t, "points-city", newLocatorRequest(ship.PointQuery{Country: "DE", City: "Berlin", Limit: 200}))
}

func TestAnswersAboutPointsAreRead(t *testing.T) {
	const near = `{"LocationID":"70001","Geocode":{"Latitude":"52.52","Longitude":"13.4"},
		"AddressKeyFormat":{"ConsigneeName":"SPÄTI","AddressLine":"Torstr. 1\nHinterhaus","PoliticalDivision2":"BERLIN","PostcodePrimaryLow":10119,"CountryCode":"DE"},
		"PhoneNumber":"030123","DisplayPhoneNumberIndicator":"1",
		"Distance":{"Value":"0.5","UnitOfMeasurement":{"Code":"MI"}},
		"OperatingHours":{"StandardHours":[{"HoursType":"50","DayOfWeek":[{"Day":"2","OpenHours":"100","CloseHours":"200"}]},
			{"HoursType":"10","DayOfWeek":[{"Day":"1","ClosedIndicator":""},{"Day":"7","Open24HoursIndicator":"true"},{"Day":"2","OpenHours":"930","CloseHours":"0"},{"Day":"3"}]}]},
		"ServiceOfferingList":{"ServiceOffering":[{"Code":"005"},{"Code":"007"}]},
		"AccessPointInformation":{"PublicAccessPointID":"U12345678"}}`
	const far = `{"AddressKeyFormat":{"ConsigneeName":"UPS Locker","AddressLine":["Weg 1"],"PoliticalDivision2":"BERLIN","CountryCode":"DE"},
		"PhoneNumber":["030124"],"DisplayPhoneNumberIndicator":"0","Distance":{"Value":"2","UnitOfMeasurement":{"Code":"KM"}},
		"ServiceOfferingList":{"ServiceOffering":{"Code":"009"}},"AccessPointInformation":{"PublicAccessPointID":"U2"}}`
	answered := func(results string) string {
		return `{"LocatorResponse":{"Response":{"ResponseStatusCode":"1"},"SearchResults":` + results + `}}`
	}

	var answer locatorAnswer
	if err := json.Unmarshal([]byte(answered(`{"DropLocation":[`+far+`,`+near+`]}`)), &answer); err != nil {
		t.Fatal(err)
	}
	points, err := answer.points()
	want := []ship.ServicePoint{
		{
			ID: "U12345678", Name: "SPÄTI", DistanceM: 805, Latitude: 52.52, Longitude: 13.4,
			Address:   ship.Address{Address1: "Torstr. 1", Address2: "Hinterhaus", City: "BERLIN", Zip: "10119", Country: "DE", Phone: "030123"},
			Hours:     []ship.PointHours{{Day: "monday", Open: "09:30", Close: "24:00"}, {Day: "saturday", Open: "00:00", Close: "24:00"}},
			Abilities: []string{"collect", "hand_in"},
		},
		{
			ID: "U2", Name: "UPS Locker", DistanceM: 2000, IsLocker: true,
			Address:   ship.Address{Address1: "Weg 1", City: "BERLIN", Country: "DE"},
			Abilities: []string{"collect", "hand_in", "returns"},
		},
	}
	if err != nil || !reflect.DeepEqual(points, want) {
		t.Errorf("points = %+v, %v; want %+v", points, err, want)
	}

	for body, kind := range map[string]ship.Kind{
		`{}`:           ship.Unavailable,
		answered(`{}`): "",
		answered(`{"GeocodeCandidate":[{"LandmarkName":"X"}]}`): ship.Invalid,
		`{"LocatorResponse":{"Response":{"ResponseStatusCode":"0","Error":{"ErrorCode":"350201","ErrorDescription":"No locations found."}},"SearchResults":{}}}`:       "",
		`{"LocatorResponse":{"Response":{"ResponseStatusCode":"0","Error":{"ErrorCode":"350202","ErrorDescription":"Country is not supported."}},"SearchResults":{}}}`: ship.Invalid,
	} {
		var answer locatorAnswer
		if err := json.Unmarshal([]byte(body), &answer); err != nil {
			t.Fatal(err)
		}
		points, err := answer.points()
		if ship.KindOf(err) != kind || len(points) != 0 {
			t.Errorf("%s: %+v, %v; want kind %q", body, points, err, kind)
		}
	}
}
