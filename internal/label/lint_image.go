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
	maxProgressive = 4 << 20 // dots of a progressive JPEG, whose decoder holds all of it in memory
	minImageSide   = 50
	maxImageChunks = 4096
	maxJPEGScans   = 20 // each is a pass over the whole picture
)

// lintImage checks a picture by its structure, without decoding it: that it is
// of the format, has one frame and sane dimensions, and nothing besides.
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
		return finding("image_size", "the dimensions of the image are out of range")
	}
	return nil
}

var (
	errCutOff   = finding("image_damaged", "the image is truncated or damaged")
	errFormat   = finding("image_format", "the file is not a valid image of its format")
	errFrames   = finding("image_frames", "the image has several frames")
	errTrailing = finding("image_trailing", "there is data after the image")
)

// lintPNG walks the chunks. Their number is limited, and their checksums must
// be right.
func lintPNG(data []byte) error {
	rest, ok := bytes.CutPrefix(data, []byte("\x89PNG\r\n\x1a\n"))
	if !ok {
		return errFormat
	}

	for i := range maxImageChunks {
		if len(rest) < 12 {
			return errCutOff
		}
		size := binary.BigEndian.Uint32(rest)
		kind := string(rest[4:8])
		if uint64(size) > uint64(len(rest)-12) {
			return errCutOff
		}
		if crc32.ChecksumIEEE(rest[4:8+size]) != binary.BigEndian.Uint32(rest[8+size:]) {
			return errCutOff
		}

		body := rest[8 : 8+size]
		rest = rest[12+size:]
		if (i == 0) != (kind == "IHDR") {
			return errFormat
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
		return errFormat
	}
	if body[8] > 8 {
		return finding("image_size", "the image has more colours than a label needs")
	}

	// Sides of 32 bits are bounded first, so that they do not overflow an int.
	width := binary.BigEndian.Uint32(body)
	height := binary.BigEndian.Uint32(body[4:])
	return lintSides(int(min(width, 1<<20)), int(min(height, 1<<20)))
}

// lintGIF walks the blocks.
func lintGIF(data []byte) error {
	if len(data) < 13 || string(data[:6]) != "GIF87a" && string(data[:6]) != "GIF89a" {
		return errFormat
	}
	if err := lintSides(int(binary.LittleEndian.Uint16(data[6:])), int(binary.LittleEndian.Uint16(data[8:]))); err != nil {
		return err
	}

	rest, ok := skipPalette(data[13:], data[10])
	for frames := 0; ok && len(rest) > 0; {
		kind := rest[0]
		rest = rest[1:]

		switch kind {
		case 0x3b: // the trailer
			return lintGIFEnd(rest, frames)
		case 0x21: // an extension: its label, then blocks
			if len(rest) == 0 {
				return errCutOff
			}
			rest, ok = skipBlocks(rest[1:])
		case 0x2c: // a frame
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
func skipPalette(data []byte, flags byte) ([]byte, bool) {
	if flags&0x80 == 0 {
		return data, true
	}
	size := 3 << (flags&7 + 1)
	if len(data) < size {
		return nil, false
	}
	return data[size:], true
}

// skipFrame skips a frame, which must be inside the screen.
func skipFrame(data, screen []byte) ([]byte, bool) {
	if len(data) < 9 {
		return nil, false
	}

	field := func(offset int) int { return int(binary.LittleEndian.Uint16(data[offset:])) }
	right := field(0) + field(4)
	bottom := field(2) + field(6)
	if right > int(binary.LittleEndian.Uint16(screen)) || bottom > int(binary.LittleEndian.Uint16(screen[2:])) {
		return nil, false
	}

	rest, ok := skipPalette(data[9:], data[8])
	if !ok || len(rest) == 0 {
		return nil, false
	}
	return skipBlocks(rest[1:]) // after the code size
}

func skipBlocks(data []byte) ([]byte, bool) {
	for len(data) > 0 {
		size := int(data[0])
		if size == 0 {
			return data[1:], true
		}
		if len(data) < 1+size {
			break
		}
		data = data[1+size:]
	}
	return nil, false
}

// lintJPEG walks the segments. Of the kinds of frames those are accepted that
// can be decoded here: baseline, extended and progressive.
func lintJPEG(data []byte) error {
	if len(data) < 4 || data[0] != 0xff || data[1] != 0xd8 || data[2] != 0xff {
		return errFormat
	}

	frames := 0
	scans := 0
	for rest := data[2:]; len(rest) >= 2; {
		marker := rest[1]
		switch {
		case rest[0] != 0xff:
			return errCutOff
		case marker == 0xff: // padding
			rest = rest[1:]
			continue
		case marker == 0xd9: // end of image
			return lintJPEGEnd(rest[2:], scans)
		case marker < 0xc0, marker >= 0xd0 && marker <= 0xd8: // none of them has a place between segments
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
		case marker >= 0xc3 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc: // other kinds of frames
			return errFormat
		case marker == 0xda: // a scan
			if scans++; scans > maxJPEGScans || frames == 0 {
				return finding("image_scans", "the image has too many scans")
			}
			rest = skipScan(rest)
		}
	}
	return errCutOff
}

// cutSegment cuts off the body of a segment, which begins with its length.
func cutSegment(data []byte) (body, rest []byte, ok bool) {
	if len(data) < 2 {
		return nil, nil, false
	}
	size := int(binary.BigEndian.Uint16(data))
	if size < 2 || len(data) < size {
		return nil, nil, false
	}
	return data[2:size], data[size:], true
}

func lintJPEGFrame(marker byte, body []byte) error {
	if len(body) < 6 {
		return errCutOff
	}
	width := int(binary.BigEndian.Uint16(body[3:]))
	height := int(binary.BigEndian.Uint16(body[1:]))
	if marker == 0xc2 && width*height > maxProgressive {
		return finding("image_size", "the dimensions of the image are out of range")
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

// skipScan skips compressed data up to the next marker that is not a restart.
func skipScan(data []byte) []byte {
	for {
		at := bytes.IndexByte(data, 0xff)
		if at < 0 || at+1 >= len(data) {
			return nil
		}
		if next := data[at+1]; next != 0 && (next < 0xd0 || next > 0xd7) {
			return data[at:]
		}
		data = data[at+2:]
	}
}
