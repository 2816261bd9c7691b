package all_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/all"
)

func detect(number string) []string { return carrier.Detect(all.Specs, number) }

// compared are the carriers whose numbers these tests tell apart. What a further
// carrier recognizes is for the tests in its own folder.
var compared = slices.DeleteFunc(slices.Clone(all.Specs), func(spec carrier.Spec) bool {
	return !slices.Contains([]string{"ups", "usps", "fedex", "dhl_express"}, spec.Name)
})

func TestEveryChangedDigitIsNoticed(t *testing.T) {
	for name, n := range map[string]string{
		"ups": "1Z5R89390357567127", "usps": "9400111206206406260787", "dhl_express": "3318810025",
	} {
		b := []byte(n)
		last := len(b) - 1
		for d := byte('0'); d <= '9'; d++ {
			b[last] = d
			if got := slices.Contains(detect(string(b)), name); got != (d == n[last]) {
				t.Errorf("%s: %s fits: %v", name, b, got)
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
		if got := strings.Join(carrier.Detect(compared, n), " "); got != want {
			t.Errorf("Detect(%q) = %q, want %q", n, got, want)
		}
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
		name := map[string]string{"ups": "ups", "usps": "usps", "fedex": "fedex"}[p.Carrier]
		if p.ID == "dhl_express_waybill" {
			name = "dhl_express"
		}
		if name == "" || p.Check == nil {
			continue
		}
		for _, n := range p.Valid {
			seen++
			if got := detect(n); !slices.Contains(got, name) {
				t.Errorf("%s %s: %v", p.ID, n, got)
			}
		}
		for _, n := range p.Invalid {
			seen++
			if got := detect(n); slices.Contains(got, name) {
				t.Errorf("%s %s is wrong but fits: %v", p.ID, n, got)
			}
		}
	}
	if seen == 0 {
		t.Error("no numbers found")
	}
	t.Logf("%d numbers", seen)
}

func FuzzDetect(f *testing.F) {
	for _, n := range []string{"1Z5R89390357567127", "420787459400111206206406260787", "986578788855", "RB123456785US", "JD01", "é", ""} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, number string) {
		got := detect(number)
		if slices.Sort(got); len(slices.Compact(got)) != len(got) {
			t.Errorf("%q: a carrier stands twice in %v", number, got)
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		detect("9400111206206406260787")
	}
}
