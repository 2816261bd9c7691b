package canadapost_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carriertest"
	"github.com/waybillhq/waybill/internal/ship"
)

func TestParcelsToTheUnitedStates(t *testing.T) {
	t.Parallel()
	post := openWith(t, credentials, newSchemas(t).Checked(carriertest.Server(t, newStandIn(t))))
	order := americanOrder()
	rates, err := post.Rates(t.Context(), order.Order)
	if err != nil {
		t.Fatal(err)
	}
	var services []string
	for _, rate := range rates {
		services = append(services, rate.Service)
	}
	if !slices.Equal(services, []string{"expedited_parcel_usa", "xpresspost_usa", "tracked_packet_usa"}) {
		t.Errorf("the services are %q", services)
	}

	for service, want := range map[string]string{
		"expedited_parcel_usa": "SO COV RASE",
		"xpresspost_usa":       "SO COV RASE",
		"tracked_packet_usa":   "SO COV RTS",
	} {
		order.Service = service
		sent, bought := buy(t, order)
		if sent.optionCodes() != want || !strings.HasSuffix(bought.TrackingNumber, "CA") {
			t.Errorf("%s: options %s, want %s; bought %+v", service, sent.optionCodes(), want, bought)
		}
	}
}

// TestDutiesOfTheUnitedStatesArePrepaid: Canada Post sells labels there only to
// customers who have linked a Zonos account, which the connection must say.
func TestDutiesOfTheUnitedStatesArePrepaid(t *testing.T) {
	t.Parallel()
	without := carrier.Credentials{}
	for name, value := range credentials {
		if name != "us_duties" {
			without[name] = value
		}
	}
	server := newStandIn(t)
	via := carriertest.Server(t, server)
	_, err := openWith(t, without, via).Buy(t.Context(), americanOrder())
	if ship.KindOf(err) != ship.Invalid || !strings.Contains(err.Error(), "us_duties") {
		t.Errorf("without the setting: %v", err)
	}

	set(t, server, `{"noZonos":true}`)
	_, err = openWith(t, credentials, via).Buy(t.Context(), americanOrder())
	if ship.KindOf(err) != ship.Invalid || !strings.Contains(ship.ErrorOf(err).Refusal.Message, "Declaration ID") {
		t.Errorf("without an account: %v", err)
	}
	if n := len(server.Ledger.Entries()); n != 0 {
		t.Errorf("%d sales", n)
	}
}

func TestOrdersToTheUnitedStatesThatAreRefused(t *testing.T) {
	t.Parallel()
	post := openWith(t, credentials, carriertest.Server(t, newStandIn(t)))
	for pointer, change := range map[string]func(*ship.Order){
		"/destination/zip":               func(o *ship.Order) { o.Destination.Zip = "1000" },
		"/destination/state":             func(o *ship.Order) { o.Destination.State = "New York" },
		"/destination/country":           func(o *ship.Order) { o.Destination.Country = "PR" },
		"/customs/incoterm":              func(o *ship.Order) { o.Customs.Incoterm = "DAP" },
		"/customs/items/0/hsCode":        func(o *ship.Order) { o.Customs.Items[0].HSCode = "" },
		"/customs/items/0/originCountry": func(o *ship.Order) { o.Customs.Items[0].OriginCountry = "" },
	} {
		order := americanOrder()
		change(&order.Order)
		_, err := post.Buy(t.Context(), order)
		if !slices.ContainsFunc(ship.ErrorOf(err).Fields, func(f ship.FieldError) bool { return f.Pointer == pointer }) {
			t.Errorf("%s: %v %+v", pointer, err, ship.ErrorOf(err).Fields)
		}
	}

	// Documents have neither a tariff number nor an origin.
	papers := americanOrder()
	papers.Order.Customs.ContentsType = "documents"
	papers.Order.Customs.Items[0].HSCode = ""
	if _, err := post.Buy(t.Context(), papers); err != nil {
		t.Errorf("documents: %v", err)
	}
}
