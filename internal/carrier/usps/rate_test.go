package usps

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// offer returns one offer of a class as USPS writes it.
func offer(class, indicator, category, entry string, price string, more string) string {
	return fmt.Sprintf(`{"mailClass":%q,"rateOptions":[{"totalBasePrice":%s,"rates":[{"rateIndicator":%q,"processingCategory":%q,"destinationEntryFacilityType":%q}]%s}]}`,
		class, price, indicator, category, entry, more)
}

func offers(list ...string) string {
	return `{"pricingOptions":[{"shippingOptions":[` + strings.Join(list, ",") + `]}]}`
}

func TestTheOfferIsChosenThatThePurchaseIsChargedBy(t *testing.T) {
	const pm, ga = "PRIORITY_MAIL", "USPS_GROUND_ADVANTAGE"
	small := func(*ship.Order) {}
	for _, tc := range []struct {
		name   string
		change func(*ship.Order)
		offers []string
		want   string
	}{
		{"own box, not an envelope", small, []string{offer(pm, "FE", flats, "NONE", "1.00", ""), offer(pm, "SP", machinable, "NONE", "9.10", "")}, "priority_mail 910"},
		{"not a discount for bringing it further", small, []string{offer(ga, "SP", machinable, "DESTINATION_DELIVERY_UNIT", "1.00", ""), offer(ga, "SP", machinable, "NONE", "5.00", "")}, "ground_advantage 500"},
		{"by the parcel's own category", small, []string{offer(ga, "SP", nonstandard, "NONE", "4.00", ""), offer(ga, "SP", machinable, "NONE", "5.00", "")}, "ground_advantage 500"},
		{"by volume", func(o *ship.Order) {
			o.Parcels[0].Dimensions = &ship.Dimensions{Length: 20, Width: 14, Height: 14, Unit: ship.Inch}
		}, []string{offer(ga, "SP", machinable, "NONE", "5.00", ""), offer(ga, "DR", machinable, "NONE", "25.00", "")}, "ground_advantage 2500"},
		{"oversized", func(o *ship.Order) {
			o.Parcels[0].Dimensions = &ship.Dimensions{Length: 50, Width: 18, Height: 18, Unit: ship.Inch}
		}, []string{offer(ga, "DR", nonstandard, "NONE", "25.00", ""), offer(ga, "OS", nonstandard, "NONE", "100", ""), offer(pm, "OS", nonstandard, "NONE", "90", "")}, "ground_advantage 10000"},
		{"the packaging alone", func(o *ship.Order) { o.Parcels[0].Packaging = "small_flat_rate_box" }, []string{
			offer(pm, "SP", machinable, "NONE", "9.10", ""), offer(pm, "FS", machinable, "NONE", "10.45", ""), offer(ga, "SP", machinable, "NONE", "5.00", ""),
		}, "priority_mail 1045"},
		{"an express envelope", func(o *ship.Order) { o.Parcels[0].Packaging = "flat_rate_envelope" }, []string{
			offer("PRIORITY_MAIL_EXPRESS", "PA", machinable, "NONE", "39", ""), offer("PRIORITY_MAIL_EXPRESS", "E4", flats, "NONE", "28.95", ""),
		}, "priority_mail_express 2895"},
		{"with its signature and insurance, and no other", func(o *ship.Order) {
			o.Options = ship.Options{Signature: "standard", InsuredValue: ship.Money{Minor: 60000, Currency: "USD"}}
		}, []string{
			offer(ga, "SP", machinable, "NONE", "5.00", `,"totalPrice":99,"extraServices":[{"extraService":"921","price":3.95},{"extraService":"931","price":12.5},{"extraService":"957","price":2.62}]`),
			offer(pm, "SP", machinable, "NONE", "9.00", `,"extraServices":[{"extraService":"921","price":3.95}]`),
		}, "ground_advantage 2145"},
		{"nothing for sale", small, []string{offer("MEDIA_MAIL", "SP", machinable, "NONE", "4.00", ""), offer(ga, "5D", machinable, "NONE", "3.00", ""), offer(pm, "SP", machinable, "NONE", "null", "")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := order()
			tc.change(&o)
			c, err := newDraft(o, noon)
			if err != nil {
				t.Fatal(err)
			}
			var a optionsAnswer
			if err := json.Unmarshal([]byte(offers(tc.offers...)), &a); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range ratesOf(c, a) {
				got = append(got, fmt.Sprintf("%s %d", r.Service, r.Price.Minor))
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("rates are %q, want %q", text, tc.want)
			}
		})
	}
}

// TestMediaMailIsOfferedOnlyWhereNothingElseIsShipped: it is the cheapest class, and
// most parcels may not use it.
func TestMediaMailIsOfferedOnlyWhereNothingElseIsShipped(t *testing.T) {
	var answer optionsAnswer
	if err := json.Unmarshal([]byte(offers(offer("MEDIA_MAIL", "SP", machinable, "NONE", "4.47", ""), offer("USPS_GROUND_ADVANTAGE", "SP", machinable, "NONE", "5.00", ""))), &answer); err != nil {
		t.Fatal(err)
	}
	quoted := func(media bool, change func(*ship.Order)) string {
		o := order()
		change(&o)
		c, err := newDraft(o, noon)
		if err != nil {
			t.Fatal(err)
		}
		c.media = media
		var got []string
		for _, rate := range ratesOf(c, answer) {
			got = append(got, rate.Service+" "+rate.Price.Amount()+" "+rate.Selection)
		}
		return strings.Join(got, ", ")
	}

	same := func(*ship.Order) {}
	insured := func(o *ship.Order) { o.Options.InsuredValue = ship.Money{Minor: 5000, Currency: "USD"} }
	long := func(o *ship.Order) {
		o.Parcels[0].Dimensions = &ship.Dimensions{Length: 50, Width: 15, Height: 15, Unit: ship.Inch}
	}
	for name, tc := range map[string]struct {
		got, want string
	}{
		"any contents":  {quoted(false, same), "ground_advantage 5.00 SP"},
		"media":         {quoted(true, same), "ground_advantage 5.00 SP, media_mail 4.47 SP"},
		"insured media": {quoted(true, insured), ""}, // neither offer has insurance
		"long media":    {quoted(true, long), "ground_advantage 5.00 SP"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: %q, want %q", name, tc.got, tc.want)
		}
	}
}

func TestThePromiseIsADay(t *testing.T) {
	for _, tc := range []struct {
		commitment string
		days       int
		at         string
		guaranteed bool
	}{
		{`{"name":"2 Days","expectedDeliveryDate":"2026-03-06","guaranteedDelivery":false}`, 2, "2026-03-06T20:00:00Z", false},
		{`{"name":"1-day","scheduleDeliveryDate":"2026-03-05","guaranteedDelivery":"true"}`, 1, "2026-03-05T20:00:00Z", true},
		{`{"name":"1 Day","expectedDeliveryDate":"2026-03-05","guaranteedDelivery":true}`, 1, "2026-03-05T20:00:00Z", true},
		{`{"name":"NO STD","expectedDeliveryDate":""}`, 0, "", false},
		{`{"name":"MILITARY","expectedDeliveryDate":null}`, 0, "", false},
		{`null`, 0, "", false},
	} {
		var o rateOption
		if err := json.Unmarshal([]byte(`{"totalBasePrice":1,"commitment":`+tc.commitment+`}`), &o); err != nil {
			t.Fatal(err)
		}
		r, ok := (&draft{}).rateOf(services[0], o)
		at := ""
		if !r.DeliveryAt.IsZero() {
			at = r.DeliveryAt.Format(time.RFC3339)
		}
		if !ok || r.TransitDays != tc.days || at != tc.at || r.Guaranteed != tc.guaranteed {
			t.Errorf("%s is %+v", tc.commitment, r)
		}
	}
}

func TestContractPricesAreAskedForByTheAccount(t *testing.T) {
	c, err := newDraft(order(), noon)
	if err != nil {
		t.Fatal(err)
	}
	r := (&driver{contract: true, account: "42"}).rateRequest(c)
	if p := r.PricingOptions[0]; p.PriceType != "CONTRACT" || p.PaymentAccount == nil || p.PaymentAccount.AccountNumber != "42" {
		t.Errorf("asked for %+v", p)
	}
}

func TestAQuoteFarAheadAsksForAsFarAsUSPSQuotes(t *testing.T) {
	o := order()
	o.ShipDate = "2026-04-15"
	c, err := newDraft(o, noon)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.quoteDate(); got != "2026-03-31" || c.mailingDate != "2026-04-15" {
		t.Errorf("quoted for %s, mailed on %s", got, c.mailingDate)
	}
}
