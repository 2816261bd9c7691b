package label

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

// The limits of a carrier's picture: 4 by 6 inches at 600 dpi are 9 million
// dots.
const (
	maxImageSide   = 6000
	maxImageDots   = 9 << 20
	maxProgressive = 4 << 20 // dots of a JPEG that is kept whole while it is decoded
	minImageSide   = 50
	maxImageChunks = 4096
	maxJPEGScans   = 20 // each is a walk over the whole picture
)

// lintImage checks a picture by its structure, without decoding it: that it
// is of the format, one frame, of sane dimensions, and nothing besides.
func lintImage(format string, data []byte) error {
	switch format {
	case "png":
		return lintPNG(data)
	case "gif":
		return lintGIF(data)
	}
	return lintJPEG(data)
}

func lintSides(width, height int) error {
	if width < minImageSide || height < minImageSide || width > maxImageSide || height > maxImageSide || width*height > maxImageDots {
		return finding("image_size", "the picture has dimensions out of bounds")
	}
	return nil
}

var (
	errCutOff   = finding("image_damaged", "the picture is cut off or damaged")
	errWrong    = finding("image_format", "the file is not a picture of its format")
	errFrames   = finding("image_frames", "the picture has several frames")
	errTrailing = finding("image_trailing", "something follows the picture")
)

func lintPNG(data []byte) error {
	rest, ok := bytes.CutPrefix(data, []byte("\x89PNG\r\n\x1a\n"))
	if !ok {
		return errWrong
	}
	for i := range maxImageChunks {
		if len(rest) < 12 {
			return errCutOff
		}
		size, kind := binary.BigEndian.Uint32(rest), string(rest[4:8])
		if uint64(size) > uint64(len(rest)-12) {
			return errCutOff
		}
		if crc32.ChecksumIEEE(rest[4:8+size]) != binary.BigEndian.Uint32(rest[8+size:]) {
			return errCutOff
		}
		body := rest[8 : 8+size]
		rest = rest[12+size:]
		if (i == 0) != (kind == "IHDR") {
			return errWrong
		}
		switch kind {
		case "IHDR":
			if err := lintPNGHead(body); err != nil {
				return err
			}
		case "acTL", "fcTL", "fdAT":
			return errFrames
		case "IEND":
			if len(rest) > 0 {
				return errTrailing
			}
			return nil
		}
	}
	return errCutOff
}

func lintPNGHead(body []byte) error {
	if len(body) != 13 {
		return errWrong
	}
	if body[8] > 8 {
		return finding("image_size", "the picture has more colours than a label needs")
	}
	width, height := binary.BigEndian.Uint32(body), binary.BigEndian.Uint32(body[4:])
	return lintSides(int(min(width, 1<<20)), int(min(height, 1<<20)))
}

func lintGIF(data []byte) error {
	if len(data) < 13 || string(data[:6]) != "GIF87a" && string(data[:6]) != "GIF89a" {
		return errWrong
	}
	if err := lintSides(int(binary.LittleEndian.Uint16(data[6:])), int(binary.LittleEndian.Uint16(data[8:]))); err != nil {
		return err
	}
	rest, ok := skipPalette(data[13:], data[10])
	for frames := 0; ok && len(rest) > 0; {
		kind := rest[0]
		rest = rest[1:]
		switch kind {
		case 0x3b:
			return lintGIFEnd(rest, frames)
		case 0x21: // an extension: a label, then blocks
			if len(rest) == 0 {
				return errCutOff
			}
			rest, ok = skipBlocks(rest[1:])
		case 0x2c:
			if frames++; frames > 1 {
				return errFrames
			}
			if rest, ok = skipFrame(rest, data[6:10]); !ok {
				return errCutOff
			}
		default:
			return errCutOff
		}
	}
	return errCutOff
}

func lintGIFEnd(rest []byte, frames int) error {
	switch {
	case frames == 0:
		return errCutOff
	case len(bytes.Trim(rest, "\x00\r\n")) > 0:
		return errTrailing
	}
	return nil
}

// skipPalette skips the colours that flags announce.
func skipPalette(b []byte, flags byte) ([]byte, bool) {
	if flags&0x80 == 0 {
		return b, true
	}
	size := 3 << (flags&7 + 1)
	if len(b) < size {
		return nil, false
	}
	return b[size:], true
}

// skipFrame skips a frame that lies inside the screen.
func skipFrame(b, screen []byte) ([]byte, bool) {
	if len(b) < 9 {
		return nil, false
	}
	at := func(i int) int { return int(binary.LittleEndian.Uint16(b[i:])) }
	if at(0)+at(4) > int(binary.LittleEndian.Uint16(screen)) || at(2)+at(6) > int(binary.LittleEndian.Uint16(screen[2:])) {
		return nil, false
	}
	rest, ok := skipPalette(b[9:], b[8])
	if !ok || len(rest) == 0 {
		return nil, false
	}
	return skipBlocks(rest[1:]) // after the code size
}

func skipBlocks(b []byte) ([]byte, bool) {
	for len(b) > 0 {
		size := int(b[0])
		if size == 0 {
			return b[1:], true
		}
		if len(b) < 1+size {
			break
		}
		b = b[1+size:]
	}
	return nil, false
}

// lintJPEG walks the segments. Of the kinds of frames those are let through
// that are decoded here: baseline, extended and progressive.
func lintJPEG(data []byte) error {
	if len(data) < 4 || data[0] != 0xff || data[1] != 0xd8 || data[2] != 0xff {
		return errWrong
	}
	frames, scans := 0, 0
	for rest := data[2:]; len(rest) >= 2; {
		marker := rest[1]
		switch {
		case rest[0] != 0xff:
			return errCutOff
		case marker == 0xff:
			rest = rest[1:]
			continue
		case marker == 0xd9:
			return lintJPEGEnd(rest[2:], scans)
		case marker < 0xc0, marker >= 0xd0 && marker <= 0xd8:
			return errCutOff
		}
		body, after, ok := cutSegment(rest[2:])
		if !ok {
			return errCutOff
		}
		rest = after
		switch {
		case marker >= 0xc0 && marker <= 0xc2:
			if frames++; frames > 1 {
				return errFrames
			}
			if err := lintJPEGFrame(marker, body); err != nil {
				return err
			}
		case marker >= 0xc3 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			return errWrong
		case marker == 0xda:
			if scans++; scans > maxJPEGScans || frames == 0 {
				return finding("image_scans", "the picture is drawn over too often")
			}
			rest = skipScan(rest)
		}
	}
	return errCutOff
}

// cutSegment cuts off what stands between a marker and the next.
func cutSegment(b []byte) (body, rest []byte, ok bool) {
	if len(b) < 2 {
		return nil, nil, false
	}
	size := int(binary.BigEndian.Uint16(b))
	if size < 2 || len(b) < size {
		return nil, nil, false
	}
	return b[2:size], b[size:], true
}

func lintJPEGFrame(marker byte, body []byte) error {
	if len(body) < 6 {
		return errCutOff
	}
	width, height := int(binary.BigEndian.Uint16(body[3:])), int(binary.BigEndian.Uint16(body[1:]))
	if marker == 0xc2 && width*height > maxProgressive {
		return finding("image_size", "the picture has dimensions out of bounds")
	}
	return lintSides(width, height)
}

func lintJPEGEnd(rest []byte, scans int) error {
	switch {
	case scans == 0:
		return errCutOff
	case len(bytes.Trim(rest, "\x00\r\n")) > 0:
		return errTrailing
	}
	return nil
}

// skipScan skips packed dots: up to a marker that is no restart.
func skipScan(b []byte) []byte {
	for {
		at := bytes.IndexByte(b, 0xff)
		if at < 0 || at+1 >= len(b) {
			return nil
		}
		if next := b[at+1]; next != 0 && (next < 0xd0 || next > 0xd7) {
			return b[at:]
		}
		b = b[at+2:]
	}
}
