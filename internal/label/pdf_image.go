package label

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
	"strings"

	"golang.org/x/image/ccitt"
)

// maxPDFPicture bounds the unpacked bytes of one picture, maxPDFContent those
// of what draws it.
const (
	maxPDFPicture = 32 << 20
	maxPDFContent = 64 << 10
)

// imagePages returns the pages as pictures, if each page is one picture and
// nothing else.
func imagePages(files []*pdfFile) ([]raster, bool) {
	var rasters []raster
	for _, file := range files {
		file.budget = maxPDFUnpacked
		for _, page := range file.pages {
			picture, ok := file.readPicture(page)
			if !ok || len(rasters) == maxPages {
				return nil, false
			}
			rasters = append(rasters, picture)
		}
	}
	return rasters, true
}

// painter follows the few operators that place pictures.
type painter struct {
	file       *pdfFile
	state      [6]float64
	saved      [][6]float64
	image      pdfObject
	position   [6]float64 // of the image
	images     int
	drawsOther bool // something else than an image, or what cannot be followed
}

// readPicture returns a page's picture, if the page shows one picture and
// nothing else.
func (f *pdfFile) readPicture(page pdfPage) (raster, bool) {
	var content []byte
	for _, ref := range page.contents {
		data, err := f.unpackStream(f.objects[ref], maxPDFContent)
		if err != nil {
			return raster{}, false
		}
		content = append(append(content, data...), '\n')
	}

	painter := painter{file: f, state: [6]float64{1, 0, 0, 1, 0, 0}}
	painter.paint(content, f.resolveDict(page.resources), 0)
	if painter.drawsOther || painter.images != 1 {
		return raster{}, false
	}

	dpi, ok := painter.resolution()
	if !ok {
		return raster{}, false
	}
	picture, ok := f.decodeImage(painter.image)
	if !ok {
		return raster{}, false
	}
	return newRaster(picture, dpi), true
}

// resolution is how many dots of the picture an inch has. A picture that is
// skewed, stretched or mirrored has none.
func (p *painter) resolution() (dpi int, ok bool) {
	matrix := p.position
	across := math.Hypot(matrix[0], matrix[1])
	down := math.Hypot(matrix[2], matrix[3])
	isStraight := math.Abs(matrix[1])+math.Abs(matrix[2]) < 0.01*across || math.Abs(matrix[0])+math.Abs(matrix[3]) < 0.01*across
	if !isStraight || matrix[0]*matrix[3]-matrix[1]*matrix[2] <= 0 || across < minPDFSide || down < minPDFSide {
		return 0, false
	}

	width, _ := p.file.number(p.image.dict().get("Width"))
	height, _ := p.file.number(p.image.dict().get("Height"))
	dpiX := width / across * 72
	dpiY := height / down * 72
	return int(math.Round(dpiX)), math.Abs(dpiX-dpiY) < 0.03*dpiX && dpiX >= 72 && dpiX < 1500
}

// invisibleOperators lists operators that draw nothing by themselves.
const invisibleOperators = " n re W W* gs g G rg RG k K w J j M d i ri BMC BDC EMC MP DP cs CS BX EX "

// paint follows a content stream until its end, or until it draws something
// else than an image.
func (p *painter) paint(content []byte, resources pdfDict, depth int) {
	lexer := &pdfLexer{data: content}
	var operands []any
	for {
		lexer.skipSpace()
		if p.drawsOther || lexer.pos >= len(content) {
			return
		}

		if c := content[lexer.pos]; c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			p.apply(lexer.readWord(), operands, resources, depth)
			operands = operands[:0]
			continue
		}

		operand, err := lexer.readValue(0)
		operands = append(operands, operand)
		if err != nil || len(operands) > 16 {
			p.drawsOther = true
		}
	}
}

// apply applies one operator.
func (p *painter) apply(op string, operands []any, resources pdfDict, depth int) {
	switch op {
	case "q":
		p.saved = append(p.saved, p.state)
		p.drawsOther = p.drawsOther || len(p.saved) > maxPDFDepth

	case "Q":
		if n := len(p.saved); n > 0 {
			p.state = p.saved[n-1]
			p.saved = p.saved[:n-1]
		}

	case "cm":
		matrix, ok := matrixOf(operands)
		p.drawsOther = p.drawsOther || !ok
		p.state = multiply(matrix, p.state)

	case "Do":
		if len(operands) != 1 {
			p.drawsOther = true
			return
		}
		name, _ := operands[0].(pdfName)
		p.paintXObject(p.file.resolveDict(resources.get("XObject")).get(name), depth)

	default:
		p.drawsOther = p.drawsOther || !strings.Contains(invisibleOperators, " "+op+" ")
	}
}

// paintXObject paints a picture, or a form that holds one.
func (p *painter) paintXObject(value any, depth int) {
	ref, _ := value.(pdfRef)
	object := p.file.objects[ref]
	switch dict := object.dict(); {
	case object.stream == nil:
		p.drawsOther = true

	case p.file.resolve(dict.get("Subtype")) == pdfName("Image"):
		p.image = object
		p.position = p.state
		p.images++

	// A form may draw itself, so the depth is limited.
	case p.file.resolve(dict.get("Subtype")) == pdfName("Form") && depth < 3:
		content, err := p.file.unpackStream(object, maxPDFContent)
		if err != nil {
			p.drawsOther = true
			return
		}

		before := p.state
		if list, ok := p.file.resolve(dict.get("Matrix")).(pdfArray); ok {
			matrix, ok := matrixOf(list)
			p.drawsOther = p.drawsOther || !ok
			p.state = multiply(matrix, p.state)
		}
		p.paint(content, p.file.resolveDict(dict.get("Resources")), depth+1)
		p.state = before

	default:
		p.drawsOther = true
	}
}

func matrixOf(list []any) (matrix [6]float64, ok bool) {
	if len(list) != 6 {
		return matrix, false
	}
	for i, value := range list {
		if matrix[i], ok = value.(float64); !ok {
			return matrix, false
		}
	}
	return matrix, true
}

// multiply is the matrix that applies m, then n.
func multiply(m, n [6]float64) [6]float64 {
	return [6]float64{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// decodeImage decodes a picture of the file.
func (f *pdfFile) decodeImage(object pdfObject) (*bitmap, bool) {
	dict := object.dict()
	width, _ := f.number(dict.get("Width"))
	height, _ := f.number(dict.get("Height"))
	if lintSides(int(width), int(height)) != nil || dict.has("SMask") || dict.has("Mask") {
		return nil, false
	}

	filters, err := f.streamFilters(dict)
	if err != nil {
		return nil, false
	}
	innermost := pdfName("")
	if len(filters) > 0 {
		innermost = filters[len(filters)-1]
	}

	switch innermost {
	case "DCTDecode", "DCT":
		raw, err := unpack(object.stream, filters[:len(filters)-1], maxFileBytes)
		if err != nil || lintJPEG(raw) != nil {
			return nil, false
		}
		picture, err := jpeg.Decode(bytes.NewReader(raw))
		if err != nil {
			return nil, false
		}
		return blacken(picture), true

	case "CCITTFaxDecode", "CCF":
		raw, err := unpack(object.stream, filters[:len(filters)-1], maxFileBytes)
		if err != nil {
			return nil, false
		}
		return f.decodeFax(dict, raw, int(width), int(height))
	}

	data, err := f.unpackStream(object, maxPDFPicture)
	if err != nil {
		return nil, false
	}
	return f.decodeSamples(dict, data, int(width), int(height))
}

// decodeFax decodes CCITT group 3 and 4.
func (f *pdfFile) decodeFax(dict pdfDict, raw []byte, width, height int) (*bitmap, bool) {
	// A positive K mixes one- and two-dimensional rows, which the decoder does
	// not know.
	params := f.decodeParams(dict)
	form := ccitt.Group3
	if k, _ := f.number(params.get("K")); k < 0 {
		form = ccitt.Group4
	} else if k > 0 {
		return nil, false
	}

	// Without the entry a row has 1728 columns, the width of a fax.
	if columns, ok := f.number(params.get("Columns")); ok && int(columns) != width || !ok && width != 1728 {
		return nil, false
	}

	align, _ := f.resolve(params.get("EncodedByteAlign")).(bool)
	blackIs1, _ := f.resolve(params.get("BlackIs1")).(bool)
	grey := image.NewGray(image.Rect(0, 0, width, height))
	if err := ccitt.DecodeIntoGray(grey, bytes.NewReader(raw), ccitt.MSB, form, &ccitt.Options{Align: align, Invert: blackIs1}); err != nil {
		return nil, false
	}

	if f.isInverted(dict) {
		for i := range grey.Pix {
			grey.Pix[i] = ^grey.Pix[i]
		}
	}
	return blacken(grey), true
}

// isInverted reports whether a sample of zero is white. A mask paints its
// zeros black.
func (f *pdfFile) isInverted(dict pdfDict) bool {
	list, _ := f.resolve(dict.get("Decode")).(pdfArray)
	return len(list) > 0 && list[0] == 1.0
}
