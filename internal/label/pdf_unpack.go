package label

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/hex"
	"errors"
	"io"
)

var errUnpack = errors.New("the stream cannot be unpacked")

// inflate unpacks zlib data of at most limit bytes.
func inflate(data []byte, limit int) ([]byte, error) {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errUnpack
	}
	out, err := io.ReadAll(io.LimitReader(z, int64(limit)+1))
	switch {
	case len(out) > limit:
		return nil, errUnpack
	case err != nil && len(out) == 0:
		return nil, errUnpack
	}
	return out, nil // readers forgive a wrong sum at the end
}

// inflatedSize tells how large zlib data is, and whether that is at most
// limit.
func inflatedSize(data []byte, limit int) (int, bool) {
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return 0, true // nothing comes out of it
	}
	n, _ := io.Copy(io.Discard, io.LimitReader(z, int64(limit)+1))
	return int(n), int(n) <= limit
}

// unpack undoes filters, the outermost first.
func unpack(data []byte, names []pdfName, limit int) ([]byte, error) {
	var err error
	for _, name := range names {
		switch name {
		case "FlateDecode", "Fl":
			data, err = inflate(data, limit)
		case "ASCIIHexDecode", "AHx":
			data, err = unhex(data)
		case "ASCII85Decode", "A85":
			data, err = un85(data)
		default:
			err = errUnpack
		}
		if err != nil {
			return nil, errUnpack
		}
	}
	return data, nil
}

func unhex(data []byte) ([]byte, error) {
	digits := make([]byte, 0, len(data)+1)
	for _, c := range data {
		if c == '>' {
			break
		}
		if !isPDFSpace(c) {
			digits = append(digits, c)
		}
	}
	if len(digits)%2 == 1 {
		digits = append(digits, '0')
	}
	n, err := hex.Decode(digits, digits)
	return digits[:n], err
}

func un85(data []byte) ([]byte, error) {
	data, _, _ = bytes.Cut(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~")), []byte("~>"))
	out := make([]byte, 4*len(data)+4) // each z stands for four zeros
	n, _, err := ascii85.Decode(out, data, true)
	return out[:n], err
}

// contents unpacks a stream and undoes its predictor. The bytes count
// against the file's budget.
func (f *pdfFile) contents(o pdfObject, limit int) ([]byte, error) {
	names, err := f.filtersOf(o.dict())
	if err != nil {
		return nil, err
	}
	data, err := unpack(o.stream, names, min(limit, f.budget))
	if err != nil {
		return nil, err
	}
	f.budget -= len(data)
	return f.unpredict(data, f.parms(o.dict()))
}

// parms are the parameters of a stream's innermost filter.
func (f *pdfFile) parms(d pdfDict) pdfDict {
	v := f.resolve(d.get("DecodeParms"))
	if list, ok := v.(pdfArray); ok && len(list) > 0 {
		v = list[len(list)-1]
	}
	return f.dictOf(v)
}

// unpredict undoes the filters of PNG that a row was packed with.
func (f *pdfFile) unpredict(data []byte, parms pdfDict) ([]byte, error) {
	get := func(key pdfName, otherwise int) int {
		if n, ok := f.number(parms.get(key)); ok && n >= 0 && n < 1<<16 {
			return int(n)
		}
		return otherwise
	}
	switch predictor := get("Predictor", 1); {
	case predictor == 1:
		return data, nil
	case predictor < 10:
		return nil, errUnpack
	}
	bits := get("Colors", 1) * get("BitsPerComponent", 8)
	pixel, row := max(bits/8, 1), (bits*get("Columns", 1)+7)/8
	if row == 0 || row > 1<<20 {
		return nil, errUnpack
	}
	out := make([]byte, 0, len(data))
	before := make([]byte, row)
	for ; len(data) > row; data = data[row+1:] {
		out = append(out, data[1:row+1]...)
		now := out[len(out)-row:]
		if !unfilter(data[0], now, before, pixel) {
			return nil, errUnpack
		}
		before = now
	}
	return out, nil
}

// unfilter restores a row in place. before is the row above it.
func unfilter(kind byte, row, before []byte, pixel int) bool {
	for i := range row {
		var left, corner byte
		if i >= pixel {
			left, corner = row[i-pixel], before[i-pixel]
		}
		switch kind {
		case 0:
		case 1:
			row[i] += left
		case 2:
			row[i] += before[i]
		case 3:
			row[i] += byte((int(left) + int(before[i])) / 2)
		case 4:
			row[i] += paeth(left, before[i], corner)
		default:
			return false
		}
	}
	return true
}

func paeth(left, up, corner byte) byte {
	p := int(left) + int(up) - int(corner)
	dl, du, dc := distance(p, int(left)), distance(p, int(up)), distance(p, int(corner))
	switch {
	case dl <= du && dl <= dc:
		return left
	case du <= dc:
		return up
	}
	return corner
}

func distance(a, b int) int { return max(a-b, b-a) }
