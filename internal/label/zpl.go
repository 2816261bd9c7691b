package label

import (
	"bytes"
	"math"
	"strconv"
)

// writeZPL writes a label format for each scene.
//
// Field data comes from strangers, so it never reaches the printer as it is:
// each field is introduced by ^FH_ and every byte outside a short list of
// harmless ones is written as _XX, which no parser takes for a command, even
// after the command prefix was renamed. Text that the printer's own font may
// lack is sent as a picture.
func writeZPL(scenes []scene, p *pen) []byte {
	b := make([]byte, 0, 2048)
	for _, s := range scenes {
		b = append(b, "^XA^CI28^LH0,0^PW"...)
		b = strconv.AppendInt(b, int64(s.width), 10)
		b = append(b, "^LL"...)
		b = strconv.AppendInt(b, int64(s.height), 10)
		b = append(b, '\n')
		for _, r := range s.rects {
			b = appendBox(b, r)
		}
		for _, c := range s.codes {
			b = appendCode(b, c)
		}
		for _, t := range s.texts {
			b = appendText(b, t, p)
		}
		b = append(b, "^PQ1^XZ\n"...)
	}
	return b
}

func appendBox(b []byte, r rect) []byte {
	b = appendInts(append(b, "^FO"...), r.x, r.y)
	b = appendInts(append(b, "^GB"...), r.w, r.h, min(r.w, r.h))
	return append(b, "^FS\n"...)
}

// appendCode has the printer draw the symbol.
//
// Letters that turn to digits midway are left to its automatic mode, which
// packs them the same way and which every printer gets right. Otherwise the
// code words are named one by one, and it is the very symbol that the other
// formats have.
func appendCode(b []byte, c code) []byte {
	b = appendInts(append(b, "^FO"...), c.x, c.y)
	b = appendInts(append(b, "^BY"...), c.module)
	b = appendInts(append(b, "^BCN,"...), c.height)
	if bytes.IndexByte(c.symbol, codeC) > 0 && isAlphanumeric(c.content) {
		b = append(b, ",N,N,N,A^FH_^FD"...)
		b = appendData(b, c.content)
	} else {
		b = append(b, ",N,N,N,N^FH_^FD"...)
		b = appendWords(b, c.symbol[:len(c.symbol)-1]) // the printer adds the check character
	}
	return append(b, "^FS\n"...)
}

// appendWords names code words the way ^BC wants them: text in set B, pairs
// of digits in set C, and two characters that begin with > for the rest.
func appendWords(b []byte, words symbol) []byte {
	inC := false
	for i, word := range words {
		switch {
		case i == 0 && word == startC:
			b, inC = appendData(b, ">;"), true
		case i == 0:
			b = appendData(b, ">:")
		case word == fnc1:
			b = appendData(b, ">8")
		case inC && word == codeB:
			b, inC = appendData(b, ">6"), false
		case !inC && word == codeC:
			b, inC = appendData(b, ">5"), true
		case inC:
			b = append(b, '0'+word/10, '0'+word%10)
		case word == '>'-' ':
			b = appendData(b, ">0")
		case word == '^'-' ':
			b = appendData(b, "><")
		case word == '~'-' ':
			b = appendData(b, ">=")
		default:
			b = appendData(b, string(rune(word+' ')))
		}
	}
	return b
}

func isAlphanumeric(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// appendText uses the resident font where it has every letter and may be
// narrowed enough, else it draws the line.
func appendText(b []byte, t text, p *pen) []byte {
	width, ok := residentWidth(t.s)
	if !ok {
		return appendPicture(b, t, p)
	}
	at := t.fit(width * residentSize)
	w, h := int(at.sx*residentSize), int(math.Round(at.sy*residentSize))
	if w < residentLeast || h < residentLeast {
		return appendPicture(b, t, p)
	}
	b = appendInts(append(b, "^FT"...), int(at.x), int(math.Round(at.y)))
	b = appendInts(append(b, "^A0N,"...), h, w)
	if t.white {
		b = append(b, "^FR"...)
	}
	b = append(b, "^FH_^FD"...)
	b = appendData(b, t.s)
	return append(b, "^FS\n"...)
}

const hexDigits = "0123456789ABCDEF"

// appendData escapes field data.
func appendData(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; isHarmless(c) {
			b = append(b, c)
		} else {
			b = append(b, '_', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return b
}

// isHarmless lists what no ZPL parser gives a meaning, in field data or out
// of it.
func isHarmless(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		return true
	}
	switch c {
	case ' ', '.', ',', '/', '#', '&', '(', ')', '+', ':', ';', '\'', '"', '-':
		return true
	}
	return false
}

// appendPicture draws the line as a bitmap.
func appendPicture(b []byte, t text, p *pen) []byte {
	pic := newBitmap(t.width+2*t.size, t.size*9/4)
	at := t
	at.x, at.y, at.white = t.size/2, t.size*3/2, false
	pic.draw(at, p)
	box := pic.bounds()
	if box.w == 0 {
		return b
	}
	x, y := t.x-t.size/2+box.x, t.y-t.size*3/2+box.y
	b = appendInts(append(b, "^FO"...), max(x, 0), max(y, 0))
	if t.white {
		b = append(b, "^FR"...)
	}
	row := (box.w + 7) / 8
	b = appendInts(append(b, "^GFA,"...), row*box.h, row*box.h, row)
	b = append(b, ',')
	b = pic.appendHex(b, box)
	return append(b, "^FS\n"...)
}

func appendInts(b []byte, values ...int) []byte {
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(v), 10)
	}
	return b
}
