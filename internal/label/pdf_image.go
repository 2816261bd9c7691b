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
	var all []raster
	for _, f := range files {
		f.budget = maxPDFUnpacked
		for _, p := range f.pages {
			r, ok := f.picture(p)
			if !ok || len(all) == maxPages {
				return nil, false
			}
			all = append(all, r)
		}
	}
	return all, true
}

// painter follows the few operators that place pictures.
type painter struct {
	file  *pdfFile
	state [6]float64
	saved [][6]float64
	image pdfObject
	at    [6]float64
	found int
	odd   bool // something else is drawn
}

func (f *pdfFile) picture(p pdfPage) (raster, bool) {
	var content []byte
	for _, ref := range p.contents {
		data, err := f.contents(f.objects[ref], maxPDFContent)
		if err != nil {
			return raster{}, false
		}
		content = append(append(content, data...), '\n')
	}
	t := painter{file: f, state: [6]float64{1, 0, 0, 1, 0, 0}}
	t.paint(content, f.dictOf(p.resources), 0)
	if t.odd || t.found != 1 {
		return raster{}, false
	}
	dpi, ok := t.resolution()
	if !ok {
		return raster{}, false
	}
	b, ok := f.bitmap(t.image)
	if !ok {
		return raster{}, false
	}
	return newRaster(b, dpi), true
}

// resolution is how many dots of the picture an inch has. A picture that is
// skewed, stretched or mirrored has none.
func (t *painter) resolution() (int, bool) {
	m := t.at
	across, down := math.Hypot(m[0], m[1]), math.Hypot(m[2], m[3])
	straight := math.Abs(m[1])+math.Abs(m[2]) < 0.01*across || math.Abs(m[0])+math.Abs(m[3]) < 0.01*across
	if !straight || m[0]*m[3]-m[1]*m[2] <= 0 || across < minPDFSide || down < minPDFSide {
		return 0, false
	}
	w, _ := t.file.number(t.image.dict().get("Width"))
	h, _ := t.file.number(t.image.dict().get("Height"))
	x, y := w/across*72, h/down*72
	return int(math.Round(x)), math.Abs(x-y) < 0.03*x && x >= 72 && x < 1500
}

// harmless lists operators that draw nothing by themselves.
const harmless = " n re W W* gs g G rg RG k K w J j M d i ri BMC BDC EMC MP DP cs CS BX EX "

func (t *painter) paint(content []byte, resources pdfDict, depth int) {
	l := &pdfLexer{data: content}
	var operands []any
	for {
		l.space()
		if t.odd || l.pos >= len(content) {
			return
		}
		if c := content[l.pos]; c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' {
			t.operator(l.word(), operands, resources, depth)
			operands = operands[:0]
			continue
		}
		v, err := l.value(0)
		if operands = append(operands, v); err != nil || len(operands) > 16 {
			t.odd = true
		}
	}
}

func (t *painter) operator(op string, operands []any, resources pdfDict, depth int) {
	switch op {
	case "q":
		t.saved = append(t.saved, t.state)
		t.odd = t.odd || len(t.saved) > maxPDFDepth
	case "Q":
		if n := len(t.saved); n > 0 {
			t.state, t.saved = t.saved[n-1], t.saved[:n-1]
		}
	case "cm":
		m, ok := matrixOf(operands)
		t.odd = t.odd || !ok
		t.state = multiply(m, t.state)
	case "Do":
		if len(operands) != 1 {
			t.odd = true
			return
		}
		name, _ := operands[0].(pdfName)
		t.do(t.file.dictOf(resources.get("XObject")).get(name), depth)
	default:
		t.odd = t.odd || !strings.Contains(harmless, " "+op+" ")
	}
}

// do paints a picture, or a form that holds one.
func (t *painter) do(v any, depth int) {
	ref, _ := v.(pdfRef)
	o := t.file.objects[ref]
	switch d := o.dict(); {
	case o.stream == nil:
		t.odd = true
	case t.file.resolve(d.get("Subtype")) == pdfName("Image"):
		t.image, t.at = o, t.state
		t.found++
	case t.file.resolve(d.get("Subtype")) == pdfName("Form") && depth < 3:
		content, err := t.file.contents(o, maxPDFContent)
		if err != nil {
			t.odd = true
			return
		}
		before := t.state
		if list, ok := t.file.resolve(d.get("Matrix")).(pdfArray); ok {
			m, ok := matrixOf(list)
			t.odd = t.odd || !ok
			t.state = multiply(m, t.state)
		}
		t.paint(content, t.file.dictOf(d.get("Resources")), depth+1)
		t.state = before
	default:
		t.odd = true
	}
}

func matrixOf(list []any) (m [6]float64, ok bool) {
	if len(list) != 6 {
		return m, false
	}
	for i, v := range list {
		if m[i], ok = v.(float64); !ok {
			return m, false
		}
	}
	return m, true
}

// multiply is m, then n.
func multiply(m, n [6]float64) [6]float64 {
	return [6]float64{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// bitmap decodes a picture of a file.
func (f *pdfFile) bitmap(o pdfObject) (*bitmap, bool) {
	d := o.dict()
	w, _ := f.number(d.get("Width"))
	h, _ := f.number(d.get("Height"))
	if lintSides(int(w), int(h)) != nil || d.has("SMask") || d.has("Mask") {
		return nil, false
	}
	names, err := f.filtersOf(d)
	if err != nil {
		return nil, false
	}
	last := pdfName("")
	if len(names) > 0 {
		last = names[len(names)-1]
	}
	switch last {
	case "DCTDecode", "DCT":
		raw, err := unpack(o.stream, names[:len(names)-1], maxFileBytes)
		if err != nil || lintJPEG(raw) != nil {
			return nil, false
		}
		img, err := jpeg.Decode(bytes.NewReader(raw))
		if err != nil {
			return nil, false
		}
		return blacken(img), true
	case "CCITTFaxDecode", "CCF":
		raw, err := unpack(o.stream, names[:len(names)-1], maxFileBytes)
		if err != nil {
			return nil, false
		}
		return f.fax(d, raw, int(w), int(h))
	}
	data, err := f.contents(o, maxPDFPicture)
	if err != nil {
		return nil, false
	}
	return f.samples(d, data, int(w), int(h))
}

// fax decodes CCITT group 3 and 4.
func (f *pdfFile) fax(d pdfDict, raw []byte, w, h int) (*bitmap, bool) {
	parms := f.parms(d)
	form := ccitt.Group3
	if k, _ := f.number(parms.get("K")); k < 0 {
		form = ccitt.Group4
	} else if k > 0 {
		return nil, false
	}
	if columns, ok := f.number(parms.get("Columns")); ok && int(columns) != w || !ok && w != 1728 {
		return nil, false
	}
	align, _ := f.resolve(parms.get("EncodedByteAlign")).(bool)
	blackIs1, _ := f.resolve(parms.get("BlackIs1")).(bool)
	grey := image.NewGray(image.Rect(0, 0, w, h))
	if err := ccitt.DecodeIntoGray(grey, bytes.NewReader(raw), ccitt.MSB, form, &ccitt.Options{Align: align, Invert: blackIs1}); err != nil {
		return nil, false
	}
	if f.inverted(d) {
		for i := range grey.Pix {
			grey.Pix[i] = ^grey.Pix[i]
		}
	}
	return blacken(grey), true
}

// inverted reports whether a sample of zero is white. A mask paints its
// zeros black.
func (f *pdfFile) inverted(d pdfDict) bool {
	list, _ := f.resolve(d.get("Decode")).(pdfArray)
	return len(list) > 0 && list[0] == 1.0
}
