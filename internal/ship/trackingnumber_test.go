package ship

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCheckDigitsOfKnownNumbers(t *testing.T) {
	for _, c := range []struct {
		check func(string) byte
		name  string
		n     string
	}{
		{UPSCheckDigit, "UPS", "5R89390357567127"},
		{UPSCheckDigit, "UPS", "999AA10123456784"},
		{UPSCheckDigit, "UPS waybill", "1506235620"},
		{GS1CheckDigit, "USPS 22", "9400111206206406260787"},
		{GS1CheckDigit, "USPS 26", "92748931507708513018050063"},
		{GS1CheckDigit, "USPS with routing", "9200190132607600833457"},
		{GS1CheckDigit, "USPS 20", "03071790000523483741"},
		{GS1CheckDigit, "FedEx Ground", "041441760228964"},
		{GS1CheckDigit, "FedEx Ground Economy", "9261292700768711948021"},
		{FedExCheckDigit, "FedEx", "986578788855"},
		{FedExCheckDigit, "FedEx", "799531274483"},
		{DHLCheckDigit, "DHL Express", "3318810025"},
		{S10CheckDigit, "S10", "123456785"},
		{S10CheckDigit, "S10", "473124829"},
	} {
		last := len(c.n) - 1
		if got := c.check(c.n[:last]); got != c.n[last] {
			t.Errorf("%s %s: check digit %c, want %c", c.name, c.n, got, c.n[last])
		}
	}
}

func TestACheckDigitOfNonsenseIsNoDigit(t *testing.T) {
	for _, check := range []func(string) byte{UPSCheckDigit, GS1CheckDigit, FedExCheckDigit, DHLCheckDigit, S10CheckDigit} {
		if got := check("12é4"); got != 0 {
			t.Errorf("got %q, want none", got)
		}
	}
}

func TestEveryChangedDigitIsNoticed(t *testing.T) {
	for carrier, n := range map[string]string{
		carrierUPS: "1Z5R89390357567127", carrierUSPS: "9400111206206406260787", carrierDHLExpress: "3318810025",
	} {
		b := []byte(n)
		last := len(b) - 1
		for d := byte('0'); d <= '9'; d++ {
			b[last] = d
			if got := slices.Contains(DetectCarriers(string(b)), carrier); got != (d == n[last]) {
				t.Errorf("%s: %s fits: %v", carrier, b, got)
			}
		}
	}
}

func TestCarriersOfANumber(t *testing.T) {
	for n, want := range map[string]string{
		"1Z5R89390357567127":                      "ups",
		" 1z 5r8-939 03 5756 7127 ":               "ups",
		"1Z5R89390357567128":                      "",
		"K1506235620":                             "ups",
		"9400111206206406260787":                  "usps",
		"9400 1112 0620 6406 2607 87":             "usps",
		"420787459400111206206406260787":          "usps",
		"4201002334249200190132607600833457":      "usps",
		"42010023" + "92748931507708513018050063": "usps",
		"RB123456785US":                           "usps",
		"RB123456785GB":                           "",
		"RB123456786US":                           "",
		"03071790000523483741":                    "usps",
		"71969010756003077385":                    "usps",
		"00340433836442636597":                    "",
		"986578788855":                            "fedex",
		"201298452277":                            "fedex",
		"041441760228964":                         "fedex",
		"61292700768711948021":                    "fedex",
		"9261292700768711948021":                  "usps fedex",
		"9611020987654312345672":                  "fedex",
		"1001921334250001000300779017972697":      "fedex",
		"9622001900000000000000776632517510":      "fedex",
		"3318810025":                              "dhl_express",
		"3318810026":                              "",
		"JD014600006281230701":                    "dhl_express",
		"":                                        "",
		"1Z":                                      "",
		"420":                                     "",
		"日本日本日本日本日本":                              "",
	} {
		if got := strings.Join(DetectCarriers(n), " "); got != want {
			t.Errorf("DetectCarriers(%q) = %q, want %q", n, got, want)
		}
	}
}

func TestATrackingNumberIsStoredWithoutItsSpaces(t *testing.T) {
	if got := NormalizeTrackingNumber("\t1z 5r89-3903\u00a057567127\n"); got != "1Z5R8939"+"0357567127" {
		t.Errorf("got %q", got)
	}
}

// TestCarrierSpecsAgree checks the formats against a folder of carriers' data,
// which is not part of the project.
func TestCarrierSpecsAgree(t *testing.T) {
	folder := os.Getenv("CARRIER_SPECS")
	if folder == "" {
		t.Skip("CARRIER_SPECS names no folder of carriers' data")
	}
	data, err := os.ReadFile(filepath.Join(folder, "tracking-numbers", "patterns-re2.json"))
	if err != nil {
		t.Fatal(err)
	}
	var specs struct {
		Patterns []struct {
			ID      string
			Carrier string
			Check   any
			Valid   []string
			Invalid []string
		}
	}
	if err := json.Unmarshal(data, &specs); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, p := range specs.Patterns {
		carrier := map[string]string{"ups": carrierUPS, "usps": carrierUSPS, "fedex": carrierFedEx}[p.Carrier]
		if p.ID == "dhl_express_waybill" {
			carrier = carrierDHLExpress
		}
		if carrier == "" || p.Check == nil {
			continue
		}
		for _, n := range p.Valid {
			seen++
			if got := DetectCarriers(n); !slices.Contains(got, carrier) {
				t.Errorf("%s %s: %v", p.ID, n, got)
			}
		}
		for _, n := range p.Invalid {
			seen++
			if got := DetectCarriers(n); slices.Contains(got, carrier) {
				t.Errorf("%s %s is wrong but fits: %v", p.ID, n, got)
			}
		}
	}
	if seen == 0 {
		t.Error("no numbers found")
	}
	t.Logf("%d numbers", seen)
}

func FuzzTrackingNumber(f *testing.F) {
	for _, n := range []string{"1Z5R89390357567127", "420787459400111206206406260787", "986578788855", "RB123456785US", "JD01", "é", ""} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := NormalizeTrackingNumber(s)
		if again := NormalizeTrackingNumber(n); again != n {
			t.Errorf("twice gives %q, once %q", again, n)
		}
		got := DetectCarriers(s)
		if !slices.Equal(got, DetectCarriers(n)) {
			t.Errorf("%q and %q are of different carriers", s, n)
		}
		if slices.Sort(got); len(slices.Compact(got)) != len(got) {
			t.Errorf("%q: a carrier stands twice in %v", s, got)
		}
	})
}

func BenchmarkDetectCarriers(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		DetectCarriers("9400111206206406260787")
	}
}
