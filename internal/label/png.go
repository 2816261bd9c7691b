package label

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// writePNG writes the pages as one picture in black and white, stacked
// vertically. Only one page is in memory at a time.
func writePNG(scenes []scene, pen *pen) []byte {
	first := scenes[0]
	out := beginPNG(first.width, first.height*len(scenes), first.dpi)

	var data bytes.Buffer
	deflater := pen.typesetter().deflater(&data)
	row := make([]byte, 1+(first.width+7)/8)
	for _, scene := range scenes {
		page := scene.paint(pen)
		page.eachRow(func(dots []byte, _ int) {
			for i, bits := range dots {
				row[1+i] = ^bits
			}
			_, _ = deflater.Write(row) // to memory
		})
	}
	_ = deflater.Close()

	out = appendChunk(out, "IDAT", data.Bytes())
	return appendChunk(out, "IEND", nil)
}

// beginPNG returns a PNG file up to its data.
func beginPNG(width, height, dpi int) []byte {
	out := []byte("\x89PNG\r\n\x1a\n")

	head := binary.BigEndian.AppendUint32(nil, uint32(width))
	head = binary.BigEndian.AppendUint32(head, uint32(height))
	head = append(head, 1, 0, 0, 0, 0) // one bit of grey, where 1 is white
	out = appendChunk(out, "IHDR", head)

	// The resolution lets the file print at its true size.
	perMetre := uint32((dpi*10000 + 127) / 254)
	resolution := binary.BigEndian.AppendUint32(nil, perMetre)
	resolution = binary.BigEndian.AppendUint32(resolution, perMetre)
	return appendChunk(out, "pHYs", append(resolution, 1))
}

func appendChunk(out []byte, kind string, data []byte) []byte {
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	start := len(out)
	out = append(append(out, kind...), data...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[start:]))
}

// paint draws the scene in dots.
func (s scene) paint(pen *pen) *bitmap {
	page := newBitmap(s.width, s.height)
	for _, box := range s.rects {
		page.fill(box)
	}
	for _, code := range s.codes {
		code.symbol.bars(func(at, width int) {
			page.fill(rect{code.x + at*code.module, code.y, width * code.module, code.height})
		})
	}

	// Text comes last: white text is drawn on black boxes.
	for _, line := range s.texts {
		page.draw(line, pen)
	}
	return page
}
