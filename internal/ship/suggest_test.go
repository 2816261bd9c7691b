package ship

import (
	"strings"
	"testing"
)

func TestNearestFindsTheNameThatWasMeant(t *testing.T) {
	fields := []string{"orderId", "destination", "parcel", "parcels", "weight", "weightUnit", "zip", "city", "address1", "country"}
	for word, want := range map[string]string{
		"orderid":     "orderId",
		"order_id":    "orderId",
		"ORDERID":     "orderId",
		"destnation":  "destination",
		"desitnation": "destination", // two letters swapped count once
		"wieght":      "weight",
		"parcel":      "parcel",
		"parclels":    "parcels",
		"adress1":     "address1",
		"ctiy":        "city",
		"zpi":         "zip",
		"contry":      "country",
		"metadata":    "",
		"z":           "",
		"":            "",
		"colour":      "",
	} {
		if got := Nearest(word, fields); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestNearestPrefersTheFirstOfEquals(t *testing.T) {
	if got := Nearest("cat", []string{"bat", "car"}); got != "bat" {
		t.Errorf("Nearest = %q, want the first", got)
	}
}

func TestNearestIgnoresAWordThatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", suggestLimit+1)
	if got := Nearest(long, []string{long}); got != "" {
		t.Errorf("Nearest = %q, want none", got)
	}
}

func TestEditDistanceCounts(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "acb", 1},
		{"ca", "abc", 3}, // a letter does not move twice
		{"kitten", "sitting", 3},
		{"straße", "strasse", 2},
	} {
		if got := editDistance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
