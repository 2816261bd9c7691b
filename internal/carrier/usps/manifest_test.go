package usps

import (
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

func aManifest() ship.ManifestOrder {
	return ship.ManifestOrder{
		Address:  order().Origin,
		ShipDate: "2026-03-04",
		Labels: []ship.ManifestLabel{
			{Shipment: "shp_1", Service: "ground_advantage", Numbers: []string{"9400100000000000000006"}},
			{Shipment: "shp_2", Service: "priority_mail_international", Numbers: []string{"CZ000000005US"}},
		},
	}
}

func TestScanFormsAreWrittenAsTheGoldenFile(t *testing.T) {
	request, err := scanFormOf(aManifest(), noon)
	if err != nil {
		t.Fatal(err)
	}
	request.Shipment.TrackingNumbers = numbersOf(aManifest().Labels)
	checkGolden(t, "scan-form.json", request)
}

// A form that is asked for again the next day has a date that USPS takes.
func TestAScanFormIsNeverOfYesterday(t *testing.T) {
	request, err := scanFormOf(aManifest(), noon.Add(72*time.Hour))
	if err != nil || request.MailingDate != "2026-03-05" {
		t.Errorf("the date is %s, %v", request.MailingDate, err)
	}
}

func TestManifestsThatUSPSDoesNotTake(t *testing.T) {
	abroad := aManifest()
	abroad.Address = abroadOrder().Destination
	empty := aManifest()
	empty.Labels = nil
	for want, order := range map[ship.Kind]ship.ManifestOrder{ship.Unsupported: abroad, ship.Invalid: empty} {
		if _, err := scanFormOf(order, noon); ship.KindOf(err) != want {
			t.Errorf("err = %v, want %s", err, want)
		}
	}
}

// USPS has several ways to write the label and the form that a refusal is about.
func TestRefusalsOfFormsAreRead(t *testing.T) {
	for _, tc := range []struct {
		code, words string
		label       int
		form        string
	}{
		{"160040", "barcode [9400100000000000000006] is already part of another SCAN Form with efn [9475038234567000031430]", -1, "9475038234567000031430"},
		{"160040", "barcode 9400100000000000000006 is already part of another SCAN Form", -1, ""},
		{"160398", "barcode<9400100000000000000006 >has manifested and is not eligible to be added to a SCAN Form", 0, ""},
		{"160397", "barcode <CZ000000005US> has been canceled and is not eligible to be added to a SCAN Form", 1, ""},
		{"160039", "barcode [9400100000000000000001] does not exist", -1, ""},
		{"160165", "barcodes cannot be grouped together in a SCAN Form due to Manifest MID mismatch", -1, ""},
		{"160398", "", -1, ""},
	} {
		err := &ship.Error{Kind: ship.Invalid, Message: "refused", Refusal: ship.Refusal{Code: tc.code, Message: tc.words}}
		if got := refusedLabel(err, aManifest().Labels); got != tc.label {
			t.Errorf("%s %s is about label %d, want %d", tc.code, tc.words, got, tc.label)
		}
		if got := existingForm(err); got != tc.form {
			t.Errorf("%s %s names the form %q, want %q", tc.code, tc.words, got, tc.form)
		}
		if said := explainForm(err).Error(); tc.words != "" && !strings.Contains(said, strings.TrimSuffix(tc.words, ".")) {
			t.Errorf("the error is %q", said)
		}
	}
}

func TestTheAnswerSaysWhatIsOnAForm(t *testing.T) {
	labels := aManifest().Labels
	for name, tc := range map[string]struct {
		taken []text
		want  int
	}{
		"no list":              {nil, 0},
		"both":                 {[]text{"CZ000000005US", "420631049400100000000000000006"}, 0},
		"one of them":          {[]text{"CZ000000005US"}, 1},
		"labels of no concern": {[]text{"9400100000000000000099"}, 2},
	} {
		if got := (scanFormAnswer{TrackingNumbers: tc.taken}).excluded(labels); len(got) != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
