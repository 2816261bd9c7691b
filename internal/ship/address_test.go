package ship

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/bojanz/address"
)

func office() Address {
	return Address{
		Name: "Ada Lovelace", Company: "Analytical Engines", Address1: "525 Market St", Address2: "Floor 3",
		City: "San Francisco", State: "CA", Zip: "94105", Country: "US", Phone: "+1 415 555 0100", Email: "ada@example.com",
	}
}

// place is an address of a country with nothing wrong but what a test puts in.
func place(country, state, zip string) Address {
	return Address{Name: "A B", Address1: "1 Street", City: "Town", State: state, Zip: zip, Country: country}
}

func codes(errs []FieldError) string {
	var out []string
	for _, e := range errs {
		out = append(out, e.Pointer+" "+e.Code)
	}
	return strings.Join(out, ", ")
}

func TestAGoodAddressIsStoredAsGiven(t *testing.T) {
	yes := true
	in := office()
	in.Residential = &yes
	got, errs := in.Normalize("/destination")
	if len(errs) != 0 || got != in {
		t.Errorf("Normalize = %+v, %v; want it unchanged", got, errs)
	}
}

func TestTextIsTrimmedAndFolded(t *testing.T) {
	in := office()
	in.Name, in.City, in.Country, in.Zip = "  Ada \u00a0  Lovelace\n", "San\u3000Francisco", " us ", " 94105 "
	if got, errs := in.Normalize(""); len(errs) != 0 || got != office() {
		t.Errorf("Normalize = %+v, %v", got, errs)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	for _, c := range []struct {
		in   Address
		want string
	}{
		{Address{}, "/to/name required, /to/address1 required, /to/city required, /to/country required"},
		{place("US", "", ""), "/to/state required, /to/zip required"},
		{place("CA", "", "K1A 0B1"), "/to/state required"},
		{place("AU", "", "2000"), "/to/state required"},
		{place("IN", "", "110001"), "/to/state required"},
		{place("BR", "", "01310-100"), "/to/state required"},
		{place("MX", "", "06000"), "/to/state required"},
		{place("DE", "", ""), "/to/zip required"},
		{place("TH", "", ""), "/to/zip required"},
		{place("HK", "", ""), ""},
		{place("AE", "", ""), ""},
		{place("IE", "", ""), ""},
		{place("JP", "", "100-0001"), ""},
		{place("ES", "", "28001"), ""},
		{place("PR", "", "00901"), ""},
		{Address{Name: "\u200b", Address1: " ", City: "x", Country: "HK"}, "/to/name required, /to/address1 required"},
	} {
		if _, errs := c.in.Normalize("/to"); codes(errs) != c.want {
			t.Errorf("%+v: %s; want %s", c.in, codes(errs), c.want)
		}
	}
}

func TestTextThatMayNotBeKeptIsRefused(t *testing.T) {
	for name, bad := range map[string]string{
		"NUL":          "a\x00b",
		"escape":       "\x1b[2J",
		"inner line":   "a\nb",
		"tab":          "a\tb",
		"delete":       "a\x7f",
		"C1":           "a\u0090b",
		"next line":    "a\u0085b",
		"override":     "a\u202eb",
		"isolate":      "a\u2066b\u2069",
		"broken UTF-8": "a\xffb",
	} {
		in := office()
		in.Name, in.Address2, in.State, in.Zip, in.Country, in.Email = bad, bad, bad, bad, bad, bad
		got, errs := in.Normalize("")
		want := "/name invalid_text, /address2 invalid_text, /country invalid_text, /state invalid_text, /zip invalid_text, /email invalid_text"
		if codes(errs) != want {
			t.Errorf("%s: %s", name, codes(errs))
		}
		if got.Name != "" || got.Zip != "" {
			t.Errorf("%s: kept %q and %q", name, got.Name, got.Zip)
		}
	}
}

func TestOtherScriptsAreKept(t *testing.T) {
	for _, name := range []string{"Łukasz Żółć", "Юлия Иванова", "山田 太郎", "김철수", "محمد علي", "דוד כהן", "Δημήτρης", "می\u200cخواهم", "O’Brien"} {
		in := place("HK", "", "")
		in.Name = name
		if got, errs := in.Normalize(""); len(errs) != 0 || got.Name != name {
			t.Errorf("%q became %q, %v", name, got.Name, errs)
		}
	}
}

func TestLengthsAreCountedInCharacters(t *testing.T) {
	in := office()
	in.Name = strings.Repeat("é", 100)
	if _, errs := in.Normalize(""); len(errs) != 0 {
		t.Errorf("100 characters: %v", errs)
	}
	x := strings.Repeat("x", 300)
	in = Address{
		Name: x[:101], Company: x[:101], Address1: x[:101], Address2: x[:101], Address3: x[:101], City: x[:101],
		State: x[:51], Zip: x[:21], Country: "US", Phone: x[:31], Email: x[:255],
	}
	_, errs := in.Normalize("")
	want := "/name too_long, /company too_long, /address1 too_long, /address2 too_long, /address3 too_long, /city too_long, " +
		"/state too_long, /zip too_long, /phone too_long, /email too_long"
	if codes(errs) != want {
		t.Errorf("got %s", codes(errs))
	}
}

func TestPhoneAndEmailAreLookedAtLightly(t *testing.T) {
	for _, c := range []struct{ phone, email, want string }{
		{"+49 (0)30 1234-5678 ext. 9", "a.b+c@example.co.uk", ""},
		{"٠٥٠١٢٣٤٥٦٧", "用户@例子.广告", ""},
		{"n/a", "ada", "/phone invalid_phone, /email invalid_email"},
		{"", "@example.com", "/email invalid_email"},
		{"", "ada@", "/email invalid_email"},
		{"", "ada lovelace@example.com", "/email invalid_email"},
	} {
		in := office()
		in.Phone, in.Email = c.phone, c.email
		if _, errs := in.Normalize(""); codes(errs) != c.want {
			t.Errorf("%q %q: %s; want %s", c.phone, c.email, codes(errs), c.want)
		}
	}
}

func TestAnAddressKeepsTheNamesOfTheSpecification(t *testing.T) {
	got, err := json.Marshal(Address{Name: "a", Address1: "b", City: "c", State: "d", Zip: "e", Country: "f"})
	if want := `{"name":"a","address1":"b","city":"c","state":"d","zip":"e","country":"f"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestATypicalAddressIsCheap(t *testing.T) {
	in := office()
	if n := testing.AllocsPerRun(100, func() { in.Normalize("/destination") }); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzAddress(f *testing.F) {
	f.Add("Ada", "CA", "94105", "US", "+1 415 555 0100", "ada@example.com", uint8(0))
	f.Add("山田", "東京都", "〒１００－０００１", "jp", "", "", uint8(0))
	f.Add("a\u202eb", "US-", "D-10115", "de", "x", "@", uint8(0))
	f.Add(" a\u00a0 b ", "gb-eng", "sw1a1aa", "GB", "", "", uint8(0))
	f.Add("", "newfoundland", "k1a0b1", "CA", "", "", uint8(0))
	f.Add("x", "", "AD AD500", "", "", "", uint8(1))
	f.Add("x", "Tokyo", "100-0001", "", "", "", uint8(113))
	all := address.GetCountryCodes()
	f.Fuzz(func(t *testing.T, text, state, zip, country, phone, email string, which uint8) {
		if country == "" {
			country = all[int(which)%len(all)]
		}
		in := Address{
			Name: text, Company: text, Address1: text, Address2: text, Address3: text, City: text,
			State: state, Zip: zip, Country: country, Phone: phone, Email: email,
		}
		once, errs := in.Normalize("/a")
		twice, _ := once.Normalize("/a")
		if once != twice {
			t.Errorf("twice gives %#v, once %#v", twice, once)
		}
		for i := range reflect.TypeFor[Address]().NumField() {
			if s, ok := reflect.ValueOf(once).Field(i).Interface().(string); ok && strings.ContainsFunc(s, unicode.IsControl) {
				t.Errorf("a control character is kept: %+q", s)
			}
		}
		if _, again := once.Normalize("/a"); len(errs) == 0 && len(again) != 0 {
			t.Errorf("a good address turned bad: %v", again)
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	spelled := place("GB", "", "sw1a1aa")
	named := office()
	named.State, named.Zip = "California", "941051804"
	bad := office()
	bad.State, bad.Country = "Californa", "Untied States"
	worst := place(strings.Repeat("n", 60), "", "")
	for name, in := range map[string]Address{
		"US": office(), "DE": place("DE", "", "10115"), "GB spelled": spelled, "US by name": named, "bad": bad, "bad and long": worst,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				in.Normalize("/destination")
			}
		})
	}
}
