package batch_test

import (
	"bytes"
	"encoding/csv"
	"reflect"
	"testing"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/ship"
)

// buyLines buys a file and returns its lines with their shipments, by line.
func (b *bench) buyLines(text string) (rows []batch.Row, shipments map[int]ship.Shipment) {
	b.Helper()
	id := b.upload(text)
	b.work(id)
	_ = b.Buy(b.Context(), b.tenant, id, "pdf", "") // there may be nothing to buy
	b.work(id)
	rows, _, err := b.Rows(b.Context(), b.tenant, id, 0, 100)
	b.must(err)
	shipments = map[int]ship.Shipment{}
	for _, row := range rows {
		if row.Shipment != "" {
			shipments[row.Number], err = b.shipping.Shipment(b.Context(), b.tenant, row.Shipment)
			b.must(err)
		}
	}
	return rows, shipments
}

func TestALineHasSeveralParcels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rows, got := b.buyLines("Order,Recipient,Street,City,State,Zip,Country,Weight,Unit of weight,Length,Width,Height,Carrier\n" +
		"1,Ada,5 Main St,Austin,TX,78701,US,2.5 | 4|1,lb,10|12|14,8,4,UPS\n" +
		"2,Ada,5 Main St,Austin,TX,78701,US,2.5|4,lb,10|12|14,8,4,UPS\n" +
		"3,Ada,5 Main St,Austin,TX,78701,US,2.5|heavy,lb,10,8,4,UPS\n" +
		"4,Ada,5 Main St,Austin,TX,78701,US,2.5|0,lb,10,8,4,UPS\n")
	parcels := got[1].Order.Parcels
	if len(parcels) != 3 || parcels[1].Weight != 4 || parcels[2].Dimensions.Length != 14 || parcels[2].Dimensions.Width != 8 || len(got[1].Purchase.Pieces) != 3 {
		t.Errorf("%s %+v: %+v", rows[0].State, rows[0].Problems, parcels)
	}
	for i, want := range map[int]batch.Problem{
		1: {Field: "length", Detail: "has 3 values, but Weight has 2: enter one value for all, or one for each"},
		2: {Field: "weight", Detail: "must be a number such as 2.5, with the unit in a separate column"},
		3: {Field: "weight", Detail: "parcel 2: must be greater than 0"},
	} {
		if rows[i].State != batch.RowBad || len(rows[i].Problems) != 1 || !reflect.DeepEqual(rows[i].Problems[0], want) {
			t.Errorf("line %d: %s %+v, want %+v", i+1, rows[i].State, rows[i].Problems, want)
		}
	}
}

func TestALineDeclaresSeveralThings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rows, got := b.buyLines("Order,Recipient,Street,City,Zip,Country,Phone,Weight,Customs: description,Customs: quantity,Customs: value of one,Customs: HS code,Customs: made in\n" +
		"1,Konrad,Friedrichstr 43,Berlin,10117,DE,+49301234567,2,Toys | Books,2 | 1,12.50 | 8,9503.00 | 4901.99,United States\n" +
		"2,Konrad,Friedrichstr 43,Berlin,10117,DE,+49301234567,2,Toys | wooden,2,12.50,9503.00,US\n" +
		"3,Konrad,Friedrichstr 43,Berlin,10117,DE,+49301234567,2,Toys | Books,2,12.50 | cheap,9503.00,US\n")
	if len(got) != 2 {
		t.Fatalf("%+v %+v %+v", rows[0].Problems, rows[1].Problems, rows[2].Problems)
	}
	two, one := got[1].Order.Customs.Items, got[2].Order.Customs.Items
	if len(two) != 2 || two[0].Description != "Toys" || two[1].Description != "Books" || two[0].Quantity != 2 || two[1].Value.Amount() != "8.00" || two[1].OriginCountry != "US" {
		t.Errorf("two things: %+v", two)
	}
	if len(one) != 1 || one[0].Description != "Toys | wooden" {
		t.Errorf("one thing with a bar in it: %+v", one)
	}
	if rows[2].State != batch.RowBad || rows[2].At("value") == "" {
		t.Errorf("a value that is none: %+v", rows[2].Problems)
	}
}

func TestTheTemplateCanBeBought(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	titles := make([]string, len(batch.Fields))
	for i, f := range batch.Fields {
		titles[i] = f.Title
	}
	var file bytes.Buffer
	b.must(csv.NewWriter(&file).WriteAll(append([][]string{titles}, batch.Examples()...)))
	rows, got := b.buyLines(file.String())
	if len(got) != 2 || len(got[1].Order.Parcels) != 1 || len(got[2].Order.Parcels) != 2 {
		t.Errorf("%d are bought: %+v %+v", len(got), rows[0].Problems, rows[1].Problems)
	}
}

func TestALineHasOptions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rows, got := b.buyLines("Order,Recipient,Street,City,State,Zip,Country,Weight,Carrier,Service,Signature,Insured value,Cash on delivery,Cash on delivery: method,Dry ice,Lithium batteries,Alcohol\n" +
		"1,Ada,5 Main St,Austin,TX,78701,US,9,FedEx,FedEx 2Day,adult,150 USD,80,check,2.5,ion in_equipment,yes\n" +
		"2,Ada,5 Main St,Austin,TX,78701,US,9,FedEx,FedEx 2Day,,,,gold,,ion,perhaps\n")
	options := got[1].Order.Options
	if options.Signature != "adult" || options.InsuredValue.Amount() != "150.00" || options.COD.Amount.Amount() != "80.00" || options.COD.Method != "check" ||
		options.DryIce.Weight != 2.5 || options.LithiumBatteries.Packed != "in_equipment" || !options.Alcohol {
		t.Errorf("%s %+v: %+v", rows[0].State, rows[0].Problems, options)
	}
	for _, field := range []string{"codMethod", "lithiumBatteries", "alcohol"} {
		if rows[1].At(field) == "" {
			t.Errorf("%s has no problem: %+v", field, rows[1].Problems)
		}
	}
}
