package label

import (
	"image"
	"image/color"
)

// decodeSamples turns unpacked samples into black and white: one or eight bits
// of grey, eight of red, green and blue, or indexes of up to 256 colours.
func (f *pdfFile) decodeSamples(dict pdfDict, data []byte, width, height int) (*bitmap, bool) {
	bits, _ := f.number(dict.get("BitsPerComponent"))
	space := f.resolve(dict.get("ColorSpace"))
	if isMask, _ := f.resolve(dict.get("ImageMask")).(bool); isMask {
		bits = 1
		space = pdfName("DeviceGray")
	}
	if list, ok := space.(pdfArray); ok && len(list) == 4 && f.resolve(list[0]) == pdfName("Indexed") {
		return f.decodeIndexed(list, data, int(bits), width, height)
	}

	components := f.components(space)
	stride := (width*components*int(bits) + 7) / 8
	if len(data) < stride*height {
		return nil, false
	}

	switch {
	case components == 1 && (bits == 1 || bits == 8):
		picture := f.decodeGrey(data, stride, int(bits), width, height)
		if f.isInverted(dict) {
			picture.invert()
		}
		return picture, true

	case components == 3 && bits == 8 && !f.isInverted(dict):
		picture := image.NewRGBA(image.Rect(0, 0, width, height))
		for i := range width * height {
			copy(picture.Pix[4*i:], data[3*i:3*i+3])
			picture.Pix[4*i+3] = 0xff
		}
		return blacken(picture), true
	}
	return nil, false
}

// components is how many numbers a colour has, zero if that is not known.
func (f *pdfFile) components(space any) int {
	if list, ok := space.(pdfArray); ok && len(list) >= 2 {
		switch f.resolve(list[0]) {
		case pdfName("CalGray"):
			return 1
		case pdfName("CalRGB"):
			return 3
		case pdfName("ICCBased"):
			n, _ := f.number(f.resolveDict(list[1]).get("N"))
			if n == 1 || n == 3 {
				return int(n)
			}
		}
		return 0
	}

	switch space {
	case pdfName("DeviceGray"):
		return 1
	case pdfName("DeviceRGB"):
		return 3
	}
	return 0
}

// decodeGrey reads samples where zero is black.
func (f *pdfFile) decodeGrey(data []byte, stride, bits, width, height int) *bitmap {
	out := newBitmap(width, height)
	if bits == 8 {
		out.threshold(data, stride)
		return out
	}
	copy(out.bits, data)
	out.invert()
	return out
}

// invert exchanges black and white, but not in the bits beyond the width.
func (b *bitmap) invert() {
	last := byte(0xff)
	if rest := b.width & 7; rest > 0 {
		last <<= 8 - rest
	}

	b.eachRow(func(row []byte, _ int) {
		for i := range row {
			row[i] = ^row[i]
		}
		row[len(row)-1] &= last
	})
}

// decodeIndexed reads indexes into a table of colours.
func (f *pdfFile) decodeIndexed(space pdfArray, data []byte, bits, width, height int) (*bitmap, bool) {
	components := f.components(f.resolve(space[1]))
	table, ok := f.readColorTable(space[3])
	if !ok || components == 0 || bits != 1 && bits != 2 && bits != 4 && bits != 8 {
		return nil, false
	}

	// The three positions are the same one if the colours are grey.
	var palette color.Palette
	for ; len(table) >= components && len(palette) < 256; table = table[components:] {
		palette = append(palette, color.RGBA{
			R: table[0],
			G: table[components/2],
			B: table[components-1],
			A: 0xff,
		})
	}

	stride := (width*bits + 7) / 8
	if len(data) < stride*height || len(palette) == 0 {
		return nil, false
	}

	picture := image.NewPaletted(image.Rect(0, 0, width, height), palette)
	for y := range height {
		row := data[y*stride:]
		for x := range width {
			at := x * bits
			picture.Pix[y*picture.Stride+x] = row[at/8] >> (8 - bits - at%8) & (1<<bits - 1)
		}
	}
	return blacken(picture), true
}

// readColorTable reads the colours of an indexed picture: a string or a stream.
func (f *pdfFile) readColorTable(value any) ([]byte, bool) {
	if ref, ok := value.(pdfRef); ok && f.objects[ref].stream != nil {
		data, err := f.unpackStream(f.objects[ref], 1<<12)
		return data, err == nil
	}
	literal, ok := f.resolve(value).(pdfString)
	if !ok {
		return nil, false
	}
	return literal.decode()
}

// decode returns the bytes of a string, without its brackets and escapes.
func (s pdfString) decode() ([]byte, bool) {
	if s[0] == '<' {
		data, err := decodeHex(s[1:])
		return data, err == nil
	}

	var out []byte
	for i := 1; i < len(s)-1; i++ {
		char := s[i]
		if char != '\\' {
			out = append(out, char)
			continue
		}
		i++

		// Up to three octal digits.
		digits := 0
		for value := 0; digits < 3 && i+digits < len(s)-1 && s[i+digits] >= '0' && s[i+digits] <= '7'; digits++ {
			value = value*8 + int(s[i+digits]-'0')
			char = byte(value)
		}

		switch {
		case digits > 0:
			out = append(out, char)
			i += digits - 1
		case s[i] == '\n' || s[i] == '\r': // the string continues on the next line
			if s[i] == '\r' && s[i+1] == '\n' {
				i++
			}
		default:
			out = append(out, unescapeByte(s[i]))
		}
	}
	return out, true
}

func unescapeByte(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c
}
