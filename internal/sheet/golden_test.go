package sheet_test

import (
	"slices"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

// The prices are worked out by hand from the sheets in testdata.
func TestDomesticContractPricesAsByHand(t *testing.T) {
	s := read(t, "us-domestic")
	for _, c := range []struct{ to, pieces, extras, service, want string }{
		// Fuel until April 5 is 15.25 % of the freight and what is marked; the peak surcharge 2.5 % of the freight.
		{"US 44113", "1 lb", "", "ground", "freight 8.10, Peak 0.20, fuel 1.24 = 9.54"},
		{"US 44113", "0.4 lb", "", "ground", "freight 8.10, Peak 0.20, fuel 1.24 = 9.54"}, // at least 1 lb
		{"US 10001", "3.2 lb", "", "ground", "freight 10.90, Peak 0.27, fuel 1.66 = 12.83"},
		{"US 94103", "10 lb", "", "ground", "freight 21.70, Peak 0.54, fuel 3.31 = 25.55"},
		{"US 94103-1234", "10 lb", "", "ground", "freight 21.70, Peak 0.54, fuel 3.31 = 25.55"},
		// 12 x 12 x 12 = 1728 cubic inches through 139 are 12.4 lb, so 13 lb, so up to 20 lb.
		{"US 94103", "2 lb 12x12x12 in", "", "ground", "freight 37.25, Peak 0.93, fuel 5.68 = 43.86"},
		{"US 94103", "2 lb 11.1x11.1x11.1 in", "", "ground", "freight 37.25, Peak 0.93, fuel 5.68 = 43.86"}, // each side is 12 in
		{"US 94103", "2 lb 11x11x11 in", "", "ground", "freight 21.70, Peak 0.54, fuel 3.31 = 25.55"},       // 1331 / 139 = 9.6 lb
		{"US 94103", "5 lb", "residential", "ground", "freight 14.80, Residential 5.95, Peak 0.37, fuel 3.16 = 24.28"},
		{"US 94103", "5 lb", "business", "ground", "freight 14.80, Peak 0.37, fuel 2.26 = 17.43"},
		// Beyond 70 lb each started pound costs 0.62.
		{"US 44113", "72 lb", "", "ground", "freight 34.34, Handling 28.50, Peak 0.86, fuel 9.58 = 73.28"},
		{"US 44113", "70.5 lb", "", "ground", "freight 33.72, Handling 28.50, Peak 0.84, fuel 9.49 = 72.55"},
		{"US 10001", "3 lb + 3 lb", "", "ground", "freight 20.36, Peak 0.51, fuel 3.10 = 23.97"},
		{"US 10001", "3 lb + 3 lb", "residential", "ground", "freight 20.36, Residential 11.90, Peak 0.51, fuel 4.92 = 37.69"},
		{"US AK 99501", "2 lb", "", "ground", "freight 31.15, Remote Alaska 15.00, Peak 0.78, fuel 4.75 = 51.68"},
		{"US HI 96813", "1 lb", "", "ground", "freight 28.40, Peak 0.71, fuel 4.33 = 33.44"},
		{"PR 00901", "1 lb", "", "ground", "freight 28.40, Peak 0.71, fuel 4.33 = 33.44"},
		{"US 00901", "1 lb", "", "ground", "freight 28.40, Peak 0.71, fuel 4.33 = 33.44"},
		{"US 94103", "5 lb", "", "two_day", "freight 37.60, fuel 5.73 = 43.33"},
		{"US 94103", "5 lb", "residential", "two_day", "freight 37.60, Residential 6.55, fuel 6.73 = 50.88"},
		{"US 30301", "1 lb", "saturday", "next_day", "freight 36.10, Saturday 16.00, fuel 5.51 = 57.61"},
		{"US 30301", "1 lb", "saturday", "ground", "not offered"},
		{"US 10001", "1 lb", "signature", "ground", "freight 8.95, Signature 6.40, Peak 0.22, fuel 1.36 = 16.93"},
		{"US 10001", "1 lb", "adult", "ground", "freight 8.95, Adult signature 7.75, Peak 0.22, fuel 1.36 = 18.28"},
		{"US 04101", "1 lb", "", "ground", "freight 9.20, Delivery area 3.10, Peak 0.23, fuel 1.88 = 14.41"},
		{"US 04101", "1 lb", "residential", "ground", "freight 9.20, Residential 5.95, Delivery area 4.20, Peak 0.23, fuel 2.95 = 22.53"},
		{"US 44113", "1 lb", "2026-04-05", "ground", "freight 8.10, Peak 0.20, fuel 1.24 = 9.54"},
		{"US 44113", "1 lb", "2026-04-06", "ground", "freight 8.10, Peak 0.20, fuel 1.36 = 9.66"},
		{"US 44113", "8 lb 50x6x6 in", "", "ground", "freight 13.90, Handling 18.25, Peak 0.35, fuel 4.90 = 37.40"},
		{"US 44113", "8 lb 6x48x6 in", "", "ground", "freight 13.90, Peak 0.35, fuel 2.12 = 16.37"}, // 48 in is not over 48 in
		// 24000 / 139 = 172.7 lb: 33.10 + 103 x 0.62; length and girth are 140 in, and only the dearest handling counts.
		{"US 44113", "40 lb 60x20x20 in", "", "ground", "freight 96.96, Handling 110.00, Peak 2.42, fuel 31.56 = 240.94"},
		{"US 44113", "3 oz", "", "light", "freight 4.15 = 4.15"},
		{"US 94103", "4 oz", "", "light", "freight 5.02 = 5.02"},
		{"US 94103", "9 oz 17x10x10 in", "", "light", "freight 6.93 = 6.93"}, // its volume does not count
		{"US 94103", "16 oz", "", "light", "not offered"},
		{"US 10001", "4 oz", "", "light", "not offered"},
		{"US 44113", "0.9 kg", "", "ground", "freight 8.44, Peak 0.21, fuel 1.29 = 9.94"},
		{"US 44113", "1.36 kg", "", "ground", "freight 8.71, Peak 0.22, fuel 1.33 = 10.26"}, // 2.998 lb
		{"US 44113", "1.361 kg", "", "ground", "freight 9.25, Peak 0.23, fuel 1.41 = 10.89"},
	} {
		if got := price(s, order(t, c.to, c.pieces, c.extras), c.service); got != c.want {
			t.Errorf("%s to %s, %s %s:\n got %s\nwant %s", c.service, c.to, c.pieces, c.extras, got, c.want)
		}
	}
}

func TestEuropeanContractPricesAsByHand(t *testing.T) {
	s := read(t, "europe")
	for _, c := range []struct{ to, pieces, extras, service, want string }{
		// Fuel in January: standard 9.5 % of freight, toll and the islands' surcharge; express 18 %.
		{"DE 10115", "1.5 kg", "", "standard", "freight 3.95, Maut 0.19, fuel 0.39 = 4.53"},
		{"DE 10115", "1.5 kg", "", "express", "freight 13.90, fuel 2.50 = 16.40"},
		{"DE 10115", "2 kg", "", "standard", "freight 3.95, Maut 0.19, fuel 0.39 = 4.53"},
		{"DE 10115", "2.001 kg", "", "standard", "freight 4.40, Maut 0.21, fuel 0.44 = 5.05"},
		{"AT 1010", "12 kg", "", "standard", "freight 13.45, Maut 0.65, fuel 1.34 = 15.44"},
		{"FR 75001", "31.5 kg", "", "standard", "freight 24.30, Maut 1.17, fuel 2.42 = 27.89"},
		{"FR 75001", "31.6 kg", "", "standard", "not offered"},
		{"FR 20000", "4 kg", "", "standard", "freight 12.60, Maut 0.60, fuel 1.25 = 14.45"}, // Corsica is in zone 3
		{"CH 8001", "2 kg", "", "standard", "freight 14.90, Maut 0.72, Zoll 12.50, fuel 1.48 = 29.60"},
		{"GB SW1A 1AA", "3 kg", "", "standard", "freight 9.75, Maut 0.47, Zoll 9.00, fuel 0.97 = 20.19"},
		{"GB BT1 1AA", "3 kg", "", "standard", "freight 12.60, Maut 0.60, Zoll 9.00, fuel 1.25 = 23.45"},
		{"GB B1 1AA", "3 kg", "", "standard", "freight 9.75, Maut 0.47, Zoll 9.00, fuel 0.97 = 20.19"},
		{"GB PA34 4AA", "3 kg", "", "standard", "freight 12.60, Maut 0.60, Zoll 9.00, fuel 1.25 = 23.45"},
		{"GB PA3 4AA", "3 kg", "", "standard", "freight 9.75, Maut 0.47, Zoll 9.00, fuel 0.97 = 20.19"},
		{"ES 07001", "8 kg", "", "standard", "freight 22.15, Maut 1.06, Inselzuschlag 16.50, fuel 3.77 = 43.48"},
		{"ES 28001", "8 kg", "", "standard", "freight 16.30, Maut 0.78, fuel 1.62 = 18.70"},
		{"DE 25980", "1 kg", "", "standard", "freight 3.95, Maut 0.19, Inselzuschlag 11.90, fuel 1.52 = 17.56"},
		{"NL 1012 AB", "1.2 kg + 1.3 kg", "", "express", "freight 26.70, fuel 4.81 = 31.51"}, // 2.5 kg together
		{"NL 1012 AB", "1.2 kg + 1.3 kg", "", "standard", "freight 13.60, Maut 0.65, fuel 1.35 = 15.60"},
		{"PL 00-950", "1 kg 40x30x20 cm", "", "express", "freight 39.95, fuel 7.19 = 47.14"}, // 24000 / 5000 = 4.8 kg
		{"PL 00-950", "1 kg 40x30x20 cm", "", "standard", "freight 8.20, Maut 0.39, fuel 0.82 = 9.41"},
		{"DE 10115", "12.3 kg", "", "express", "freight 23.00, fuel 4.14 = 27.14"}, // 10 kg and five times 500 g
		{"DE 10115", "12.5 kg", "", "express", "freight 23.00, fuel 4.14 = 27.14"},
		{"DE 10115", "12.501 kg", "", "express", "freight 23.45, fuel 4.22 = 27.67"},
		{"DE 10115", "1.5 kg", "2026-02-01", "standard", "freight 3.95, Maut 0.19, fuel 0.42 = 4.56"},
		{"DE 10115", "5 kg 130x20x20 cm", "", "standard", "freight 4.40, Maut 0.21, Sperrgut 23.00, fuel 0.44 = 28.05"},
		{"DE 10115", "3 kg 210x10x10 cm", "", "express", "freight 16.20, Sperrgut 75.00, fuel 2.92 = 94.12"},
		{"DE 10115", "3 kg 210x10x10 cm", "", "standard", "not offered"},
		{"DE 10115", "1.5 kg", "residential", "standard", "freight 3.95, Maut 0.19, Privatzustellung 1.15, fuel 0.39 = 5.68"},
		{"DE 10115", "0.5 kg", "saturday", "express", "freight 11.50, Samstag 14.50, fuel 2.07 = 28.07"},
		{"DE 10115", "1.5 kg", "adult", "standard", "freight 3.95, Maut 0.19, Altersprüfung 4.50, fuel 0.39 = 9.03"},
	} {
		if got := price(s, order(t, c.to, c.pieces, "2026-01-15", c.extras), c.service); got != c.want {
			t.Errorf("%s to %s, %s %s:\n got %s\nwant %s", c.service, c.to, c.pieces, c.extras, got, c.want)
		}
	}
}

func TestAnOrderOutsideOfTheSheetIsToldWhy(t *testing.T) {
	us, eu := read(t, "us-domestic"), read(t, "europe")
	for _, c := range []struct {
		o    ship.Order
		eu   bool
		want string
	}{
		{o: order(t, "DE 10115", "1 lb"), want: "no zone for DE 10115"},
		{o: order(t, "US 96201", "1 lb"), want: "no zone for US 96201"},
		{o: order(t, "US 10001", "1 lb", "2027-01-01"), want: "the rate sheet is not valid on 2027-01-01"},
		{o: order(t, "US 10001", "1 lb", "2026-01-04"), want: "the rate sheet is not valid on 2026-01-04"},
		{o: ship.Order{Destination: ship.Address{Country: "US", Zip: "10001"}}, want: "the order has no parcel"},
		{o: order(t, "US AK 99501", "151 lb"), want: "no rate to zone 9: ground is limited to 150 lb per piece; two_day does not serve this zone; next_day does not serve this zone; light does not serve this zone"},
		{o: order(t, "US 44113", "10 lb 109x4x4 in"), want: "no rate to zone 2: ground is limited to a length of 108 in; two_day is limited to a length of 108 in; next_day is limited to a length of 108 in; light is limited to 1 lb per piece"},
		{o: order(t, "AT 1010", "1 kg", "adult"), eu: true, want: "no rate to zone 1: standard has no price for an adult signature; express has no price for an adult signature"},
		{o: order(t, "DE 10115", "80 kg"), eu: true, want: "no rate to zone D: standard is limited to 31.5 kg per piece; express is limited to 70 kg per piece"},
		{o: order(t, "SE 111 22", "1 kg", "saturday"), eu: true, want: "no rate to zone 3: standard has no price for Saturday delivery; express has no price for Saturday delivery"},
	} {
		s := us
		if c.eu {
			s = eu
		}
		rates, err := s.Quote(c.o)
		if rates != nil || err == nil || err.Error() != c.want || ship.KindOf(err) != ship.Invalid || ship.CodeOf(err) != "no_rate" {
			t.Errorf("got %v, %v\nwant %s", rates, err, c.want)
		}
	}
}

func TestDeliveryCountsWorkingDays(t *testing.T) {
	s := read(t, "us-domestic")
	for _, c := range []struct{ to, extras, service, want string }{
		{"US 94103", "2026-02-02", "ground", "2026-02-09"},            // Monday and five days
		{"US 94103", "2026-02-06", "next_day", "2026-02-09"},          // Friday
		{"US 94103", "2026-02-06 saturday", "next_day", "2026-02-07"}, // on the Saturday
		{"US 94103", "2026-02-07", "next_day", "2026-02-10"},          // leaves on Monday
		{"US 94103", "", "light", "0001-01-01"},                       // nobody knows
	} {
		rates, err := s.Quote(order(t, c.to, "4 oz", c.extras))
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(rates, func(r ship.Rate) bool { return r.Service == c.service })
		if at < 0 || string(ship.DateOf(rates[at].DeliveryAt)) != c.want {
			t.Errorf("%s shipped %s: %+v, want it to arrive on %s", c.service, c.extras, rates, c.want)
		}
	}
}
