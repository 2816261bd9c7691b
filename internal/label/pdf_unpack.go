package label

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/hex"
	"errors"
	"io"
)

var errUnpack = errors.New("the stream cannot be decompressed")

// inflate unpacks zlib data of at most limit bytes.
func inflate(data []byte, limit int) ([]byte, error) {
	reader, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errUnpack
	}

	// PDF readers tolerate a wrong checksum at the end, so only an error without
	// any output counts.
	out, err := io.ReadAll(io.LimitReader(reader, int64(limit)+1))
	switch {
	case len(out) > limit:
		return nil, errUnpack
	case err != nil && len(out) == 0:
		return nil, errUnpack
	}
	return out, nil
}

// inflatedSize is how large zlib data is when it is unpacked, and whether that
// is at most limit.
func inflatedSize(data []byte, limit int) (int, bool) {
	reader, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return 0, true // nothing comes out of it
	}
	n, _ := io.Copy(io.Discard, io.LimitReader(reader, int64(limit)+1))
	return int(n), int(n) <= limit
}

// unpack undoes filters, the outermost first.
func unpack(data []byte, filters []pdfName, limit int) ([]byte, error) {
	var err error
	for _, filter := range filters {
		switch filter {
		case "FlateDecode", "Fl":
			data, err = inflate(data, limit)
		case "ASCIIHexDecode", "AHx":
			data, err = decodeHex(data)
		case "ASCII85Decode", "A85":
			data, err = decodeASCII85(data)
		default:
			err = errUnpack
		}
		if err != nil {
			return nil, errUnpack
		}
	}
	return data, nil
}

// decodeHex decodes hexadecimal digits up to ">". A missing last digit is zero.
func decodeHex(data []byte) ([]byte, error) {
	digits := make([]byte, 0, len(data)+1)
	for _, char := range data {
		if char == '>' {
			break
		}
		if !isPDFSpace(char) {
			digits = append(digits, char)
		}
	}
	if len(digits)%2 == 1 {
		digits = append(digits, '0')
	}

	n, err := hex.Decode(digits, digits)
	return digits[:n], err
}

func decodeASCII85(data []byte) ([]byte, error) {
	data, _, _ = bytes.Cut(bytes.TrimPrefix(bytes.TrimSpace(data), []byte("<~")), []byte("~>"))
	out := make([]byte, 4*len(data)+4) // each z stands for four zeros
	n, _, err := ascii85.Decode(out, data, true)
	return out[:n], err
}

// unpackStream unpacks a stream and undoes its predictor. The bytes count
// against the file's budget.
func (f *pdfFile) unpackStream(object pdfObject, limit int) ([]byte, error) {
	filters, err := f.streamFilters(object.dict())
	if err != nil {
		return nil, err
	}
	data, err := unpack(object.stream, filters, min(limit, f.budget))
	if err != nil {
		return nil, err
	}
	f.budget -= len(data)
	return f.undoPredictor(data, f.decodeParams(object.dict()))
}

// decodeParams are the parameters of a stream's innermost filter.
func (f *pdfFile) decodeParams(dict pdfDict) pdfDict {
	value := f.resolve(dict.get("DecodeParms"))
	if list, ok := value.(pdfArray); ok && len(list) > 0 {
		value = list[len(list)-1]
	}
	return f.resolveDict(value)
}

// undoPredictor undoes the PNG filters of rows.
func (f *pdfFile) undoPredictor(data []byte, params pdfDict) ([]byte, error) {
	get := func(key pdfName, fallback int) int {
		if number, ok := f.number(params.get(key)); ok && number >= 0 && number < 1<<16 {
			return int(number)
		}
		return fallback
	}
	switch predictor := get("Predictor", 1); {
	case predictor == 1:
		return data, nil
	case predictor < 10: // not one of PNG
		return nil, errUnpack
	}

	bits := get("Colors", 1) * get("BitsPerComponent", 8)
	pixel := max(bits/8, 1)
	rowSize := (bits*get("Columns", 1) + 7) / 8
	if rowSize == 0 || rowSize > 1<<20 {
		return nil, errUnpack
	}

	// Each row has a byte before it that names its filter.
	out := make([]byte, 0, len(data))
	above := make([]byte, rowSize)
	for ; len(data) > rowSize; data = data[rowSize+1:] {
		out = append(out, data[1:rowSize+1]...)
		row := out[len(out)-rowSize:]
		if !undoFilter(data[0], row, above, pixel) {
			return nil, errUnpack
		}
		above = row
	}
	return out, nil
}

// undoFilter restores a row in place, given the row above it.
func undoFilter(kind byte, row, above []byte, pixel int) bool {
	for i := range row {
		var left, corner byte
		if i >= pixel {
			left = row[i-pixel]
			corner = above[i-pixel]
		}

		switch kind {
		case 0:
		case 1:
			row[i] += left
		case 2:
			row[i] += above[i]
		case 3:
			row[i] += byte((int(left) + int(above[i])) / 2)
		case 4:
			row[i] += paeth(left, above[i], corner)
		default:
			return false
		}
	}
	return true
}

// paeth is the predictor of PNG's fourth filter: of three neighbours, the one
// that is nearest to left + up - corner.
func paeth(left, up, corner byte) byte {
	estimate := int(left) + int(up) - int(corner)
	toLeft := distance(estimate, int(left))
	toUp := distance(estimate, int(up))
	toCorner := distance(estimate, int(corner))

	switch {
	case toLeft <= toUp && toLeft <= toCorner:
		return left
	case toUp <= toCorner:
		return up
	}
	return corner
}

func distance(a, b int) int { return max(a-b, b-a) }
