package batch_test

import (
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/batch"
	"github.com/waybillhq/waybill/internal/carrier"
)

const refusedFile = `Order,Recipient,Street,City,State,Zip,Country,Phone,Weight,Length,Width,Height,Carrier,Customs: description,Customs: quantity,Customs: value of one,Customs: HS code,Customs: made in
R-1,Ada Lovelace,500 Main St,Austin,TX,78701,US,2125550100,2.5,10,8,4,UPS,,,,,
R-2,Ada Augusta Byron King Countess of Lovelace and Ockham,500 Main St,Austin,TX,78701,US,2125550100,2.5,10,8,4,UPS,,,,,
R-3,Konrad Zuse,Friedrichstr 43,Berlin,,10117,DE,,2,10,8,4,UPS,Wooden toys,2,12.50,950300,US
R-4,Konrad Zuse,Friedrichstr 43,Berlin,,10117,DE,+49301234567,2,10,8,4,UPS,,,,,
R-5,田中さん,1 Main St,Dallas,TX,75201,US,2125550102,3,10,8,4,USPS,,,,,
R-6,Ada 🚀,1 Main St,Dallas,TX,75201,US,2125550102,3,10,8,4,FedEx,,,,,
`

// What a carrier's driver refuses before it sends anything is found when a line is
// checked, at its field, and not when it is bought. Checking sends no purchase.
func TestWhatAPurchaseWouldRefuseIsFoundAtTheCheck(t *testing.T) {
	t.Parallel()
	b := newLiveBench(t)
	id := b.upload(refusedFile)
	got := b.work(id)
	if got.State != batch.Ready || got.Tally.Rows[batch.RowRated] != 1 || got.Tally.Rows[batch.RowBad] != 5 {
		t.Errorf("after the check: %s %+v", got.State, got.Tally)
	}

	for number, field := range map[int]string{2: "name", 3: "phone", 4: "item", 5: "name", 6: "name"} {
		row, err := b.Row(t.Context(), b.tenant, id, number)
		b.must(err)
		if row.State != batch.RowBad || row.At(field) == "" {
			t.Errorf("line %d is %s with %+v, want a problem with %s", number, row.State, row.Problems, field)
		}
	}

	for _, stat := range b.traffic.Stats() {
		if stat.Operation == carrier.OpBuy {
			t.Errorf("a purchase was sent to %s", stat.Carrier)
		}
	}
	for name := range b.stands {
		if sold, _ := b.sold(name); len(sold) > 0 {
			t.Errorf("%s sold %v", name, sold)
		}
	}
}

// Test mode finds what every live carrier refuses, and shows what customs would
// object to beside the price.
func TestCustomsIsLookedAtBeforeThePurchase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.upload(`Order,Recipient,Street,City,State,Zip,Country,Phone,Weight,Customs: description,Customs: quantity,Customs: value of one,Customs: HS code,Customs: made in
C-1,Konrad Zuse,Friedrichstr 43,Berlin,,10117,DE,+49301234567,2,,,,,
C-2,Konrad Zuse,Friedrichstr 43,Berlin,,10117,DE,+49301234567,2,Wool hat,1,20,hat,US
C-3,Ada Lovelace,500 Main St,Austin,TX,78701,US,2125550100,2,Wool hat,1,20,,US
`)
	b.work(id)

	undeclared, err := b.Row(t.Context(), b.tenant, id, 1)
	b.must(err)
	if undeclared.State != batch.RowBad || !strings.Contains(undeclared.At("item"), "customs declaration") {
		t.Errorf("without a declaration the line is %s with %+v", undeclared.State, undeclared.Problems)
	}
	badCode, err := b.Row(t.Context(), b.tenant, id, 2)
	b.must(err)
	if badCode.State != batch.RowRated || len(badCode.Warnings) == 0 || badCode.Warnings[0].Field != "hsCode" || len(badCode.Doubts) != 0 {
		t.Errorf("with a bad code the line is %s with %+v", badCode.State, badCode.Warnings)
	}
	domestic, err := b.Row(t.Context(), b.tenant, id, 3)
	b.must(err)
	if domestic.State != batch.RowRated || len(domestic.Warnings) != 0 {
		t.Errorf("customs objects to a domestic parcel: %+v", domestic.Warnings)
	}
}

// Lines that repeat an order of the file are not ready and not in the total, until
// a person says that both are to be shipped.
func TestALineThatRepeatsAnOrderIsSkipped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := strings.Replace(orders(4), "1003,", "1001,", 1)
	id := b.upload(text)
	got := b.work(id)
	if got.Tally.Rows[batch.RowRated] != 3 || got.Tally.Rows[batch.RowSkipped] != 1 {
		t.Fatalf("after the check: %+v", got.Tally)
	}
	row, err := b.Row(t.Context(), b.tenant, id, 3)
	b.must(err)
	if row.State != batch.RowSkipped || !strings.Contains(row.At("order"), "line 1 has the same order number") {
		t.Errorf("line 3 is %s with %+v", row.State, row.Problems)
	}

	// Another check finds the same, and a corrected number is an order of its own.
	b.must(b.Check(t.Context(), b.tenant, id, got.ColumnMapping))
	if again := b.work(id); again.Tally.Rows[batch.RowRated] != 3 || again.Tally.Rows[batch.RowSkipped] != 1 {
		t.Errorf("checked again: %+v", again.Tally)
	}
	fixed, err := b.Fix(t.Context(), b.tenant, id, 3, map[string]string{"order": "1009"})
	b.must(err)
	if fixed.State != batch.RowRated {
		t.Errorf("with a number of its own it is %s", fixed.State)
	}
}
