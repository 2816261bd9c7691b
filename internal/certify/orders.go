package certify

import (
	"fmt"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A lane is one of the sample shipments that are quoted and bought.
type lane string

const (
	domestic      lane = "domestic"
	multiPiece    lane = "multi-piece"
	international lane = "international"
	residential   lane = "residential" // quoted and not bought: some services go to homes alone
)

// lanes are in the order in which they are quoted; boughtLanes are those of
// which the cheapest service is bought.
var (
	lanes       = []lane{domestic, multiPiece, international, residential}
	boughtLanes = []lane{domestic, multiPiece, international}
)

func (l lane) isDomestic() bool { return l == domestic || l == residential }

// sampleOrders are the shipments of a certification. They start at the
// account's own location: reviews ask for labels with the shipper's addresses.
type sampleOrders struct{ byLane map[lane]ship.Order }

func (s sampleOrders) order(l lane) ship.Order { return s.byLane[l] }

// recipients are addresses that exist, one for each of a few countries.
var recipients = map[string]ship.Address{
	"US": {Name: "Sample Recipient", Company: "Sample Company", Address1: "350 5th Ave", City: "New York", State: "NY", Zip: "10118", Country: "US", Phone: "+1 212 555 0100"},
	"CA": {Name: "Sample Recipient", Company: "Sample Company", Address1: "111 Wellington St", City: "Ottawa", State: "ON", Zip: "K1A 0A9", Country: "CA", Phone: "+1 613 555 0100"},
	"GB": {Name: "Sample Recipient", Company: "Sample Company", Address1: "1 Dorset Street", City: "London", Zip: "W1U 4EG", Country: "GB", Phone: "+44 20 7946 0018"},
	"DE": {Name: "Sample Recipient", Company: "Sample Company", Address1: "Invalidenstr. 116", City: "Berlin", Zip: "10115", Country: "DE", Phone: "+49 30 1234567"},
	"FR": {Name: "Sample Recipient", Company: "Sample Company", Address1: "5 Avenue Anatole France", City: "Paris", Zip: "75007", Country: "FR", Phone: "+33 1 55 55 01 00"},
}

// newSampleOrders makes the shipments. Where a carrier may have no domestic
// service, several parcels go abroad.
func newSampleOrders(t ship.Tenant, account ship.Account, severalAbroad bool, now time.Time) (sampleOrders, error) {
	account.Units = ship.DefaultUnits // the samples are in pounds and inches
	normalizing := ship.Normalizing{Tenant: t, Account: account, Now: now}

	one := []ship.Parcel{sampleParcel(2.5)}
	two := []ship.Parcel{sampleParcel(2.5), sampleParcel(4)}
	number := "CERTIFY-" + now.UTC().Format("20060102-150405")

	// The origin is known once an order is normalized.
	probe, err := ship.Order{OrderID: number, Destination: recipients["US"], Parcels: one}.Normalize(normalizing)
	if err != nil {
		return sampleOrders{}, err
	}
	home, ok := recipients[probe.Origin.Country]
	if !ok {
		home = probe.Origin
	}
	abroad := recipients["DE"]
	if probe.Origin.Country == "DE" {
		abroad = recipients["US"]
	}

	customs := sampleCustoms(number, probe.Origin, account)
	several := ship.Order{OrderID: number + "-2", Destination: home, Parcels: two}
	if severalAbroad {
		several.Destination = abroad
		several.Customs = customs
	}

	isHome := true
	toHome := home
	toHome.Company = ""
	toHome.Residential = &isHome

	samples := sampleOrders{byLane: map[lane]ship.Order{}}
	for l, order := range map[lane]ship.Order{
		domestic:      {OrderID: number + "-1", Destination: home, Parcels: one},
		multiPiece:    several,
		international: {OrderID: number + "-3", Destination: abroad, Parcels: one, Customs: customs},
		residential:   {OrderID: number + "-4", Destination: toHome, Parcels: one},
	} {
		if samples.byLane[l], err = order.Normalize(normalizing); err != nil {
			return sampleOrders{}, fmt.Errorf("the %s sample: %w", l, err)
		}
	}
	return samples, nil
}

func sampleParcel(pounds float64) ship.Parcel {
	return ship.Parcel{
		Weight:     pounds,
		WeightUnit: ship.Pound,
		Dimensions: &ship.Dimensions{Length: 10, Width: 8, Height: 4, Unit: ship.Inch},
	}
}

// sampleCustoms declares goods of low value, for papers that go to customs
// electronically where carrier and lane allow it.
func sampleCustoms(number string, origin ship.Address, account ship.Account) *ship.Customs {
	currency := account.Currency
	if currency == "" {
		currency = "USD"
	}
	return &ship.Customs{
		ContentsType:  "merchandise",
		Incoterm:      "DAP",
		Signer:        origin.Name,
		InvoiceNumber: number,
		Paperless:     "auto",
		Items: []ship.CustomsItem{{
			Description:        "Cotton shirts, men's",
			Quantity:           2,
			Value:              ship.Money{Minor: 2500, Currency: currency},
			Weight:             0.5,
			HSCode:             "620520",
			OriginCountry:      origin.Country,
			SKU:                "SHIRT-1",
			ProductIdentifiers: []ship.ProductIdentifier{{Type: "merchant", Number: "SHIRT-1"}, {Type: "none"}},
		}},
	}
}

// describe says in a few words what an order is.
func describe(o ship.Order) string {
	parcels := "one parcel"
	if len(o.Parcels) > 1 {
		parcels = fmt.Sprintf("%d parcels", len(o.Parcels))
	}
	if o.Destination.Residential != nil && *o.Destination.Residential {
		parcels += " to a residential address"
	}
	if o.Origin.Country == o.Destination.Country {
		return parcels + " within " + o.Origin.Country
	}
	return parcels + " from " + o.Origin.Country + " to " + o.Destination.Country
}
