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

// activeNames lists the names of scripts, actions, forms, attachments and
// resources outside of the file. A label needs none of them, so they are
// refused wherever they appear, as a key or as a value.
var activeNames = map[pdfName]bool{
	"JavaScript": true, "JS": true, "Launch": true, "URI": true, "GoToR": true, "GoToE": true, "SubmitForm": true, "ResetForm": true,
	"ImportData": true, "Rendition": true, "Movie": true, "Sound": true, "RichMedia": true, "RichMediaExecute": true,
	"RichMediaContent": true, "GoTo3DView": true, "3D": true, "U3D": true, "SetOCGState": true,
	"AA": true, "EmbeddedFile": true, "EmbeddedFiles": true, "FileAttachment": true, "Filespec": true, "EF": true,
	"Collection": true, "XFA": true, "Encrypt": true, "OPI": true, "URLS": true, "AcroForm": true,
}

// allowedFilters lists the stream filters that are accepted. The others
// encrypt, grow without bounds, or have decoders so intricate that they are
// common targets of attacks.
var allowedFilters = map[pdfName]bool{
	"FlateDecode": true, "Fl": true, "RunLengthDecode": true, "RL": true, "DCTDecode": true, "DCT": true,
	"CCITTFaxDecode": true, "CCF": true, "ASCII85Decode": true, "A85": true, "ASCIIHexDecode": true, "AHx": true,
}

// checkValues checks every name of the file.
func (f *pdfFile) checkValues() error {
	for _, trailer := range f.trailer {
		if err := f.checkValue(trailer); err != nil {
			return err
		}
	}
	for _, ref := range f.order {
		if err := f.checkValue(f.objects[ref].value); err != nil {
			return err
		}
	}
	return nil
}

func (f *pdfFile) checkValue(value any) error {
	switch value := value.(type) {
	case pdfName:
		if activeNames[value] {
			return finding("pdf_active", "it contains scripts, actions, forms, attachments or links")
		}
	case pdfArray:
		for _, item := range value {
			if err := f.checkValue(item); err != nil {
				return err
			}
		}
	case pdfDict:
		return f.checkDict(value)
	}
	return nil
}

func (f *pdfFile) checkDict(dict pdfDict) error {
	for _, entry := range dict {
		if err := f.checkValue(entry.key); err != nil {
			return err
		}
		if err := f.checkValue(entry.value); err != nil {
			return err
		}
	}

	// Unlike activeNames, these are refused only as the type of an action.
	switch f.resolve(dict.get("S")) {
	case pdfName("Named"), pdfName("Thread"), pdfName("Hide"):
		return finding("pdf_active", "it contains an action")
	}
	return nil
}

// checkStreams checks how streams are packed, and unpacks those that could be
// larger than they look.
func (f *pdfFile) checkStreams() error {
	dots := 0
	for _, ref := range f.order {
		object := f.objects[ref]
		if object.stream == nil {
			continue
		}

		dict := object.dict()
		if dict.has("F") || dict.has("FFilter") || dict.has("FDecodeParms") || dict.has("Ref") {
			return finding("pdf_external", "a stream is stored outside the file")
		}

		switch f.resolve(dict.get("Subtype")) {
		case pdfName("PS"):
			return finding("pdf_active", "it contains a program")
		case pdfName("Image"):
			width, _ := f.number(dict.get("Width"))
			height, _ := f.number(dict.get("Height"))
			if width < 1 || height < 1 || width > 1<<15 || height > 1<<15 {
				return finding("image_size", "the dimensions of an image are out of range")
			}
			if dots += int(width) * int(height); dots > maxPDFDots {
				return finding("image_size", "the images have too many pixels")
			}
		}

		if err := f.checkPacking(object); err != nil {
			return err
		}
	}
	return nil
}

// checkPacking checks the filters of a stream, and measures what is behind
// those that can make a small stream large.
func (f *pdfFile) checkPacking(object pdfObject) error {
	names, err := f.streamFilters(object.dict())
	if err != nil {
		return err
	}

	for i, name := range names {
		if !allowedFilters[name] {
			return finding("pdf_filter", "a stream uses an unsupported compression filter")
		}
		params := f.decodeParams(object.dict())
		if f.exceedsSide(params.get("Columns")) || f.exceedsSide(params.get("Rows")) {
			return finding("image_size", "the dimensions of an image are out of range")
		}

		if name == "FlateDecode" || name == "Fl" {
			raw, err := unpack(object.stream, names[:i], maxFileBytes)
			if err != nil {
				return errPDFStream
			}

			// All streams of the file share one budget.
			size, ok := inflatedSize(raw, f.budget)
			if f.budget -= size; !ok {
				return finding("pdf_bomb", "a stream decompresses to more data than a label needs")
			}
		}
	}
	return nil
}

// exceedsSide reports whether a number of dots is out of bounds.
func (f *pdfFile) exceedsSide(value any) bool {
	dots, ok := f.number(value)
	return ok && (dots < 0 || dots > 1<<16)
}

// streamFilters lists the filters of a stream, the outermost first.
func (f *pdfFile) streamFilters(dict pdfDict) ([]pdfName, error) {
	switch value := f.resolve(dict.get("Filter")).(type) {
	case nil:
		return nil, nil

	case pdfName:
		return []pdfName{value}, nil

	case pdfArray:
		var names []pdfName
		for _, item := range value {
			name, ok := f.resolve(item).(pdfName)
			if !ok || len(names) == 2 || slices.Contains(names, name) {
				return nil, finding("pdf_filter", "a stream has too many compression filters")
			}
			names = append(names, name)
		}
		return names, nil
	}
	return nil, finding("pdf_filter", "a stream uses an unsupported compression filter")
}
