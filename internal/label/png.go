package label

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// writePNG writes the pages below each other as one picture in black and
// white. Only one page is in memory at a time.
func writePNG(scenes []scene, p *pen) []byte {
	first := scenes[0]
	out := []byte("\x89PNG\r\n\x1a\n")

	head := binary.BigEndian.AppendUint32(nil, uint32(first.width))
	head = binary.BigEndian.AppendUint32(head, uint32(first.height*len(scenes)))
	head = append(head, 1, 0, 0, 0, 0) // one bit of grey, where 1 is white
	out = appendChunk(out, "IHDR", head)

	perMetre := uint32((first.dpi*10000 + 127) / 254)
	size := binary.BigEndian.AppendUint32(nil, perMetre)
	size = binary.BigEndian.AppendUint32(size, perMetre)
	out = appendChunk(out, "pHYs", append(size, 1))

	var data bytes.Buffer
	z := p.typesetter().deflater(&data)
	row := make([]byte, 1+(first.width+7)/8)
	for _, s := range scenes {
		b := s.paint(p)
		for y := range b.height {
			for i, bits := range b.bits[y*b.stride : (y+1)*b.stride] {
				row[1+i] = ^bits
			}
			_, _ = z.Write(row) // to memory
		}
	}
	_ = z.Close()
	out = appendChunk(out, "IDAT", data.Bytes())
	return appendChunk(out, "IEND", nil)
}

func appendChunk(out []byte, kind string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	start := len(out)
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
}

// paint draws the scene in dots.
func (s scene) paint(p *pen) *bitmap {
	b := newBitmap(s.width, s.height)
	for _, r := range s.rects {
		b.fill(r)
	}
	for _, c := range s.codes {
		c.symbol.bars(func(at, width int) {
			b.fill(rect{c.x + at*c.module, c.y, width * c.module, c.height})
		})
	}
	for _, t := range s.texts {
		b.draw(t, p)
	}
	return b
}
