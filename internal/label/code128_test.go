package label

import (
	"strings"
	"testing"

	"github.com/boombuler/barcode/code128"
	"pgregory.net/rapid"
)

// modulesOf draws the symbol as text, a digit a module.
func modulesOf(s symbol) string {
	out := []byte(strings.Repeat("0", s.modules()))
	s.bars(func(at, width int) {
		for i := range width {
			out[at+i] = '1'
		}
	})
	return string(out)
}

// content reads code words back, as a scanner does.
func content(t interface{ Fatalf(string, ...any) }, s symbol) string {
	if got := checkCharacter(s[:len(s)-1]); got != s[len(s)-1] {
		t.Fatalf("check character %d, want %d", s[len(s)-1], got)
	}
	var out strings.Builder
	inC := s[0] == startC
	for _, w := range s[1 : len(s)-1] {
		switch {
		case w == fnc1:
			out.WriteRune(fnc1Rune)
		case inC && w == codeB, !inC && w == codeC:
			inC = !inC
		case inC && w < 100:
			out.WriteByte('0' + w/10)
			out.WriteByte('0' + w%10)
		case !inC && w < 95:
			out.WriteByte(w + ' ')
		default:
			t.Fatalf("word %d in set C: %v", w, inC)
		}
	}
	return out.String()
}

func TestEverySymbolReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.StringMatching(`[0-9A-Z ñ~^>-]{1,4}([0-9]{0,9}[A-Zñ]?){0,4}`).Draw(t, "content")
		s, err := encode128(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := content(t, s); got != want {
			t.Fatalf("read %q, want %q: %v", got, want, s)
		}
		other, err := code128.Encode(want)
		if err != nil {
			t.Fatal(err)
		}
		if s.modules() > other.Bounds().Dx() {
			t.Fatalf("%q: %d modules, another encoder needs %d", want, s.modules(), other.Bounds().Dx())
		}
	})
}

// TestSymbolsAreThoseOfAnotherEncoder compares bar by bar where there is only
// one sensible choice of code words.
func TestSymbolsAreThoseOfAnotherEncoder(t *testing.T) {
	for _, text := range []string{"9400111899223197428210", "794612345678", "1234567890", "ABC-abc", "~^>", "ñ420627049400111899223197428210"} {
		s, err := encode128(text)
		if err != nil {
			t.Fatal(err)
		}
		other, err := code128.Encode(text)
		if err != nil {
			t.Fatal(err)
		}
		var want strings.Builder
		for x := range other.Bounds().Dx() {
			if r, _, _, _ := other.At(x, 0).RGBA(); r == 0 {
				want.WriteByte('1')
			} else {
				want.WriteByte('0')
			}
		}
		if got := modulesOf(s); got != want.String() {
			t.Errorf("%q:\n%s, want\n%s", text, got, want.String())
		}
	}
}
