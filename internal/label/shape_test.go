package label

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// needCJK skips a test where Debian's fonts-noto-cjk is not installed, but not
// in the gate.
func needCJK(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(defaultFontDir, cjkRegularFile)); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("fonts-noto-cjk is not installed")
	}
}

func TestEveryScriptHasItsGlyphs(t *testing.T) {
	needCJK(t)
	for name, lines := range scripts {
		p := latin["dhl"]
		p.To, p.From = lines, lines
		for _, o := range []Options{{Format: PNG}, {Format: PNG, DPI: 300}, {Format: PDF}, {Format: ZPL}} {
			out := render(t, oneOf(p), o)
			show(t, "script-"+name+"."+string(o.Format), out.Data)
			if len(out.Missing) > 0 {
				t.Errorf("%s as %s lacks %q", name, o.Format, string(out.Missing))
			}
		}
	}
	show(t, "scripts-203.png", render(t, worldly(), Options{Format: PNG}).Data)
	show(t, "scripts-300.png", render(t, worldly(), Options{Format: PNG, DPI: 300}).Data)
	show(t, "scripts.pdf", render(t, worldly(), Options{}).Data)
	show(t, "scripts-203.zpl", render(t, worldly(), Options{Format: ZPL}).Data)
	show(t, "scripts-300.zpl", render(t, worldly(), Options{Format: ZPL, DPI: 300}).Data)
}

// visual lists the characters of s from left to right, one for each cluster
// of glyphs.
func visual(t *testing.T, s string) string {
	t.Helper()
	ts := newTypesetter(newFontCache(defaultFontDir))
	runes := []rune(s)
	var out []rune
	for _, run := range ts.shape(text{content: s, size: 20}).runs {
		for _, g := range run.glyphs {
			out = append(out, runes[g.TextIndex()])
		}
	}
	return string(out)
}

func reversed(s string) string {
	r := []rune(s)
	slices.Reverse(r)
	return string(r)
}

// TestRightToLeftTextStandsInVisualOrder writes Hebrew letters as capitals: H
// is a word, h the same word from its end.
func TestRightToLeftTextStandsInVisualOrder(t *testing.T) {
	const word = "הרצל"
	for _, tc := range []struct{ logical, visual string }{
		{"abc 123", "abc 123"},
		{"H", "h"},
		{"H H", "h h"},
		{"H 12, H", "h ,12 h"}, // numbers run left to right inside a right-to-left line
		{"123 H", "h 123"},
		{"H abc 45", "abc 45 h"},
		{"H 12-14 abc", "abc 12-14 h"},
		{"abc H", "abc h"},
		{"abc 12 H", "abc 12 h"},
		{"abc H def", "abc h def"},
		{"abc H 12 def", "abc 12 h def"}, // the number goes with the word it follows
		{"abc H 12def", "abc 12 hdef"},
		{"abc H 12-14, 5 def H 7", "abc 5 ,12-14 h def 7 h"},
		{"abc ١٢ H", "abc h ١٢"},
		{"(H) abc", "abc (h)"},
	} {
		expand := strings.NewReplacer("H", word, "h", reversed(word)).Replace
		want := expand(tc.visual)
		if tc.visual == "abc (h)" {
			want = "abc )" + reversed(word) + "(" // the characters, before they are mirrored
		}
		if got := visual(t, expand(tc.logical)); got != want {
			t.Errorf("%q stands as %+q, want %+q", tc.logical, got, want)
		}
	}
}

func glyphIDs(s string, like text) []uint32 {
	like.content, like.size = s, 20
	var out []uint32
	for _, run := range newTypesetter(newFontCache(defaultFontDir)).shape(like).runs {
		for _, g := range run.glyphs {
			out = append(out, uint32(g.GlyphID))
		}
	}
	return out
}

func TestArabicLettersAreJoined(t *testing.T) {
	word, letter := glyphIDs("ببب", text{}), glyphIDs("ب", text{})
	if len(word) != 3 || slices.Contains(word, letter[0]) {
		t.Errorf("the letters of a word %v have the shape of the letter alone %v", word, letter)
	}
}

func TestIdeographsFollowTheLanguageOfTheAddress(t *testing.T) {
	needCJK(t)
	if got := languageOf(nil, []string{"Acme", "直ひ"}); got != "ja" {
		t.Errorf("kana: %s", got)
	}
	if got := languageOf([]string{"직 直"}, []string{"ひ"}); got != "ko" {
		t.Errorf("Hangul: %s", got)
	}
	japanese, chinese := glyphIDs("直", text{language: "ja"}), glyphIDs("直", text{language: "zh-hans"})
	if slices.Equal(japanese, chinese) {
		t.Error("the ideograph looks the same in Japanese and in Chinese")
	}
}

func TestTextIsMadePrintable(t *testing.T) {
	for in, want := range map[string]string{
		"  plain ":               "plain",
		"tab\tand\nbreak\r\n":    "tab and break",
		"nul\x00bell\a":          "nulbell",
		"\u202egpj.exe\u202c":    "gpj.exe",
		"bad \xff\xfe bytes":     "bad \ufffd\ufffd bytes",
		"می\u200cخواهم":          "می\u200cخواهم",
		strings.Repeat("é", 400): strings.Repeat("é", maxRunes),
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestNumbersAreGroupedForReading(t *testing.T) {
	for in, want := range map[string]string{
		"1Z999AA10123456784":     "1Z 999 AA1 01 2345 6784",
		"9400111899223197428210": "9400 1118 9922 3197 4282 10",
		"1234567890":             "1234 5678 90",
		"12345":                  "12345",
		"AB 12 CD 34 EF":         "AB 12 CD 34 EF",
	} {
		if got := groupDigits(in); got != want {
			t.Errorf("grouped(%q) = %q, want %q", in, got, want)
		}
	}
}
