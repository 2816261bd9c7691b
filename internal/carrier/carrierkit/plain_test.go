package carrierkit

import (
	"encoding/json"
	"testing"
)

func FuzzPlainReadsWhatADecoderReads(f *testing.F) {
	for _, s := range []string{`"a"`, `""`, `"`, `" a b "`, `"a\n"`, `"ä"`, `1`, `null`, `"a" "b"`, "\"\x7f\"", "\"\x00\"", `"a`, ``} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		text, ok := Plain(value)
		if !ok {
			return
		}
		var s string
		if err := json.Unmarshal(value, &s); err != nil || s != string(text) {
			t.Errorf("%q is read as %q, by a decoder as %q, %v", value, text, s, err)
		}
	})
}
