package ups

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/ship"
)

// sale is foreign() as a sale of one thing to a consumer in Berlin.
func sale() carrier.BuyOrder {
	b := foreign()
	b.Order.Destination.Type = "consumer"
	b.Order.Customs.ContentsType = "merchandise"
	b.Order.Customs.TaxIDs = nil
	b.Order.Customs.Items = []ship.CustomsItem{{
		Description: "Leather belt",
		Quantity:    1,
		Value:       ship.Money{Minor: 2500, Currency: "EUR"},
	}}
	return b
}

// purchaseRequest returns the purchase as it is sent.
func purchaseRequest(t *testing.T, b carrier.BuyOrder) (shipment, []string) {
	t.Helper()
	d := account(t)
	w, err := d.newDraft(b.Order, now)
	if err != nil {
		t.Fatal(err)
	}
	body, err := d.shipRequest(w, b)
	if err != nil {
		t.Fatal(err, problems(err))
	}
	return body.ShipmentRequest.Shipment, w.warnings
}

func problems(err error) (list []string) {
	if e, ok := errors.AsType[*ship.Error](err); ok {
		for _, f := range e.Fields {
			list = append(list, f.Pointer+" "+f.Detail)
		}
	}
	return list
}

func TestLowValueIntoTheEUIsNeverGuessed(t *testing.T) {
	ioss := ship.TaxIdentifier{Type: "ioss", Number: "IM2760000742", Party: "sender"}
	for _, tc := range []struct {
		name      string
		change    func(*carrier.BuyOrder)
		minimis   string
		threshold string
		warned    string
	}{
		{"150 euros", func(b *carrier.BuyOrder) { b.Order.Customs.Items[0].Value.Minor = 15000 }, "Y", "01", ""},
		{"one cent more", func(b *carrier.BuyOrder) { b.Order.Customs.Items[0].Value.Minor = 15001 }, "N", "02", ""},
		{"two of 75 euros", func(b *carrier.BuyOrder) {
			b.Order.Customs.Items[0].Quantity, b.Order.Customs.Items[0].Value.Minor = 2, 7500
		}, "Y", "01", ""},
		{"a dollar", func(b *carrier.BuyOrder) {
			b.Order.Customs.Items[0].Value = ship.Money{Minor: 100, Currency: "USD"}
		}, "N", "NA", ""},
		{"a dollar under IOSS", func(b *carrier.BuyOrder) {
			b.Order.Customs.Items[0].Value = ship.Money{Minor: 100, Currency: "USD"}
			b.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{ioss}
		}, "Y", "01", ""},
		{"200 euros under IOSS", func(b *carrier.BuyOrder) {
			b.Order.Customs.Items[0].Value.Minor = 20000
			b.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{ioss}
		}, "N", "02", "up to 150 EUR"},
	} {
		b := sale()
		tc.change(&b)
		s, warnings := purchaseRequest(t, b)
		if got := s.ShipmentServiceOptions.EUDeMinimisIndicator; got != tc.minimis {
			t.Errorf("%s: EUDeMinimisIndicator %q, want %q", tc.name, got, tc.minimis)
		}
		if got := s.ShipmentValueThresholdCode; got != tc.threshold {
			t.Errorf("%s: ShipmentValueThresholdCode %q, want %q", tc.name, got, tc.threshold)
		}
		if !strings.Contains(strings.Join(warnings, "\n"), tc.warned) {
			t.Errorf("%s: warnings %q do not say %q", tc.name, warnings, tc.warned)
		}
	}
}

func TestPartiesIntoTheEUAreBusinessesOrConsumers(t *testing.T) {
	for _, tc := range []struct {
		name               string
		change             func(*carrier.BuyOrder)
		shipper, consignee string
	}{
		{"as stated", func(b *carrier.BuyOrder) { b.Order.Origin.Type, b.Order.Destination.Type = "consumer", "business" }, "02", "01"},
		{"nothing stated", func(b *carrier.BuyOrder) { b.Order.Destination.Type = "" }, "01", "02"},
		{"a company", func(b *carrier.BuyOrder) { b.Order.Destination.Type, b.Order.Destination.Company = "", "GmbH" }, "01", "01"},
		{"a consumer at a company", func(b *carrier.BuyOrder) { b.Order.Destination.Company = "GmbH" }, "01", "02"},
	} {
		b := sale()
		tc.change(&b)
		s, _ := purchaseRequest(t, b)
		tax := s.GlobalTaxInformation
		if s.ShipperType != tc.shipper || s.ConsigneeType != tc.consignee || tax.ShipperTypeValue != tc.shipper || tax.ConsigneeTypeValue != tc.consignee {
			t.Errorf("%s: %s to %s, and %+v", tc.name, s.ShipperType, s.ConsigneeType, tax)
		}
	}
}

// The fields are only for shipments from outside the European Union into it.
func TestOtherLanesSayNothingOfTheEU(t *testing.T) {
	for name, change := range map[string]func(*carrier.BuyOrder){
		"to Norway": func(b *carrier.BuyOrder) {
			b.Order.Destination.City, b.Order.Destination.Zip, b.Order.Destination.Country = "Oslo", "0154", "NO"
		},
		"to the Canary Islands": func(b *carrier.BuyOrder) {
			b.Order.Destination.City, b.Order.Destination.Zip, b.Order.Destination.Country = "Las Palmas", "35002", "ES"
		},
		"out of the EU": func(b *carrier.BuyOrder) {
			b.Order.Origin, b.Order.Destination = b.Order.Destination, b.Order.Origin
			b.Order.Destination.Phone = "2135550100"
		},
	} {
		b := sale()
		b.Order.Customs.Items[0].SKU = "BELT"
		change(&b)
		s, _ := purchaseRequest(t, b)
		product := s.ShipmentServiceOptions.InternationalForms.Product[0]
		if s.ShipperType+s.ConsigneeType+s.ShipmentValueThresholdCode+s.ShipmentServiceOptions.EUDeMinimisIndicator != "" ||
			s.GlobalTaxInformation != nil || len(product.ProductIdentifier) > 0 || product.CommodityFieldSpecialConditionCode != "" {
			t.Errorf("%s: %+v %+v", name, s, product)
		}
	}
}

func TestProductsIntoTheEUAreIdentified(t *testing.T) {
	gtin := ship.ProductIdentifier{Type: "gtin", Number: "4006381333931"}
	for _, tc := range []struct {
		name      string
		change    func(*carrier.BuyOrder)
		want      string
		condition string
		warned    bool
	}{
		{"nothing", func(*carrier.BuyOrder) {}, "", "01", true},
		{"a SKU", func(b *carrier.BuyOrder) { b.Order.Customs.Items[0].SKU = "BELT" }, "0100 BELT", "01", true},
		{"a SKU and a merchant's number", func(b *carrier.BuyOrder) {
			b.Order.Customs.Items[0].SKU = "BELT"
			b.Order.Customs.Items[0].ProductIdentifiers = []ship.ProductIdentifier{{Type: "merchant", Number: "B-1"}, gtin}
		}, "0100 B-1, 0300 4006381333931", "", false},
		{"none exists", func(b *carrier.BuyOrder) {
			b.Order.Customs.Items[0].ProductIdentifiers = []ship.ProductIdentifier{{Type: "manufacturer", Number: "MPN"}, {Type: "none"}}
		}, "0200 MPN", "01", false},
		{"to a business", func(b *carrier.BuyOrder) { b.Order.Destination.Type = "business" }, "", "", false},
		{"a gift", func(b *carrier.BuyOrder) { b.Order.Customs.ContentsType = "gift" }, "", "", false},
	} {
		b := sale()
		tc.change(&b)
		s, warnings := purchaseRequest(t, b)
		product := s.ShipmentServiceOptions.InternationalForms.Product[0]
		var got []string
		for _, id := range product.ProductIdentifier {
			got = append(got, id.ProductIDTypeCode+" "+id.ProductID)
		}
		if text := strings.Join(got, ", "); text != tc.want || product.CommodityFieldSpecialConditionCode != tc.condition {
			t.Errorf("%s: %q with condition %q, want %q with %q", tc.name, text, product.CommodityFieldSpecialConditionCode, tc.want, tc.condition)
		}
		if warned := slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, "identifier") }); warned != tc.warned {
			t.Errorf("%s: warnings %q", tc.name, warnings)
		}
	}

	b := sale()
	b.Order.Customs.Items[0].ProductIdentifiers = []ship.ProductIdentifier{{Type: "merchant", Number: strings.Repeat("9", 101)}}
	for range 7 {
		b.Order.Customs.Items[0].ProductIdentifiers = append(b.Order.Customs.Items[0].ProductIdentifiers, gtin)
	}
	d := account(t)
	w, err := d.newDraft(b.Order, now)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.shipRequest(w, b)
	want := []string{
		"/customs/items/0/productIdentifiers/0/number UPS accepts product identifiers of at most 100 characters.",
		"/customs/items/0/productIdentifiers UPS accepts at most 6 product identifiers per item; this one has 7.",
	}
	if got := problems(err); !slices.Equal(got, want) {
		t.Errorf("too many and too long: %q", got)
	}
}

// Every type of number goes where UPS takes it, by party and destination.
func TestTaxIdentifiersGoWhereUPSTakesThem(t *testing.T) {
	to := func(city, zip, country string) func(*carrier.BuyOrder) {
		return func(b *carrier.BuyOrder) {
			b.Order.Destination.City, b.Order.Destination.Zip, b.Order.Destination.Country = city, zip, country
		}
	}
	berlin := func(*carrier.BuyOrder) {}
	for _, tc := range []struct {
		kind, country, party string
		to                   func(*carrier.BuyOrder)
		want                 string // agent, type, purpose, role, and the country that asks; or the vendor's code
	}{
		{"eori", "GB", "sender", berlin, "20 0002 02 06 US"},
		{"vat", "GB", "sender", berlin, "20 1002 01 37 US"},
		{"ein", "US", "sender", berlin, "20 1002 01 37 US"},
		{"gst", "IN", "sender", berlin, "20 1002 01 37 US"},
		{"abn", "AU", "sender", berlin, "20 1002 01 37 US"},
		{"pan", "IN", "sender", berlin, "20 1002 01 37 US"},
		{"cnpj", "BR", "sender", berlin, "20 1002 01 37 US"},
		{"cpf", "BR", "sender", berlin, "20 0005 01 37 US"},
		{"national_id", "US", "sender", berlin, "20 1003 01 37 US"},
		{"passport", "US", "sender", berlin, "20 1004 01 37 US"},
		{"other", "", "sender", berlin, "20 0000 01 37 US"},
		{"eori", "DE", "importer", berlin, "30 1002 02 05 DE"},
		{"eori", "DE", "recipient", berlin, "30 1002 02 18 DE"},
		{"vat", "DE", "recipient", berlin, "30 1002 01 18 DE"},
		{"cpf", "BR", "recipient", to("Recife", "50030-000", "BR"), "30 0005 01 18 BR"},
		{"passport", "DE", "recipient", berlin, "30 1005 01 18 DE"},
		{"other", "", "recipient", berlin, "30 0005 01 18 DE"},
		{"ioss", "DE", "sender", berlin, "0356"},
		{"ioss", "DE", "sender", to("Oslo", "0154", "NO"), ""},
		{"voec", "NO", "sender", to("Oslo", "0154", "NO"), "0357"},
		{"voec", "NO", "sender", berlin, ""},
		{"gst", "SG", "sender", to("Singapore", "018956", "SG"), "1051"},
		{"arn", "AU", "sender", to("Perth", "6000", "AU"), "1052"},
		{"arn", "AU", "sender", berlin, "20 1002 01 37 US"},
		{"ird", "NZ", "sender", to("Auckland", "1010", "NZ"), "1053"},
	} {
		b := sale()
		tc.to(&b)
		b.Order.Destination.State = ""
		if b.Order.Destination.Country == "BR" {
			b.Order.Destination.State = "PE"
		}
		if b.Order.Destination.Country == "AU" {
			b.Order.Destination.State = "WA"
		}
		b.Order.Customs.TaxIdentifiers = []ship.TaxIdentifier{{Type: tc.kind, Number: "N1", Country: tc.country, Party: tc.party}}
		s, _ := purchaseRequest(t, b)

		got := ""
		if tax := s.GlobalTaxInformation; tax != nil {
			for _, agent := range tax.AgentTaxIdentificationNumber {
				for _, n := range agent.TaxIdentificationNumber {
					got += fmt.Sprint(agent.AgentRole, " ", n.IDNumberTypeCode, " ", n.IDNumberPurposeCode, " ", n.IDNumberCustomerRole, " ", n.IDNumberRequestingCntryCd)
					if n.IdentificationNumber != "N1" || n.IDNumberEncryptionIndicator != "0" || n.IDNumberIssuingCntryCd != tc.country {
						t.Errorf("%s of the %s: %+v", tc.kind, tc.party, n)
					}
				}
			}
		}
		if s.ShipFrom != nil {
			got += s.ShipFrom.VendorInfo.VendorCollectIDTypeCode
			if s.ShipFrom.VendorInfo.VendorCollectIDNumber != "N1" || s.ShipFrom.Name != s.Shipper.Name || s.ShipFrom.ShipperNumber != "" {
				t.Errorf("%s: ship from %+v", tc.kind, s.ShipFrom)
			}
		}
		if got != tc.want {
			t.Errorf("%s of the %s to %s: %q, want %q", tc.kind, tc.party, b.Order.Destination.Country, got, tc.want)
		}
	}
}
