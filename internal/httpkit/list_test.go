package httpkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
)

// readList reads a body to its end, with values of at most 100 bytes.
func readList(kind, body string) (values []string, err error) {
	r := httptest.NewRequest("POST", "/", iotest.HalfReader(strings.NewReader(body)))
	r.ContentLength = -1
	r.Header.Set("Content-Type", kind)
	list, err := OpenList(httptest.NewRecorder(), r, 1000, 100, "shipments")
	if err != nil {
		return nil, err
	}
	for {
		text, err := list.Next()
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return values, err
		}
		document, err := ParseJSON(text)
		if err != nil {
			return values, list.Malformed(err)
		}
		values = append(values, string(document.AppendCanonical(nil)))
		document.Release()
	}
}

// TestAListIsReadAsTheWholeBodyWouldBe compares the reader with one that has the
// whole body: they accept the same texts, and find the same values.
func TestAListIsReadAsTheWholeBodyWouldBe(t *testing.T) {
	t.Parallel()
	for _, list := range []string{
		``, ` `, `1`, `1,2`, `{"a":1},{"b":[2,{"c":"]}"}]}`, `"a,b","]","\"","\\"`, "\n{\n\"a\"\n:\n1\n}\n,\nnull\n,true", `[],[[]],{}`, `"é","\u00e9","😀"`,
		`,`, `1,`, `,1`, `1 2`, `1,,2`, `{`, `}`, `]`, `[`, `"`, `"\"`, `{"a":1}}`, `{"a":1}]`, `[1}`, `{]`, `tru`, `01`, `1]`, `{"a":1,"A":2}`, "\"\n\"", "\"\xff\"", `1/**/`,
	} {
		for _, format := range []string{`{"shipments":[%s]}`, " {\t\"shipments\"\r\n:\n [%s\n]\n} \n"} {
			body := fmt.Sprintf(format, list)
			got, err := readList("application/json", body)

			want, wanted := wholeList(body)
			if (err == nil) != (wanted == nil) || err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q: %v %v, want %v %v", body, got, err, want, wanted)
			}
		}
	}
}

// wholeList reads the list of a body that is parsed as a whole.
func wholeList(body string) ([]string, error) {
	document, err := ParseJSON([]byte(body))
	if err != nil {
		return nil, err
	}
	document.Release()

	var in struct{ Shipments []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &in); err != nil {
		return nil, err
	}
	var values []string
	for _, text := range in.Shipments {
		element, err := ParseJSON(text)
		if err != nil {
			return nil, err
		}
		values = append(values, string(element.AppendCanonical(nil)))
		element.Release()
	}
	return values, nil
}

func TestLinesAreReadOneByOne(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"1\n2":                                 "[1 2]",
		"1\r\n\r\n 2 \n\n":                     "[1 2]",
		"{\"a\" :1}\n[ ]":                      `[{"a":1} []]`,
		"1\n{\n}":                              "line 2",
		"1\n\n\n2 3":                           "line 4",
		"\ufeff1":                              "line 1",
		"1\n" + strings.Repeat(" ", 100) + "1": "item 2",
		strings.Repeat(strings.Repeat(" ", 90)+"1\n", 30): "1000 bytes",
	} {
		got, err := readList(NDJSON+"; charset=UTF-8", body)
		shown := fmt.Sprint(got)
		if err != nil {
			shown = err.Error()
		}
		if !strings.Contains(shown, want) {
			t.Errorf("%q is %s, want %s", body, shown, want)
		}
	}
}

// FuzzList holds that no body is read in another way than as a whole.
func FuzzList(f *testing.F) {
	f.Add(`{"shipments":[{"a":"]"},[2],"x",null]}`)
	f.Add("{\"shipments\" :[\n1 ,2]\n}")
	f.Fuzz(func(t *testing.T, body string) {
		if len(body) > 90 || bytes.HasPrefix([]byte(body), []byte("\ufeff")) {
			return
		}
		got, err := readList("application/json", body)
		if err != nil {
			return
		}
		want, err := wholeList(body)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %v, as a whole %v %v", body, got, want, err)
		}
	})
}
