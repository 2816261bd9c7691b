package label

// pdfPage is one page with what it inherits.
type pdfPage struct {
	box       [4]float64 // left, bottom, right, top: in points
	rotate    int        // degrees clockwise
	resources any
	contents  []pdfRef
}

// size is the page as it is looked at.
func (p pdfPage) size() (width, height float64) {
	width, height = p.box[2]-p.box[0], p.box[3]-p.box[1]
	if p.rotate%180 != 0 {
		return height, width
	}
	return width, height
}

var errPDFPages = finding("pdf_pages", "its pages cannot be found")

// readPages walks the tree of pages.
func (f *pdfFile) readPages() error {
	var root pdfDict
	for _, d := range f.trailer {
		if d.has("Root") {
			root = f.dictOf(d.get("Root"))
			break
		}
	}
	if f.resolve(root.get("Type")) != pdfName("Catalog") {
		return errPDFPages
	}
	seen := map[pdfRef]bool{}
	if err := f.walk(root.get("Pages"), pdfDict{}, seen, 0); err != nil {
		return err
	}
	if len(f.pages) == 0 {
		return errPDFPages
	}
	return nil
}

// inherited are the keys that a page takes from above.
var inherited = []pdfName{"MediaBox", "CropBox", "Rotate", "Resources", "UserUnit"}

func (f *pdfFile) walk(v any, above pdfDict, seen map[pdfRef]bool, depth int) error {
	ref, ok := v.(pdfRef)
	if !ok || seen[ref] || depth > maxPDFDepth {
		return errPDFPages
	}
	seen[ref] = true
	node := f.dictOf(ref)
	own := pdfDict{}
	for _, key := range inherited {
		if v := node.get(key); v != nil {
			own = append(own, pdfEntry{key, v})
		} else if v := above.get(key); v != nil {
			own = append(own, pdfEntry{key, v})
		}
	}
	switch f.resolve(node.get("Type")) {
	case pdfName("Pages"):
		kids, _ := f.resolve(node.get("Kids")).(pdfArray)
		for _, kid := range kids {
			if err := f.walk(kid, own, seen, depth+1); err != nil {
				return err
			}
		}
		return nil
	case pdfName("Page"):
		return f.readPage(node, own)
	}
	return errPDFPages
}

func (f *pdfFile) readPage(node, own pdfDict) error {
	p := pdfPage{resources: own.get("Resources")}
	var ok bool
	if p.box, ok = f.box(own.get("MediaBox")); !ok {
		return errPDFPages
	}
	rotate, _ := f.number(own.get("Rotate"))
	if p.rotate = (int(rotate)%360 + 360) % 360; p.rotate%90 != 0 {
		return errPDFPages
	}
	w, h := p.size()
	if unit, scaled := f.number(own.get("UserUnit")); w < minPDFSide || h < minPDFSide || w > maxPDFSide || h > maxPDFSide || scaled && unit != 1 {
		return finding("pdf_size", "a page has a size that no label has")
	}
	switch v := node.get("Contents").(type) {
	case pdfRef:
		p.contents = f.contentRefs(v)
	case pdfArray:
		for _, item := range v {
			if ref, ok := item.(pdfRef); ok {
				p.contents = append(p.contents, ref)
			}
		}
	}
	if f.pages = append(f.pages, p); len(f.pages) > maxPDFPages {
		return finding("pdf_pages", "it has more than %d pages", maxPDFPages)
	}
	return nil
}

// box reads two corners, in whichever order they stand.
func (f *pdfFile) box(v any) (box [4]float64, ok bool) {
	list, _ := f.resolve(v).(pdfArray)
	if len(list) != 4 {
		return box, false
	}
	for i := range box {
		if box[i], ok = f.number(list[i]); !ok {
			return box, false
		}
	}
	return [4]float64{min(box[0], box[2]), min(box[1], box[3]), max(box[0], box[2]), max(box[1], box[3])}, true
}

// contentRefs lists the streams behind a reference: one, or an array of them.
func (f *pdfFile) contentRefs(ref pdfRef) []pdfRef {
	if f.objects[ref].stream != nil {
		return []pdfRef{ref}
	}
	var refs []pdfRef
	list, _ := f.resolve(ref).(pdfArray)
	for _, item := range list {
		if r, ok := item.(pdfRef); ok {
			refs = append(refs, r)
		}
	}
	return refs
}
