package label

// pdfPage is one page with what it inherits.
type pdfPage struct {
	box       [4]float64 // left, bottom, right, top: in points
	rotate    int        // degrees clockwise
	resources any
	contents  []pdfRef
}

// size is the size of the page as it is viewed.
func (p pdfPage) size() (width, height float64) {
	width = p.box[2] - p.box[0]
	height = p.box[3] - p.box[1]
	if p.rotate%180 != 0 {
		return height, width
	}
	return width, height
}

var errPDFPages = finding("pdf_pages", "its pages cannot be found")

// readPages walks the tree of pages.
func (f *pdfFile) readPages() error {
	var root pdfDict
	for _, trailer := range f.trailer {
		if trailer.has("Root") {
			root = f.resolveDict(trailer.get("Root"))
			break
		}
	}
	if f.resolve(root.get("Type")) != pdfName("Catalog") {
		return errPDFPages
	}

	seen := map[pdfRef]bool{}
	if err := f.readPageTree(root.get("Pages"), pdfDict{}, seen, 0); err != nil {
		return err
	}
	if len(f.pages) == 0 {
		return errPDFPages
	}
	return nil
}

// inheritedKeys are the keys that a page takes from its parents.
var inheritedKeys = []pdfName{"MediaBox", "CropBox", "Rotate", "Resources", "UserUnit"}

// readPageTree reads a node of the tree and the pages below it. A node that was
// seen before is an error: a tree has no cycles.
func (f *pdfFile) readPageTree(value any, parent pdfDict, seen map[pdfRef]bool, depth int) error {
	ref, ok := value.(pdfRef)
	if !ok || seen[ref] || depth > maxPDFDepth {
		return errPDFPages
	}
	seen[ref] = true

	node := f.resolveDict(ref)
	attributes := pdfDict{}
	for _, key := range inheritedKeys {
		if value := node.get(key); value != nil {
			attributes = append(attributes, pdfEntry{key, value})
		} else if value := parent.get(key); value != nil {
			attributes = append(attributes, pdfEntry{key, value})
		}
	}

	switch f.resolve(node.get("Type")) {
	case pdfName("Pages"):
		kids, _ := f.resolve(node.get("Kids")).(pdfArray)
		for _, kid := range kids {
			if err := f.readPageTree(kid, attributes, seen, depth+1); err != nil {
				return err
			}
		}
		return nil
	case pdfName("Page"):
		return f.readPage(node, attributes)
	}
	return errPDFPages
}

// readPage reads a page from its node and its own and inherited attributes.
func (f *pdfFile) readPage(node, attributes pdfDict) error {
	page := pdfPage{resources: attributes.get("Resources")}
	var ok bool
	if page.box, ok = f.readBox(attributes.get("MediaBox")); !ok {
		return errPDFPages
	}

	// The rotation may be negative.
	rotate, _ := f.number(attributes.get("Rotate"))
	if page.rotate = (int(rotate)%360 + 360) % 360; page.rotate%90 != 0 {
		return errPDFPages
	}

	width, height := page.size()
	unit, scaled := f.number(attributes.get("UserUnit"))
	if width < minPDFSide || height < minPDFSide || width > maxPDFSide || height > maxPDFSide || scaled && unit != 1 {
		return finding("pdf_size", "the size of a page is out of range for a label")
	}

	switch value := node.get("Contents").(type) {
	case pdfRef:
		page.contents = f.contentRefs(value)
	case pdfArray:
		for _, item := range value {
			if ref, ok := item.(pdfRef); ok {
				page.contents = append(page.contents, ref)
			}
		}
	}

	if f.pages = append(f.pages, page); len(f.pages) > maxPDFPages {
		return finding("pdf_pages", "it has more than %d pages", maxPDFPages)
	}
	return nil
}

// readBox reads two opposite corners, which may be in any order.
func (f *pdfFile) readBox(value any) (box [4]float64, ok bool) {
	list, _ := f.resolve(value).(pdfArray)
	if len(list) != 4 {
		return box, false
	}
	for i := range box {
		if box[i], ok = f.number(list[i]); !ok {
			return box, false
		}
	}
	return [4]float64{
		min(box[0], box[2]),
		min(box[1], box[3]),
		max(box[0], box[2]),
		max(box[1], box[3]),
	}, true
}

// contentRefs lists the streams behind a reference: one, or an array of them.
func (f *pdfFile) contentRefs(ref pdfRef) []pdfRef {
	if f.objects[ref].stream != nil {
		return []pdfRef{ref}
	}

	var refs []pdfRef
	list, _ := f.resolve(ref).(pdfArray)
	for _, item := range list {
		if stream, ok := item.(pdfRef); ok {
			refs = append(refs, stream)
		}
	}
	return refs
}
