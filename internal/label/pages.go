package label

import (
	"bytes"
	"encoding/binary"

	"github.com/waybillhq/waybill/internal/ship"
)

// pagesMagic begins the bytes of a label that came as several files. No image
// format, ZPL or PDF begins with a zero byte followed by this.
const pagesMagic = "\x00WBPAGES1"

// Join puts the files of one label, a page each, into one value for the store.
// A single page is stored as it is; several are framed: the magic, their number,
// and the length of each before its bytes, all lengths four bytes, big-endian.
func Join(pages [][]byte) []byte {
	if len(pages) == 1 {
		return pages[0]
	}

	size := len(pagesMagic) + 4
	for _, page := range pages {
		size += 4 + len(page)
	}

	out := make([]byte, 0, size)
	out = append(out, pagesMagic...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(pages)))
	for _, page := range pages {
		out = binary.BigEndian.AppendUint32(out, uint32(len(page)))
		out = append(out, page...)
	}
	return out
}

// Split is the inverse of Join. The pages share data's memory. Data that Join
// did not frame is one page.
func Split(data []byte) ([][]byte, error) {
	rest, framed := bytes.CutPrefix(data, []byte(pagesMagic))
	if !framed {
		return [][]byte{data}, nil
	}

	n, rest, ok := cutLength(rest)
	if !ok || n > maxPages {
		return nil, ship.Errorf(ship.Internal, "stored label: invalid number of pages")
	}

	pages := make([][]byte, 0, n)
	for range n {
		var size uint32
		if size, rest, ok = cutLength(rest); !ok || uint64(size) > uint64(len(rest)) {
			return nil, ship.Errorf(ship.Internal, "stored label: a page is truncated")
		}
		pages = append(pages, rest[:size:size])
		rest = rest[size:]
	}

	if len(rest) > 0 {
		return nil, ship.Errorf(ship.Internal, "stored label: bytes after the last page")
	}
	return pages, nil
}

// CountPages returns how many pages a carrier's label has, or how many labels a
// printer makes of it; not ok if it cannot be read.
func CountPages(format string, data []byte) (n int, ok bool) {
	files, err := Split(data)
	if err != nil {
		return 0, false
	}

	for _, file := range files {
		switch format {
		case "pdf":
			read, err := readPDF(file)
			if err != nil {
				return 0, false
			}
			n += len(read.pages)
		case "zpl":
			n += bytes.Count(file, []byte("^XA"))
		default:
			n++
		}
	}
	return n, true
}

func cutLength(data []byte) (length uint32, rest []byte, ok bool) {
	if len(data) < 4 {
		return 0, data, false
	}
	return binary.BigEndian.Uint32(data), data[4:], true
}
