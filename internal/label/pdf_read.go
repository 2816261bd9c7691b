package label

import "bytes"

// pdfObject is one object of a file.
type pdfObject struct {
	value  any
	stream []byte // as it stands in the file; nil if it is not a stream
	offset int    // where it stands, -1 inside of another
}

// dict is the object's dictionary, empty if it has none.
func (o pdfObject) dict() pdfDict {
	d, _ := o.value.(pdfDict)
	return d
}

// pdfFile is a carrier's file that was read whole and found harmless.
type pdfFile struct {
	objects map[pdfRef]pdfObject
	order   []pdfRef // as they stand in the file
	trailer []pdfDict
	tables  map[int]pdfTable // by offset
	starts  []int            // what the file calls offsets of tables
	pages   []pdfPage
	budget  int // bytes that may still be unpacked
}

// pdfTable says where objects stand.
type pdfTable map[pdfRef]int

// readPDF reads the whole file from its first byte to the last, not just what
// its tables lead to: then no reader can find an object that was not seen
// here. What is active, reaches out of the file, is hidden, or is larger than
// a label needs is a finding.
func readPDF(data []byte) (*pdfFile, error) {
	f := &pdfFile{objects: map[pdfRef]pdfObject{}, tables: map[int]pdfTable{}, budget: maxPDFUnpacked}
	steps := []func() error{
		func() error { return f.scan(data) },
		f.checkLengths,
		f.openObjectStreams,
		f.checkValues,
		f.checkStreams,
		f.checkTables,
		f.readPages,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// scan reads one thing after the other: objects, tables, trailers.
func (f *pdfFile) scan(data []byte) error {
	if len(data) < 9 || !bytes.HasPrefix(data, []byte("%PDF-")) || data[6] != '.' ||
		(data[5] != '1' && data[5] != '2') || data[7] < '0' || data[7] > '7' || !isPDFSpace(data[8]) {
		return finding("pdf_header", "it does not begin as a pdf file")
	}
	if !bytes.HasSuffix(bytes.TrimRight(data, "\r\n\x00 "), []byte("%%EOF")) {
		return finding("pdf_cut_off", "it does not end as a pdf file")
	}
	l := &pdfLexer{data: data}
	for {
		l.space()
		at := l.pos
		var err error
		switch {
		case at >= len(data):
			return nil
		case l.accept("xref"):
			err = f.scanTable(l, at)
		case l.accept("startxref"):
			n, ok := l.whole()
			if f.starts = append(f.starts, n); !ok {
				err = errPDFSyntax
			}
		default:
			err = f.scanObject(l, at)
		}
		if err != nil {
			return err
		}
	}
}

// scanTable reads a table and the trailer after it.
func (f *pdfFile) scanTable(l *pdfLexer, at int) error {
	table := pdfTable{}
	for {
		first, ok := l.whole()
		if !ok {
			break
		}
		count, ok := l.whole()
		if !ok || first+count > maxPDFNumber {
			return errPDFTable
		}
		for i := range count {
			offset, ok := l.whole()
			_, ok2 := l.whole()
			if l.space(); !ok || !ok2 {
				return errPDFTable
			}
			switch {
			case l.accept("n"):
				table[pdfRef(first+i)] = offset
			case !l.accept("f"):
				return errPDFTable
			}
		}
	}
	f.tables[at] = table
	if l.space(); !l.accept("trailer") {
		return errPDFTable
	}
	v, err := l.value(0)
	if err != nil {
		return err
	}
	d, ok := v.(pdfDict)
	if f.trailer = append(f.trailer, d); !ok {
		return errPDFSyntax
	}
	return nil
}

// scanObject reads "7 0 obj ... endobj".
func (f *pdfFile) scanObject(l *pdfLexer, at int) error {
	n, ok := l.whole()
	_, ok2 := l.whole()
	if l.space(); !ok || !ok2 || !l.accept("obj") {
		return finding("pdf_stray", "there is something between the objects")
	}
	v, err := l.value(0)
	if err != nil {
		return err
	}
	o := pdfObject{value: v, offset: at}
	if l.space(); l.accept("stream") {
		if o.stream, err = scanStream(l, o.dict()); err != nil {
			return err
		}
		l.space()
	}
	if !l.accept("endobj") {
		return errPDFSyntax
	}
	return f.add(pdfRef(n), o)
}

func (f *pdfFile) add(n pdfRef, o pdfObject) error {
	if _, twice := f.objects[n]; twice {
		return finding("pdf_shadow", "it has two objects of one number")
	}
	if f.order = append(f.order, n); len(f.order) > maxPDFObjects || n > maxPDFNumber {
		return finding("too_large", "it has more than %d objects", maxPDFObjects)
	}
	f.objects[n] = o
	return nil
}

var errPDFStream = finding("pdf_stream", "a stream is not as long as it says")

// scanStream takes the bytes of a stream. If its length stands elsewhere, it
// ends at the first mark, and checkLengths compares.
func scanStream(l *pdfLexer, d pdfDict) ([]byte, error) {
	switch {
	case bytes.HasPrefix(l.data[l.pos:], []byte("\r\n")):
		l.pos += 2
	case bytes.HasPrefix(l.data[l.pos:], []byte("\n")):
		l.pos++
	default:
		return nil, errPDFStream
	}
	start, end := l.pos, 0
	switch length := d.get("Length").(type) {
	case float64:
		if length < 0 || length > float64(len(l.data)-start) || length != float64(int(length)) {
			return nil, errPDFStream
		}
		end = start + int(length)
	case pdfRef:
		if end = bytes.Index(l.data[start:], []byte("endstream")); end < 0 {
			return nil, errPDFStream
		}
		end += start
	default:
		return nil, errPDFStream
	}
	l.pos = end
	for range 2 { // the end of a line before the mark
		if l.pos < len(l.data) && (l.data[l.pos] == '\r' || l.data[l.pos] == '\n') {
			l.pos++
		}
	}
	if !l.accept("endstream") {
		return nil, errPDFStream
	}
	return l.data[start:end:end], nil
}

// checkLengths cuts the streams whose length stands elsewhere. Up to two
// bytes are the end of the line before the mark.
func (f *pdfFile) checkLengths() error {
	for _, n := range f.order {
		o := f.objects[n]
		ref, ok := o.dict().get("Length").(pdfRef)
		if o.stream == nil || !ok {
			continue
		}
		length, ok := f.objects[ref].value.(float64)
		rest := len(o.stream) - int(min(max(length, -1), maxFileBytes))
		if !ok || rest < 0 || rest > 2 || len(bytes.Trim(o.stream[len(o.stream)-rest:], "\r\n")) > 0 {
			return errPDFStream
		}
		o.stream = o.stream[:len(o.stream)-rest]
		f.objects[n] = o
	}
	return nil
}

// resolve follows references.
func (f *pdfFile) resolve(v any) any {
	for range 8 {
		ref, ok := v.(pdfRef)
		if !ok {
			return v
		}
		v = f.objects[ref].value
	}
	return nil
}

// dictOf resolves a dictionary, empty if it is something else.
func (f *pdfFile) dictOf(v any) pdfDict {
	d, _ := f.resolve(v).(pdfDict)
	return d
}

// number resolves a number.
func (f *pdfFile) number(v any) (float64, bool) {
	n, ok := f.resolve(v).(float64)
	return n, ok
}
