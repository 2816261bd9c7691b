package httpkit

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestParseJSONRefusesWhatReadersUnderstandDifferently(t *testing.T) {
	deep := strings.Repeat("[", 33) + strings.Repeat("]", 33)
	for _, tc := range []struct{ name, src, code, pointer string }{
		{"repeated name", `{"a":1,"b":{"x":1,"x":2}}`, "duplicate_name", "/b/x"},
		{"names that differ in case", `{"orderId":1,"ORDERID":2}`, "duplicate_name", "/orderId"},
		{"names that differ in an escape", `{"a":1,"\u0061":2}`, "duplicate_name", "/a"},
		{"names that fold outside of ASCII", `{"k":1,"K":2}`, "duplicate_name", "/k"},
		{"depth", deep, "too_deep", strings.Repeat("/0", 32)},
		{"broken UTF-8", "{\"a\":[1,\"\xff\"]}", "invalid_utf8", "/a/1"},
		{"overlong UTF-8", "[\"\xc0\x80\"]", "invalid_utf8", "/0"},
		{"lone surrogate", `{"a":"\ud800"}`, "lone_surrogate", "/a"},
		{"surrogates in the wrong order", `{"a":"\udc00\ud800"}`, "lone_surrogate", "/a"},
		{"NUL", `{"a":"x\u0000"}`, "nul_character", "/a"},
		{"bare control character", "{\"a\":\"\x01\"}", "syntax", "/a"},
		{"trailing data", `{"a":1} {}`, "trailing_data", ""},
		{"trailing comma", `{"a":1,}`, "syntax", ""},
		{"trailing comma in a list", `[1,]`, "syntax", "/1"},
		{"no value", ``, "syntax", ""},
		{"no end", `{"a":`, "syntax", "/a"},
		{"leading zero", `{"a":01}`, "syntax", ""},
		{"leading plus", `{"a":+1}`, "syntax", "/a"},
		{"no digit after the point", `{"a":1.}`, "syntax", "/a"},
		{"not a number", `{"a":NaN}`, "syntax", "/a"},
		{"too large a number", `{"a/b~":1e999}`, "number_out_of_range", "/a~1b~0"},
		{"byte order mark", "\xef\xbb\xbf{}", "syntax", ""},
		{"comment", `{/**/}`, "syntax", ""},
		{"too many members", `{"x":{` + members(513) + `}}`, "too_many_members", "/x"},
		{"too many values", `[` + strings.Repeat("0,", 10_000) + `0]`, "too_many_values", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseJSON([]byte(tc.src))
			e, ok := errors.AsType[*ship.Error](err)
			code := "malformed_json"
			if tc.code == "nul_character" {
				code = "validation_failed" // it is valid JSON
			}
			if !ok || e.Kind != ship.Invalid || e.Code != code {
				t.Fatalf("err = %v, want %s", err, code)
			}
			if f := e.Fields[0]; f.Code != tc.code || f.Pointer != tc.pointer {
				t.Errorf("%s at %q, want %s at %q", f.Code, f.Pointer, tc.code, tc.pointer)
			}
		})
	}
}

func members(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"m` + string(rune('A'+i/26%26)) + string(rune('0'+i%26)) + string(rune('0'+i/676)) + `":1`)
	}
	return b.String()
}

func TestParseJSONKeepsWhatItRead(t *testing.T) {
	src := ` {"a":"x\n\u00e9","b":[1,-2.5e3,true,false,null],"\u0063":{}} `
	tape, err := ParseJSON([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	defer tape.Release()
	if tape.Node(0).Kind != Object || tape.Len(0) != 3 {
		t.Fatalf("root %v with %d members", tape.Node(0).Kind, tape.Len(0))
	}
	a := tape.First(0)
	b := tape.Next(a)
	c := tape.Next(b)
	if string(tape.Name(a)) != "a" || string(tape.Text(a)) != "x\né" || tape.Node(a).Runes != 3 {
		t.Errorf("a = %q %q, %d characters", tape.Name(a), tape.Text(a), tape.Node(a).Runes)
	}
	if tape.Node(b).Kind != Array || tape.Len(b) != 5 || string(tape.Text(tape.Next(tape.First(b)))) != "-2.5e3" {
		t.Errorf("b is not as written")
	}
	if string(tape.Name(c)) != "c" || tape.Node(c).Kind != Object || tape.Len(c) != 0 {
		t.Errorf("c = %q", tape.Name(c))
	}
}

const sampleBody = `{"orderId":"ORD-1001","destination":{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US","phone":"+1 512 555 0100","residential":true},
 "origin":{"name":"Warehouse 7","company":"Acme","address1":"1 Dock Road","city":"Louisville","state":"KY","zip":"40201","country":"US"},
 "parcels":[{"weight":4.2,"weightUnit":"lb","dimensions":{"length":12,"width":9,"height":4,"unit":"in"}},{"weight":1.5,"dimensions":{"length":8,"width":6,"height":4}}],
 "metadata":{"channel":"web","campaign":"spring","picker":"j.doe","note":"fragile, handle with care"},"options":{"signature":"adult","insuredValue":{"amount":"120.00","currency":"USD"}},
 "customs":{"contentsType":"merchandise","items":[{"description":"Cotton shirt","quantity":2,"value":{"amount":"30.00","currency":"USD"},"weight":0.4,"hsCode":"610910","originCountry":"PT"}]},"labelFormat":"zpl","reference":"PO-99812"}`

func BenchmarkParseJSON(b *testing.B) {
	src := []byte(sampleBody)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		tape, err := ParseJSON(src)
		if err != nil {
			b.Fatal(err)
		}
		tape.Release()
	}
}

func BenchmarkFingerprint(b *testing.B) {
	tape, err := ParseJSON([]byte(sampleBody))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Fingerprint("POST", "/v1/shipments", tape)
	}
}

// FuzzStrictJSON holds ParseJSON to encoding/json: what it accepts, that
// accepts too, with the same values; what it refuses as bad syntax, that
// refuses too.
func FuzzStrictJSON(f *testing.F) {
	for _, s := range []string{sampleBody, `{}`, `[]`, `"\ud83d\ude00"`, `-0.0e-1`, `{"a":{"b":[null,true]}}`, `{"k":1,"K":2}`, "\"\xf0\x9f\x98\x80\"", `{"a":1e999}`, `[1,]`, `"\u0000"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tape, err := ParseJSON(src)
		if err != nil {
			e, _ := errors.AsType[*ship.Error](err)
			if e.Fields[0].Code == "syntax" && json.Valid(src) {
				t.Fatalf("refused as %q, but it is valid: %q", e.Fields[0].Detail, src)
			}
			return
		}
		var v any
		if err := json.Unmarshal(src, &v); err != nil {
			t.Fatalf("accepted %q, but encoding/json says %v", src, err)
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var again any
		if err := json.Unmarshal(tape.AppendCanonical(nil), &again); err != nil {
			t.Fatalf("canonical form %q of %q: %v", tape.AppendCanonical(nil), src, err)
		}
		got, _ := json.Marshal(again)
		if string(got) != string(want) {
			t.Fatalf("canonical form of %q is %s, want %s", src, got, want)
		}
		tape.Release()
	})
}
