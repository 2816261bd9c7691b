package label

import "slices"

var errPDFTable = finding("pdf_table", "its cross-reference table is invalid")

// checkTables compares the tables with what is in the file. Each leads to
// objects that were seen, and nothing leads to a table that was not.
func (f *pdfFile) checkTables() error {
	if err := f.readTableStreams(); err != nil {
		return err
	}
	if len(f.tables) == 0 || len(f.starts) == 0 || len(f.trailer) == 0 {
		return errPDFTable
	}

	for _, table := range f.tables {
		for ref, offset := range table {
			if object, ok := f.objects[ref]; !ok || object.offset != offset {
				return errPDFTable
			}
		}
	}

	// A linearized file, made for the web, begins with a start of zero.
	for i, start := range f.starts {
		if _, ok := f.tables[start]; !ok && (start != 0 || i == len(f.starts)-1) {
			return errPDFTable
		}
	}

	var roots []pdfRef
	for _, trailer := range f.trailer {
		for _, key := range []pdfName{"Prev", "XRefStm"} {
			if offset, ok := trailer.get(key).(float64); trailer.has(key) && (!ok || f.tables[int(offset)] == nil) {
				return errPDFTable
			}
		}
		if root, ok := trailer.get("Root").(pdfRef); ok {
			roots = append(roots, root)
		} else if trailer.has("Root") {
			return errPDFTable
		}
	}

	// With several roots, what a reader shows depends on the one it takes.
	if len(slices.Compact(roots)) != 1 {
		return finding("pdf_shadow", "it has no root object, or several")
	}
	return nil
}

// readTableStreams reads the tables that are kept as streams.
func (f *pdfFile) readTableStreams() error {
	for _, ref := range f.order {
		object := f.objects[ref]
		if object.stream == nil || object.dict().get("Type") != pdfName("XRef") {
			continue
		}

		table, err := f.readTableStream(object)
		if err != nil {
			return err
		}
		f.tables[object.offset] = table
		f.trailer = append(f.trailer, object.dict())
	}
	return nil
}

// readTableStream reads rows of three numbers: the kind of entry, an offset or
// the number of a stream, and one that does not matter here.
func (f *pdfFile) readTableStream(object pdfObject) (pdfTable, error) {
	data, err := f.unpackStream(object, maxFileBytes)
	if err != nil {
		return nil, errPDFTable
	}

	dict := object.dict()
	widths, hasWidths := readInts(dict.get("W"))
	size, hasSize := dict.get("Size").(float64)
	if !hasWidths || !hasSize || len(widths) != 3 || max(widths[0], widths[1], widths[2]) > 4 || widths[1] == 0 {
		return nil, errPDFTable
	}

	// The index has pairs: the first number of a section, and how many follow.
	// Without it, the table has one section with everything.
	index, ok := readInts(dict.get("Index"))
	if !dict.has("Index") {
		index = []int{0, int(min(max(size, 0), maxPDFNumber))}
		ok = true
	}

	table := pdfTable{}
	row := widths[0] + widths[1] + widths[2]
	for ; ok && len(index) >= 2; index = index[2:] {
		for i := 0; i < index[1] && len(data) >= row; i++ {
			kind := 1
			if widths[0] > 0 {
				kind = bigEndian(data[:widths[0]])
			}
			location := bigEndian(data[widths[0] : widths[0]+widths[1]])
			data = data[row:]

			switch ref := pdfRef(index[0] + i); kind {
			case 0:
			case 1:
				table[ref] = location
			case 2: // inside the stream of that number
				if packed, ok := f.objects[ref]; !ok || packed.offset != -1-location {
					return nil, errPDFTable
				}
			default:
				return nil, errPDFTable
			}
		}
	}
	return table, nil
}

func bigEndian(data []byte) int {
	n := 0
	for _, digit := range data {
		n = n<<8 | int(digit)
	}
	return n
}

// readInts reads an array of integers that are not negative.
func readInts(value any) ([]int, bool) {
	list, ok := value.(pdfArray)
	out := make([]int, len(list))
	for i, item := range list {
		number, isNumber := item.(float64)
		if !isNumber || number < 0 || number > maxPDFNumber || number != float64(int(number)) {
			return nil, false
		}
		out[i] = int(number)
	}
	return out, ok
}

// openObjectStreams reads the objects that are packed together in streams.
func (f *pdfFile) openObjectStreams() error {
	for _, ref := range slices.Clone(f.order) {
		object := f.objects[ref]
		if object.stream == nil || f.resolve(object.dict().get("Type")) != pdfName("ObjStm") {
			continue
		}
		if err := f.openObjectStream(ref, object); err != nil {
			return err
		}
	}
	return nil
}

func (f *pdfFile) openObjectStream(stream pdfRef, object pdfObject) error {
	unreadable := finding("pdf_stream", "compressed objects cannot be read")
	data, err := f.unpackStream(object, maxFileBytes)
	if err != nil {
		return unreadable
	}

	count, hasCount := f.number(object.dict().get("N"))
	first, hasFirst := f.number(object.dict().get("First"))
	if !hasCount || !hasFirst || count < 0 || count > maxPDFObjects || first < 0 || int(first) > len(data) {
		return unreadable
	}

	// The head has pairs: the number of an object, and where it is in the body.
	head := &pdfLexer{data: data[:int(first)]}
	body := &pdfLexer{data: data, pos: int(first)}
	for range int(count) {
		number, hasNumber := head.readInt()
		offset, hasOffset := head.readInt()

		// Objects follow each other. Otherwise the same bytes could be read
		// over and over again.
		if !hasNumber || !hasOffset || int(first)+offset < body.pos || offset > len(data)-int(first) {
			return unreadable
		}
		body.pos = int(first) + offset
		value, err := body.readValue(0)
		if err != nil {
			return err
		}

		// A negative offset says which stream the object is in.
		if err := f.add(pdfRef(number), pdfObject{value: value, offset: -1 - int(stream)}); err != nil {
			return err
		}
	}
	return nil
}
