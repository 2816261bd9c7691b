package postnl

import "testing"

func TestStreetsAreSplit(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][3]string{
		"Molengraaffplantsoen 74":   {"Molengraaffplantsoen", "74", ""},
		"Molengraaffplantsoen 74 A": {"Molengraaffplantsoen", "74", "A"},
		"Molengraaffplantsoen 74A":  {"Molengraaffplantsoen", "74", "A"},
		"Siriusdreef 42-60":         {"Siriusdreef", "42", "60"},
		"Plein 1940 12 bis":         {"Plein 1940", "12", "bis"},
		"Laan van Meerdervoort, 5":  {"Laan van Meerdervoort", "5", ""},
		"1e Helmersstraat 12":       {"1e Helmersstraat", "12", ""},
		"Molengraaffplantsoen":      {},
		"":                          {},
	} {
		street, number, extension, _ := splitStreet(line, "NL")
		if got := [3]string{street, number, extension}; got != want {
			t.Errorf("%q is %q, want %q", line, got, want)
		}
	}
	if street, number, _, ok := splitStreet("12 Rue de la Gare", "LU"); !ok || street != "Rue de la Gare" || number != "12" {
		t.Errorf("12 Rue de la Gare is %q %q", street, number)
	}
}
