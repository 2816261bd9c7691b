package label

import "bytes"

// pdfObject is one object of a file.
type pdfObject struct {
	value  any
	stream []byte // as it is in the file; nil if it is not a stream
	offset int    // in the file; negative inside of another object
}

// dict is the object's dictionary, empty if it has none.
func (o pdfObject) dict() pdfDict {
	dict, _ := o.value.(pdfDict)
	return dict
}

// pdfFile is a carrier's file that was read completely and found harmless.
type pdfFile struct {
	objects map[pdfRef]pdfObject
	order   []pdfRef // in which they are in the file
	trailer []pdfDict
	tables  map[int]pdfTable // by offset
	starts  []int            // the offsets of tables that the file declares
	pages   []pdfPage
	budget  int // bytes that may still be unpacked
}

// pdfTable holds the offsets of objects.
type pdfTable map[pdfRef]int

// readPDF reads the whole file from its first byte to the last, not just what
// its tables lead to: then no reader can find an object that was not seen
// here. What is active, reaches out of the file, is hidden, or is larger than
// a label needs is a finding.
func readPDF(data []byte) (*pdfFile, error) {
	file := &pdfFile{
		objects: map[pdfRef]pdfObject{},
		tables:  map[int]pdfTable{},
		budget:  maxPDFUnpacked,
	}

	// The order matters: streams are cut to their lengths before they are
	// unpacked, and packed objects are opened before all objects are checked.
	steps := []func() error{
		func() error { return file.scan(data) },
		file.checkLengths,
		file.openObjectStreams,
		file.checkValues,
		file.checkStreams,
		file.checkTables,
		file.readPages,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return file, nil
}

// scan reads one thing after the other: objects, tables, trailers.
func (f *pdfFile) scan(data []byte) error {
	if len(data) < 9 || !bytes.HasPrefix(data, []byte("%PDF-")) || data[6] != '.' ||
		(data[5] != '1' && data[5] != '2') || data[7] < '0' || data[7] > '7' || !isPDFSpace(data[8]) {
		return finding("pdf_header", "it does not begin with a PDF header")
	}
	if !bytes.HasSuffix(bytes.TrimRight(data, "\r\n\x00 "), []byte("%%EOF")) {
		return finding("pdf_cut_off", "it has no end-of-file marker")
	}

	lexer := &pdfLexer{data: data}
	for {
		lexer.skipSpace()
		offset := lexer.pos

		var err error
		switch {
		case offset >= len(data):
			return nil
		case lexer.accept("xref"):
			err = f.scanTable(lexer, offset)
		case lexer.accept("startxref"):
			start, ok := lexer.readInt()
			if f.starts = append(f.starts, start); !ok {
				err = errPDFSyntax
			}
		default:
			err = f.scanObject(lexer, offset)
		}
		if err != nil {
			return err
		}
	}
}

// scanTable reads a table and the trailer after it.
func (f *pdfFile) scanTable(lexer *pdfLexer, tableOffset int) error {
	table := pdfTable{}
	for {
		first, ok := lexer.readInt()
		if !ok {
			break
		}
		count, ok := lexer.readInt()
		if !ok || first+count > maxPDFNumber {
			return errPDFTable
		}

		for i := range count {
			offset, hasOffset := lexer.readInt()
			_, hasGeneration := lexer.readInt()
			if !hasOffset || !hasGeneration {
				return errPDFTable
			}

			lexer.skipSpace()
			switch {
			case lexer.accept("n"):
				table[pdfRef(first+i)] = offset
			case !lexer.accept("f"):
				return errPDFTable
			}
		}
	}
	f.tables[tableOffset] = table

	if lexer.skipSpace(); !lexer.accept("trailer") {
		return errPDFTable
	}
	value, err := lexer.readValue(0)
	if err != nil {
		return err
	}
	trailer, ok := value.(pdfDict)
	if f.trailer = append(f.trailer, trailer); !ok {
		return errPDFSyntax
	}
	return nil
}

// scanObject reads "7 0 obj ... endobj".
func (f *pdfFile) scanObject(lexer *pdfLexer, offset int) error {
	number, hasNumber := lexer.readInt()
	_, hasGeneration := lexer.readInt()
	if lexer.skipSpace(); !hasNumber || !hasGeneration || !lexer.accept("obj") {
		return finding("pdf_stray", "there is data between the objects")
	}

	value, err := lexer.readValue(0)
	if err != nil {
		return err
	}

	object := pdfObject{value: value, offset: offset}
	if lexer.skipSpace(); lexer.accept("stream") {
		if object.stream, err = scanStream(lexer, object.dict()); err != nil {
			return err
		}
		lexer.skipSpace()
	}
	if !lexer.accept("endobj") {
		return errPDFSyntax
	}
	return f.add(pdfRef(number), object)
}

// add adds an object. Two of the same number are an error, because readers do
// not agree on which of them counts.
func (f *pdfFile) add(ref pdfRef, object pdfObject) error {
	if _, exists := f.objects[ref]; exists {
		return finding("pdf_shadow", "it has two objects with the same number")
	}
	if f.order = append(f.order, ref); len(f.order) > maxPDFObjects || ref > maxPDFNumber {
		return finding("too_large", "it has more than %d objects", maxPDFObjects)
	}
	f.objects[ref] = object
	return nil
}

var errPDFStream = finding("pdf_stream", "the length of a stream does not match its declaration")

// scanStream takes the bytes of a stream. If its length is a reference, it ends
// at the first end mark, and checkLengths compares.
func scanStream(lexer *pdfLexer, dict pdfDict) ([]byte, error) {
	switch {
	case bytes.HasPrefix(lexer.data[lexer.pos:], []byte("\r\n")):
		lexer.pos += 2
	case bytes.HasPrefix(lexer.data[lexer.pos:], []byte("\n")):
		lexer.pos++
	default:
		return nil, errPDFStream
	}

	start := lexer.pos
	end := 0
	switch length := dict.get("Length").(type) {
	case float64:
		if length < 0 || length > float64(len(lexer.data)-start) || length != float64(int(length)) {
			return nil, errPDFStream
		}
		end = start + int(length)
	case pdfRef:
		if end = bytes.Index(lexer.data[start:], []byte("endstream")); end < 0 {
			return nil, errPDFStream
		}
		end += start
	default:
		return nil, errPDFStream
	}

	// A line end before the mark, of up to two bytes, is not part of the stream.
	lexer.pos = end
	for range 2 {
		if lexer.pos < len(lexer.data) && (lexer.data[lexer.pos] == '\r' || lexer.data[lexer.pos] == '\n') {
			lexer.pos++
		}
	}
	if !lexer.accept("endstream") {
		return nil, errPDFStream
	}
	return lexer.data[start:end:end], nil
}

// checkLengths cuts the streams whose length is a reference to the length that
// it refers to.
func (f *pdfFile) checkLengths() error {
	for _, number := range f.order {
		object := f.objects[number]
		ref, ok := object.dict().get("Length").(pdfRef)
		if object.stream == nil || !ok {
			continue
		}

		// scanStream took everything up to the end mark: the line end before it
		// may be left over, and nothing else.
		length, ok := f.objects[ref].value.(float64)
		rest := len(object.stream) - int(min(max(length, -1), maxFileBytes))
		if !ok || rest < 0 || rest > 2 || len(bytes.Trim(object.stream[len(object.stream)-rest:], "\r\n")) > 0 {
			return errPDFStream
		}
		object.stream = object.stream[:len(object.stream)-rest]
		f.objects[number] = object
	}
	return nil
}

// resolve follows references. Their number is limited, because they may form a
// cycle.
func (f *pdfFile) resolve(value any) any {
	for range 8 {
		ref, ok := value.(pdfRef)
		if !ok {
			return value
		}
		value = f.objects[ref].value
	}
	return nil
}

// resolveDict resolves a dictionary, empty if it is something else.
func (f *pdfFile) resolveDict(value any) pdfDict {
	dict, _ := f.resolve(value).(pdfDict)
	return dict
}

// number resolves a number.
func (f *pdfFile) number(value any) (float64, bool) {
	number, ok := f.resolve(value).(float64)
	return number, ok
}
