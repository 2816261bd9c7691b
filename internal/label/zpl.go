package label

import (
	"bytes"
	"math"
	"strconv"
)

// writeZPL writes a label format for each scene.
//
// Field data is not trusted, so it never reaches the printer as it is: each
// field is introduced by ^FH_ and every byte outside a short list of harmless
// ones is written as _XX, which no parser takes for a command, even after the
// command prefix was renamed. Text that the printer's own font may lack is sent
// as a picture.
func writeZPL(scenes []scene, pen *pen) []byte {
	out := make([]byte, 0, 2048)
	for _, scene := range scenes {
		out = append(out, "^XA^CI28^LH0,0^PW"...)
		out = strconv.AppendInt(out, int64(scene.width), 10)
		out = append(out, "^LL"...)
		out = strconv.AppendInt(out, int64(scene.height), 10)
		out = append(out, '\n')

		for _, box := range scene.rects {
			out = appendBox(out, box)
		}
		for _, code := range scene.codes {
			out = appendCode(out, code)
		}
		for _, line := range scene.texts {
			out = appendText(out, line, pen)
		}
		out = append(out, "^PQ1^XZ\n"...)
	}
	return out
}

func appendBox(out []byte, box rect) []byte {
	out = appendInts(append(out, "^FO"...), box.x, box.y)
	out = appendInts(append(out, "^GB"...), box.w, box.h, min(box.w, box.h))
	return append(out, "^FS\n"...)
}

// appendCode has the printer draw the symbol.
//
// Letters that are followed by digits are left to its automatic mode, which
// packs them the same way and which every printer gets right. Otherwise the
// code words are named one by one, which gives exactly the symbol that the
// other formats have.
func appendCode(out []byte, code code) []byte {
	out = appendInts(append(out, "^FO"...), code.x, code.y)
	out = appendInts(append(out, "^BY"...), code.module)
	out = appendInts(append(out, "^BCN,"...), code.height)

	if bytes.IndexByte(code.symbol, codeC) > 0 && isAlphanumeric(code.content) {
		out = append(out, ",N,N,N,A^FH_^FD"...)
		out = appendData(out, code.content)
	} else {
		out = append(out, ",N,N,N,N^FH_^FD"...)
		out = appendWords(out, code.symbol[:len(code.symbol)-1]) // the printer adds the check character
	}
	return append(out, "^FS\n"...)
}

// appendWords names code words the way ^BC wants them: text in set B, pairs
// of digits in set C, and two characters that begin with > for the rest.
func appendWords(out []byte, words symbol) []byte {
	inC := false
	for i, word := range words {
		switch {
		// The start character, and changes of the set.
		case i == 0 && word == startC:
			out = appendData(out, ">;")
			inC = true
		case i == 0:
			out = appendData(out, ">:")
		case word == fnc1:
			out = appendData(out, ">8")
		case inC && word == codeB:
			out = appendData(out, ">6")
			inC = false
		case !inC && word == codeC:
			out = appendData(out, ">5")
			inC = true

		// Data. Three characters of set B have a meaning in ZPL.
		case inC:
			out = append(out, '0'+word/10, '0'+word%10)
		case word == '>'-' ':
			out = appendData(out, ">0")
		case word == '^'-' ':
			out = appendData(out, "><")
		case word == '~'-' ':
			out = appendData(out, ">=")
		default:
			out = appendData(out, string(rune(word+' ')))
		}
	}
	return out
}

func isAlphanumeric(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// appendText uses the printer's resident font if it can, and otherwise sends the
// line as a picture.
func appendText(out []byte, line text, pen *pen) []byte {
	font, ok := residentFont(line)
	if !ok {
		return appendPicture(out, line, pen)
	}

	out = appendInts(append(out, "^FT"...), font.x, font.y)
	out = appendInts(append(out, "^A0N,"...), font.height, font.width)
	if line.white {
		out = append(out, "^FR"...)
	}
	out = append(out, "^FH_^FD"...)
	out = appendData(out, line.content)
	return append(out, "^FS\n"...)
}

// resident is where the printer's resident font begins a line, and its size.
type resident struct{ x, y, width, height int }

// residentFont reports whether the resident font has every letter of the line
// and can be narrowed enough.
func residentFont(line text) (font resident, ok bool) {
	emWidth, ok := residentWidth(line.content)
	if !ok {
		return resident{}, false
	}
	origin := line.fit(emWidth * residentSize)
	font = resident{
		x:      int(origin.x),
		y:      int(math.Round(origin.y)),
		width:  int(origin.sx * residentSize),
		height: int(math.Round(origin.sy * residentSize)),
	}
	return font, font.width >= residentLeast && font.height >= residentLeast
}

const hexDigits = "0123456789ABCDEF"

// appendData escapes field data.
func appendData(out []byte, data string) []byte {
	for i := range len(data) {
		if c := data[i]; isHarmless(c) {
			out = append(out, c)
		} else {
			out = append(out, '_', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return out
}

// isHarmless reports whether a character has no meaning to any ZPL parser,
// inside of field data or outside.
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

// appendPicture sends the line as a bitmap.
func appendPicture(out []byte, line text, pen *pen) []byte {
	// It is drawn in black with a margin around it. ^FR turns it white.
	picture := newBitmap(line.width+2*line.size, line.size*9/4)
	black := line
	black.x = line.size / 2
	black.y = line.size * 3 / 2
	black.white = false
	picture.draw(black, pen)

	box := picture.bounds()
	if box.w == 0 {
		return out
	}
	x := line.x - line.size/2 + box.x
	y := line.y - line.size*3/2 + box.y
	out = appendInts(append(out, "^FO"...), max(x, 0), max(y, 0))
	if line.white {
		out = append(out, "^FR"...)
	}

	row := (box.w + 7) / 8
	out = appendInts(append(out, "^GFA,"...), row*box.h, row*box.h, row)
	out = append(out, ',')
	out = picture.appendHex(out, box)
	return append(out, "^FS\n"...)
}

// appendInts appends numbers with commas between them.
func appendInts(out []byte, numbers ...int) []byte {
	for i, number := range numbers {
		if i > 0 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(out, int64(number), 10)
	}
	return out
}
