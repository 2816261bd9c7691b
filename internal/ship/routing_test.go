package ship_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestOffersThatWereSeenAreReadAsTheyWereWritten(t *testing.T) {
	seen := ship.Seen{
		{Carrier: "ups", Service: "ground", Price: ship.Money{Minor: 1234, Currency: "USD"}, TransitDays: 3, DeliveryAt: time.Date(2026, 12, 24, 23, 0, 0, 0, time.UTC)},
		{Carrier: "dhl_express", Service: "worldwide", Price: ship.Money{Minor: 98765, Currency: "EUR"}, Guaranteed: true, Source: "sheet", Connection: "con_01kb6g9rv1g0h2xw3y4z5a6b7c"},
		{Carrier: "usps", Service: "priority", Price: ship.Money{Minor: 800, Currency: "USD"}, Source: "cache"},
	}
	written, err := json.Marshal(seen)
	if err != nil {
		t.Fatal(err)
	}
	var read ship.Seen
	if err := json.Unmarshal(written, &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(seen, read) {
		t.Errorf("read %+v\nfrom %s", read, written)
	}
	for _, broken := range []string{`["ups ground"]`, `["ups ground x USD 3 - - -"]`, `["ups ground 1 USD x - - -"]`, `["ups ground 1 USD 3 x - -"]`, `{}`} {
		if err := json.Unmarshal([]byte(broken), &read); err == nil {
			t.Errorf("%s was read as %+v", broken, read)
		}
	}
}
