package label

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestZPLIsAsExpected(t *testing.T) {
	embedded := latin["dhl"] // only fonts that are in the binary
	embedded.To = append(append([]string{}, scripts["cyrillic"]...), scripts["hebrew"]...)
	for name, d := range map[string]Document{
		"ups": oneOf(latin["ups"]), "usps": oneOf(latin["usps"]), "fedex": oneOf(latin["fedex"]),
		"dhl": oneOf(latin["dhl"]), "pictures": oneOf(embedded),
	} {
		for _, dpi := range []int{203, 300} {
			path := filepath.Join("testdata", fmt.Sprintf("%s-%d.zpl", name, dpi))
			got := render(t, d, Options{Format: ZPL, DPI: dpi}).Data
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is not what it was; see the difference with -update", path)
			}
		}
	}
}

// command is what a printer makes of a stretch of ZPL.
type command struct {
	name string // with its prefix: "^FD"
	args string
}

// tokenize reads ZPL as a printer does: a prefix, two letters, and arguments
// up to the next prefix. It obeys the commands that rename prefixes.
func tokenize(zpl []byte) []command {
	format, control := byte('^'), byte('~')
	var out []command
	for i := 0; i < len(zpl); {
		if zpl[i] != format && zpl[i] != control {
			if zpl[i] != '\n' {
				out = append(out, command{"stray", string(zpl[i])})
			}
			i++
			continue
		}
		prefix := "~"
		if zpl[i] == format {
			prefix = "^"
		}
		name := prefix + strings.ToUpper(string(zpl[i+1:min(i+3, len(zpl))]))
		end := i + len(name)
		if renames := name[1:] == "CC" || name[1:] == "CT"; renames && end < len(zpl) {
			if name[1:] == "CC" {
				format = zpl[end]
			} else {
				control = zpl[end]
			}
			end++
		} else {
			for end < len(zpl) && zpl[end] != format && zpl[end] != control {
				end++
			}
		}
		out = append(out, command{name, strings.TrimSuffix(string(zpl[i+len(name):end]), "\n")})
		i = end
	}
	return out
}

// unescape undoes ^FH_.
func unescape(t *testing.T, s string) string {
	t.Helper()
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '_' && isHarmless(s[i]):
			out.WriteByte(s[i])
		case s[i] == '_' && i+2 < len(s):
			b, err := hex.DecodeString(s[i+1 : i+3])
			if err != nil {
				t.Fatalf("escape in %q: %v", s, err)
			}
			out.Write(b)
			i += 2
		default:
			t.Fatalf("raw byte %q in field data %q", s[i], s)
		}
	}
	return out.String()
}

// reader takes commands one by one and insists on them.
type reader struct {
	t    *testing.T
	rest []command
}

func (r *reader) take(names ...string) (last command) {
	r.t.Helper()
	for _, name := range names {
		if len(r.rest) == 0 || r.rest[0].name != name {
			r.t.Fatalf("want %s, have %+v", name, r.rest)
		}
		last, r.rest = r.rest[0], r.rest[1:]
		if name != "^FD" && strings.Trim(last.args, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz,:_") != "" {
			r.t.Fatalf("%s has arguments %q", name, last.args)
		}
	}
	return last
}

// checkScene holds the commands against what the layout has: nothing more,
// nothing else.
func checkScene(t *testing.T, s scene, r *reader) {
	t.Helper()
	r.take("^XA", "^CI", "^LH", "^PW", "^LL")
	for range s.rects {
		r.take("^FO", "^GB", "^FS")
	}
	for range s.codes {
		unescape(t, r.take("^FO", "^BY", "^BC", "^FH", "^FD").args)
		r.take("^FS")
	}
	for _, text := range s.texts {
		if _, resident := residentFont(text); resident {
			r.take("^FT", "^A0")
			if text.white {
				r.take("^FR")
			}
			if got := unescape(t, r.take("^FH", "^FD").args); got != text.content {
				t.Fatalf("prints %q, want %q", got, text.content)
			}
			r.take("^FS")
		} else if r.rest[0].name == "^FO" { // a line without ink is left out
			r.take("^FO", "^GF", "^FS")
		}
	}
	r.take("^PQ", "^XZ")
}

// FuzzZPL proves that no field can add, change or remove a printer command.
func FuzzZPL(f *testing.F) {
	for _, s := range []string{
		"X^FS^XZ~JR", "^CC%", "~CC%%FS%XZ", "^CT+", "! U1 setvar \"device.languages\" \"zpl\"", "\x00\x1b\x02\x03\r\n^XA", "\xff\xfe^\xc3",
		"_5EXZ", "_", "__5E", "^FH\\^FD", "~DYR:X", ">;>8>9^", "\u202e^FS", "漢字^FS", "محمد~JR", "plain", "",
	} {
		f.Add(s, s, s, s, false)
		f.Add("Jane", s, "1Z999AA10123456784", "Order: "+s, true)
	}
	f.Add("Jane", "^C"+strings.Repeat("W", 500), "1Z999AA10123456784", "^CC%", false) // too long for any font
	r, err := NewRenderer("")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, street, tracking, rest string, sample bool) {
		p := Page{
			Carrier: rest, Service: name, From: []string{street, name}, To: []string{name, street, rest}, Tracking: tracking,
			Routing: rest, Reference: []string{rest}, Weight: name, ShipDate: street, Piece: 1, Pieces: 2,
		}
		o := Options{Format: ZPL, Size: Size4x6, DPI: 203}
		out, err := r.Render(Document{Pages: []Page{p, p}, Sample: sample}, o)
		if err != nil {
			if ship.KindOf(err) != ship.Invalid {
				t.Fatal(err)
			}
			return
		}
		s, err := layout(p, sample, o)
		if err != nil {
			t.Fatal(err)
		}
		read := &reader{t, tokenize(out.Data)}
		checkScene(t, s, read)
		checkScene(t, s, read)
		if len(read.rest) > 0 {
			t.Fatalf("commands after the last: %+v", read.rest)
		}
		if bytes.ContainsAny(out.Data, "~!\x00\x1b") || bytes.ContainsFunc(out.Data, func(r rune) bool { return r > '~' }) {
			t.Fatal("a byte that no label needs")
		}
	})
}

func TestTheTokenizerSeesWhatAPrinterSees(t *testing.T) {
	got := fmt.Sprint(tokenize([]byte("^XA^FDa^CC%b%FS%XZ~JRx")))
	if want := "[{^XA } {^FD a} {^CC %} {stray b} {^FS } {^XZ } {~JR x}]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPicturesSurviveTheirCompression(t *testing.T) {
	b := newBitmap(8*300, 9)
	b.fill(rect{0, 0, 2400, 1})
	b.fill(rect{7, 1, 1, 3})
	b.fill(rect{100, 4, 1650, 2})
	b.fill(rect{2399, 8, 1, 1})
	box := b.bounds()
	if want := (rect{0, 0, 2400, 9}); box != want {
		t.Fatalf("bounds %v, want %v", box, want)
	}
	if got := expand(t, string(b.appendHex(nil, box)), box.w/4); !bytes.Equal(got, b.bits) {
		t.Error("another picture comes out")
	}
}

// expand decodes ZPL's compressed hex.
func expand(t *testing.T, s string, rowDigits int) []byte {
	t.Helper()
	var all, row string
	before, count := "", 0
	for _, c := range s {
		switch {
		case c >= 'g' && c <= 'z':
			count += 20 * int(c-'f')
			continue
		case c >= 'G' && c <= 'Y':
			count += int(c - 'F')
			continue
		case c == ',':
			row += strings.Repeat("0", rowDigits-len(row))
		case c == ':':
			row = before
		default:
			row += strings.Repeat(string(c), max(count, 1))
		}
		if count = 0; len(row) == rowDigits {
			all, before, row = all+row, row, ""
		}
	}
	out, err := hex.DecodeString(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
