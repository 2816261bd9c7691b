package carriertest

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMutants compares the changes to requests of each encoding with what they
// must be. A change that does nothing would count as one that is accepted.
func TestMutants(t *testing.T) {
	t.Parallel()
	today := time.Now().UTC()
	later := today.AddDate(0, 0, 400).Format(time.DateOnly)
	day := today.Format(time.DateOnly)

	for name, tc := range map[string]struct {
		request recordedRequest
		want    map[string]string // by name and kind
		all     []string
	}{
		"JSON": {
			recordedRequest{body: []byte(`{"a":{"Code":"PDF","list":[{"d":"` + day + `T10:00"},{"d":"x"}]},"n":1}`)},
			map[string]string{
				"a rename":        `{"aQ":{"Code":"PDF","list":[{"d":"` + day + `T10:00"},{"d":"x"}]},"n":1}`,
				"a.Code case":     `{"a":{"code":"PDF","list":[{"d":"` + day + `T10:00"},{"d":"x"}]},"n":1}`,
				"a.Code code":     `{"a":{"Code":"PDFZ","list":[{"d":"` + day + `T10:00"},{"d":"x"}]},"n":1}`,
				"a.list.d future": `{"a":{"Code":"PDF","list":[{"d":"` + later + `T10:00"},{"d":"x"}]},"n":1}`,
				"n drop":          `{"a":{"Code":"PDF","list":[{"d":"` + day + `T10:00"},{"d":"x"}]}}`,
			},
			strings.Fields("a:rename,drop,case a.Code:rename,drop,case,code a.list:rename,drop,case a.list.d:rename,drop,case,future,past n:rename,drop,case"),
		},
		"XML": {
			recordedRequest{body: []byte(`<r xmlns="u"><a><cc>DE</cc></a><b>EUR</b><b>USD</b></r>`)},
			map[string]string{
				"a.cc code":  `<r xmlns="u"><a><cc>ZZ</cc></a><b>EUR</b><b>USD</b></r>`,
				"a.cc case":  `<r xmlns="u"><a><Cc>DE</Cc></a><b>EUR</b><b>USD</b></r>`,
				"a drop":     `<r xmlns="u"><b>EUR</b><b>USD</b></r>`,
				"b currency": `<r xmlns="u"><a><cc>DE</cc></a><b>JPY</b><b>USD</b></r>`,
				"b rename":   `<r xmlns="u"><a><cc>DE</cc></a><bQ>EUR</bQ><b>USD</b></r>`,
			},
			strings.Fields("a:rename,drop,case a.cc:rename,drop,case,code b:rename,drop,case,currency"),
		},
		"form": {
			recordedRequest{body: []byte("a=12&b=x"), contentType: "application/x-www-form-urlencoded"},
			map[string]string{"a code": "a=99&b=x", "b drop": "a=12", "b case": "B=x&a=12"},
			strings.Fields("a:rename,drop,case,code b:rename,drop,case"),
		},
	} {
		var all []string
		kinds := map[string][]string{}
		changed := map[string]bool{}
		for _, m := range tc.request.mutations() {
			if kinds[m.name] == nil {
				all = append(all, m.name)
			}
			kinds[m.name] = append(kinds[m.name], m.kind)

			got := string(tc.request.mutate(m))
			if got == string(tc.request.body) {
				t.Errorf("%s: %s %s changes nothing", name, m.name, m.kind)
			}
			if want, ok := tc.want[m.name+" "+m.kind]; ok {
				changed[m.name+" "+m.kind] = true
				if got != want {
					t.Errorf("%s: %s %s gives %s, want %s", name, m.name, m.kind, got, want)
				}
			}
		}
		for i, member := range all {
			all[i] = member + ":" + strings.Join(kinds[member], ",")
		}
		if !slices.Equal(all, tc.all) || len(changed) != len(tc.want) {
			t.Errorf("%s: the changes are %v, want %v", name, all, tc.all)
		}
	}
}
