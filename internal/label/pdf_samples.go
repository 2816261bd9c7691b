package label

import (
	"image"
	"image/color"
)

// samples turns unpacked samples into black and white: one or eight bits of
// grey, eight of red, green and blue, or numbers of up to 256 colours.
func (f *pdfFile) samples(d pdfDict, data []byte, w, h int) (*bitmap, bool) {
	bits, _ := f.number(d.get("BitsPerComponent"))
	mask, _ := f.resolve(d.get("ImageMask")).(bool)
	space := f.resolve(d.get("ColorSpace"))
	if mask {
		bits, space = 1, pdfName("DeviceGray")
	}
	if list, ok := space.(pdfArray); ok && len(list) == 4 && f.resolve(list[0]) == pdfName("Indexed") {
		return f.indexed(list, data, int(bits), w, h)
	}
	components := f.components(space)
	stride := (w*components*int(bits) + 7) / 8
	if len(data) < stride*h {
		return nil, false
	}
	switch {
	case components == 1 && (bits == 1 || bits == 8):
		out := f.grey(data, stride, int(bits), w, h)
		if f.inverted(d) {
			out.invert()
		}
		return out, true
	case components == 3 && bits == 8 && !f.inverted(d):
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		for i := range w * h {
			copy(img.Pix[4*i:], data[3*i:3*i+3])
			img.Pix[4*i+3] = 0xff
		}
		return blacken(img), true
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
			n, _ := f.number(f.dictOf(list[1]).get("N"))
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

// grey reads samples where zero is black.
func (f *pdfFile) grey(data []byte, stride, bits, w, h int) *bitmap {
	out := newBitmap(w, h)
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
	b.each(func(row []byte, _ int) {
		for i := range row {
			row[i] = ^row[i]
		}
		row[len(row)-1] &= last
	})
}

// indexed reads numbers of colours.
func (f *pdfFile) indexed(space pdfArray, data []byte, bits, w, h int) (*bitmap, bool) {
	n := f.components(f.resolve(space[1]))
	table, ok := f.table(space[3])
	if !ok || n == 0 || bits != 1 && bits != 2 && bits != 4 && bits != 8 {
		return nil, false
	}
	var palette color.Palette
	for ; len(table) >= n && len(palette) < 256; table = table[n:] {
		c := color.RGBA{table[0], table[n/2], table[n-1], 0xff}
		palette = append(palette, c)
	}
	stride := (w*bits + 7) / 8
	if len(data) < stride*h || len(palette) == 0 {
		return nil, false
	}
	img := image.NewPaletted(image.Rect(0, 0, w, h), palette)
	for y := range h {
		row := data[y*stride:]
		for x := range w {
			at := x * bits
			img.Pix[y*img.Stride+x] = row[at/8] >> (8 - bits - at%8) & (1<<bits - 1)
		}
	}
	return blacken(img), true
}

// table reads the colours of an indexed picture: a string or a stream.
func (f *pdfFile) table(v any) ([]byte, bool) {
	if ref, ok := v.(pdfRef); ok && f.objects[ref].stream != nil {
		data, err := f.contents(f.objects[ref], 1<<12)
		return data, err == nil
	}
	s, ok := f.resolve(v).(pdfString)
	if !ok {
		return nil, false
	}
	return s.bytes()
}

// bytes undoes the brackets and escapes of a string.
func (s pdfString) bytes() ([]byte, bool) {
	if s[0] == '<' {
		data, err := unhex(s[1:])
		return data, err == nil
	}
	var out []byte
	for i := 1; i < len(s)-1; i++ {
		c := s[i]
		if c != '\\' {
			out = append(out, c)
			continue
		}
		i++
		digits := 0
		for v := 0; digits < 3 && i+digits < len(s)-1 && s[i+digits] >= '0' && s[i+digits] <= '7'; digits++ {
			v = v*8 + int(s[i+digits]-'0')
			c = byte(v)
		}
		switch {
		case digits > 0:
			out = append(out, c)
			i += digits - 1
		case s[i] == '\n' || s[i] == '\r': // a line that goes on
			if s[i] == '\r' && s[i+1] == '\n' {
				i++
			}
		default:
			out = append(out, unescaped(s[i]))
		}
	}
	return out, true
}

func unescaped(c byte) byte {
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
