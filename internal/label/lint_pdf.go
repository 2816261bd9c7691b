package label

import "slices"

// The limits of a carrier's PDF.
const (
	maxPDFNumber   = 1 << 18 // of an object
	maxPDFUnpacked = 48 << 20
	maxPDFPages    = 50
	maxPDFDots     = 64 << 20 // of all pictures
	minPDFSide     = 36       // points of a page
	maxPDFSide     = 2000
)

// active lists the names that stand for scripts, actions, forms, attachments
// and things outside of the file. A label needs none of them, so they are
// refused wherever they stand, as a key or as a value.
var active = map[pdfName]bool{
	"JavaScript": true, "JS": true, "Launch": true, "URI": true, "GoToR": true, "GoToE": true, "SubmitForm": true, "ResetForm": true,
	"ImportData": true, "Rendition": true, "Movie": true, "Sound": true, "RichMedia": true, "RichMediaExecute": true,
	"RichMediaContent": true, "GoTo3DView": true, "3D": true, "U3D": true, "SetOCGState": true,
	"AA": true, "EmbeddedFile": true, "EmbeddedFiles": true, "FileAttachment": true, "Filespec": true, "EF": true,
	"Collection": true, "XFA": true, "Encrypt": true, "OPI": true, "URLS": true, "AcroForm": true,
}

// filters lists the ways of packing that are let through. The missing ones
// encrypt, grow without bounds, or have decoders so intricate that they are
// attacked.
var filters = map[pdfName]bool{
	"FlateDecode": true, "Fl": true, "RunLengthDecode": true, "RL": true, "DCTDecode": true, "DCT": true,
	"CCITTFaxDecode": true, "CCF": true, "ASCII85Decode": true, "A85": true, "ASCIIHexDecode": true, "AHx": true,
}

// checkValues looks at every name of the file.
func (f *pdfFile) checkValues() error {
	for _, d := range f.trailer {
		if err := f.checkValue(d); err != nil {
			return err
		}
	}
	for _, n := range f.order {
		if err := f.checkValue(f.objects[n].value); err != nil {
			return err
		}
	}
	return nil
}

func (f *pdfFile) checkValue(v any) error {
	switch v := v.(type) {
	case pdfName:
		if active[v] {
			return finding("pdf_active", "it has scripts, actions, forms, attachments or links")
		}
	case pdfArray:
		for _, item := range v {
			if err := f.checkValue(item); err != nil {
				return err
			}
		}
	case pdfDict:
		return f.checkDict(v)
	}
	return nil
}

func (f *pdfFile) checkDict(d pdfDict) error {
	for _, e := range d {
		if err := f.checkValue(e.key); err != nil {
			return err
		}
		if err := f.checkValue(e.value); err != nil {
			return err
		}
	}
	switch f.resolve(d.get("S")) {
	case pdfName("Named"), pdfName("Thread"), pdfName("Hide"):
		return finding("pdf_active", "it has an action")
	}
	return nil
}

// checkStreams looks at how streams are packed, and unpacks what could be
// larger than it looks.
func (f *pdfFile) checkStreams() error {
	dots := 0
	for _, n := range f.order {
		o := f.objects[n]
		if o.stream == nil {
			continue
		}
		d := o.dict()
		if d.has("F") || d.has("FFilter") || d.has("FDecodeParms") || d.has("Ref") {
			return finding("pdf_external", "a stream is kept outside of the file")
		}
		switch f.resolve(d.get("Subtype")) {
		case pdfName("PS"):
			return finding("pdf_active", "it has a program")
		case pdfName("Image"):
			w, _ := f.number(d.get("Width"))
			h, _ := f.number(d.get("Height"))
			if w < 1 || h < 1 || w > 1<<15 || h > 1<<15 {
				return finding("image_size", "a picture has dimensions out of bounds")
			}
			if dots += int(w) * int(h); dots > maxPDFDots {
				return finding("image_size", "the pictures have too many dots")
			}
		}
		if err := f.checkPacking(o); err != nil {
			return err
		}
	}
	return nil
}

// checkPacking unpacks a stream as far as it is packed by a common method;
// what it holds is of no interest here.
func (f *pdfFile) checkPacking(o pdfObject) error {
	names, err := f.filtersOf(o.dict())
	if err != nil {
		return err
	}
	for i, name := range names {
		if !filters[name] {
			return finding("pdf_filter", "a stream is packed in a way that is not handed on")
		}
		if parms := f.parms(o.dict()); f.tooMany(parms.get("Columns")) || f.tooMany(parms.get("Rows")) {
			return finding("image_size", "a picture has dimensions out of bounds")
		}
		if name == "FlateDecode" || name == "Fl" {
			raw, err := unpack(o.stream, names[:i], maxFileBytes)
			if err != nil {
				return errPDFStream
			}
			size, ok := inflatedSize(raw, f.budget)
			if f.budget -= size; !ok {
				return finding("pdf_bomb", "a stream unpacks to more than a label needs")
			}
		}
	}
	return nil
}

func (f *pdfFile) tooMany(v any) bool {
	n, ok := f.number(v)
	return ok && (n < 0 || n > 1<<16)
}

// filtersOf lists how a stream is packed, the outermost first.
func (f *pdfFile) filtersOf(d pdfDict) ([]pdfName, error) {
	switch v := f.resolve(d.get("Filter")).(type) {
	case nil:
		return nil, nil
	case pdfName:
		return []pdfName{v}, nil
	case pdfArray:
		var names []pdfName
		for _, item := range v {
			name, ok := f.resolve(item).(pdfName)
			if !ok || len(names) == 2 || slices.Contains(names, name) {
				return nil, finding("pdf_filter", "a stream is packed too often")
			}
			names = append(names, name)
		}
		return names, nil
	}
	return nil, finding("pdf_filter", "a stream is packed in a way that is not handed on")
}
