package fedex_test

import (
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestServicePointsAreWrittenAsTheGoldenFiles(t *testing.T) {
	for name, query := range map[string]ship.PointQuery{
		"points-city": {Country: "US", Zip: "90012", City: "Los Angeles", Limit: 2},
		"points-zip":  {Country: "GB", Zip: "W1U 4EG", Limit: 100},
	} {
		wire := &overheard{via: newContractOf(t, "openapi", nil).Checked(carriertest.Server(t, newServer(t)))}
		if _, err := open(t, credentials(), wire).FindPoints(t.Context(), query); err != nil {
			t.Fatal(name, err)
		}
		golden(t, name, wire.bodies)
	}
}

func TestServicePointsAreRead(t *testing.T) {
	c := open(t, credentials(), carriertest.Server(t, newServer(t)))
	points, err := c.FindPoints(t.Context(), ship.PointQuery{Country: "US", Zip: "90012", City: "Los Angeles", Limit: 10})
	if err != nil || len(points) != 3 {
		t.Fatal(points, err)
	}
	nearest, shop := points[0], points[1]
	if nearest.ID != "NQAA" || nearest.DistanceM != 644 || nearest.IsLocker || !slices.Equal(nearest.Abilities, []string{"collect", "hand_in", "returns"}) {
		t.Errorf("the nearest is %+v", nearest)
	}
	if shop.ID != "LOSA" || !shop.IsLocker || shop.Address.Address1 != "7 High St" || shop.Address.City != "Los Angeles" || shop.Latitude == 0 {
		t.Errorf("the next is %+v", shop)
	}
	want := []ship.PointHours{
		{Day: "monday", Open: "08:00", Close: "12:00"},
		{Day: "monday", Open: "13:00", Close: "17:30"},
		{Day: "saturday", Open: "00:00", Close: "24:00"},
	}
	if !slices.Equal(nearest.Hours, want) {
		t.Errorf("it is open %+v, want %+v", nearest.Hours, want)
	}
	if none, err := c.FindPoints(t.Context(), ship.PointQuery{Country: "US", City: "Nowhere"}); err != nil || len(none) != 0 {
		t.Errorf("where there are none: %+v %v", none, err)
	}

	const place = `"contactAndAddress":{"contact":{"companyName":"Shop"},"address":{"streetLines":["1 Rd"],"city":"X","countryCode":"US"}}`
	for name, c := range map[string]struct {
		body string
		kind ship.Kind
		ids  []string
	}{
		"a list of capabilities": {`{"output":{"locationDetailList":[{"locationId":"A",` + place + `,"locationCapabilities":[{"transferOfPossessionType":"DROP_OFF"}]}]}}`, "", []string{"A"}},
		"one capability":         {`{"output":{"locationDetailList":[{"locationId":"A",` + place + `,"locationCapabilities":{"transferOfPossessionType":"DROPOFF"}}]}}`, "", []string{"A"}},
		"out of order": {`{"output":{"locationDetailList":[{"locationId":"FAR",` + place + `,"distance":{"units":"KM","value":9}},{"locationId":"UNKNOWN",` + place +
			`},{"locationId":"NEAR",` + place + `,"distance":{"units":"MI","value":1.5}}]}}`, "", []string{"NEAR", "FAR", "UNKNOWN"}},
		"none":              {`{"output":{"totalResults":0}}`, "", nil},
		"nothing":           {`{"output":{}}`, ship.Unavailable, nil},
		"a recorded answer": {`{"output":{"totalResults":0,"alerts":[{"code":"VIRTUAL.RESPONSE"}]}}`, ship.Unsupported, nil},
	} {
		points, err := open(t, credentials(), canned{200, c.body}).FindPoints(t.Context(), ship.PointQuery{Country: "US", Zip: "90012"})
		var ids []string
		for _, point := range points {
			ids = append(ids, point.ID)
			if name == "one capability" && !slices.Equal(point.Abilities, []string{"hand_in"}) {
				t.Errorf("%s: %v", name, point.Abilities)
			}
		}
		if ship.KindOf(err) != c.kind || !slices.Equal(ids, c.ids) {
			t.Errorf("%s: %v %v, want %v %q", name, ids, err, c.ids, c.kind)
		}
	}
}
