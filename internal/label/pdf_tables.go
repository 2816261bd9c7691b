package label

import "slices"

var errPDFTable = finding("pdf_table", "its table of objects is wrong")

// checkTables holds the tables against what stands in the file. Each leads to
// objects that were seen, and nothing leads to a table that was not.
func (f *pdfFile) checkTables() error {
	if err := f.readTableStreams(); err != nil {
		return err
	}
	if len(f.tables) == 0 || len(f.starts) == 0 || len(f.trailer) == 0 {
		return errPDFTable
	}
	for _, table := range f.tables {
		for n, offset := range table {
			if o, ok := f.objects[n]; !ok || o.offset != offset {
				return errPDFTable
			}
		}
	}
	for i, start := range f.starts {
		if _, ok := f.tables[start]; !ok && (start != 0 || i == len(f.starts)-1) {
			return errPDFTable // a zero is the first of a file for the web
		}
	}
	var roots []pdfRef
	for _, d := range f.trailer {
		for _, key := range []pdfName{"Prev", "XRefStm"} {
			if at, ok := d.get(key).(float64); d.has(key) && (!ok || f.tables[int(at)] == nil) {
				return errPDFTable
			}
		}
		if root, ok := d.get("Root").(pdfRef); ok {
			roots = append(roots, root)
		} else if d.has("Root") {
			return errPDFTable
		}
	}
	if len(slices.Compact(roots)) != 1 {
		return finding("pdf_shadow", "it has several beginnings, or none")
	}
	return nil
}

// readTableStreams reads the tables that are kept as streams.
func (f *pdfFile) readTableStreams() error {
	for _, n := range f.order {
		o := f.objects[n]
		if o.stream == nil || o.dict().get("Type") != pdfName("XRef") {
			continue
		}
		table, err := f.tableStream(o)
		if err != nil {
			return err
		}
		f.tables[o.offset] = table
		f.trailer = append(f.trailer, o.dict())
	}
	return nil
}

// tableStream reads rows of three numbers: the kind, where, and what.
func (f *pdfFile) tableStream(o pdfObject) (pdfTable, error) {
	data, err := f.contents(o, maxFileBytes)
	if err != nil {
		return nil, errPDFTable
	}
	widths, ok := wholes(o.dict().get("W"))
	size, ok2 := o.dict().get("Size").(float64)
	if !ok || !ok2 || len(widths) != 3 || max(widths[0], widths[1], widths[2]) > 4 || widths[1] == 0 {
		return nil, errPDFTable
	}
	index, ok := wholes(o.dict().get("Index"))
	if !o.dict().has("Index") {
		index, ok = []int{0, int(min(max(size, 0), maxPDFNumber))}, true
	}
	table, row := pdfTable{}, widths[0]+widths[1]+widths[2]
	for ; ok && len(index) >= 2; index = index[2:] {
		for i := 0; i < index[1] && len(data) >= row; i++ {
			kind := 1
			if widths[0] > 0 {
				kind = bigEndian(data[:widths[0]])
			}
			where := bigEndian(data[widths[0] : widths[0]+widths[1]])
			data = data[row:]
			switch n := pdfRef(index[0] + i); kind {
			case 0:
			case 1:
				table[n] = where
			case 2: // inside the stream of number where
				if in, ok := f.objects[n]; !ok || in.offset != -1-where {
					return nil, errPDFTable
				}
			default:
				return nil, errPDFTable
			}
		}
	}
	return table, nil
}

func bigEndian(b []byte) int {
	n := 0
	for _, c := range b {
		n = n<<8 | int(c)
	}
	return n
}

// wholes reads an array of whole numbers.
func wholes(v any) ([]int, bool) {
	list, ok := v.(pdfArray)
	out := make([]int, len(list))
	for i, item := range list {
		n, isNumber := item.(float64)
		if !isNumber || n < 0 || n > maxPDFNumber || n != float64(int(n)) {
			return nil, false
		}
		out[i] = int(n)
	}
	return out, ok
}

// openObjectStreams reads the objects that are packed together.
func (f *pdfFile) openObjectStreams() error {
	for _, n := range slices.Clone(f.order) {
		o := f.objects[n]
		if o.stream == nil || f.resolve(o.dict().get("Type")) != pdfName("ObjStm") {
			continue
		}
		if err := f.openObjects(n, o); err != nil {
			return err
		}
	}
	return nil
}

func (f *pdfFile) openObjects(stream pdfRef, o pdfObject) error {
	bad := finding("pdf_stream", "packed objects cannot be read")
	data, err := f.contents(o, maxFileBytes)
	if err != nil {
		return bad
	}
	count, ok := f.number(o.dict().get("N"))
	first, ok2 := f.number(o.dict().get("First"))
	if !ok || !ok2 || count < 0 || count > maxPDFObjects || first < 0 || int(first) > len(data) {
		return bad
	}
	head, body := &pdfLexer{data: data[:int(first)]}, &pdfLexer{data: data, pos: int(first)}
	for range int(count) {
		n, ok := head.whole()
		at, ok2 := head.whole()
		// One after the other: the same bytes are not read again and again.
		if !ok || !ok2 || int(first)+at < body.pos || at > len(data)-int(first) {
			return bad
		}
		body.pos = int(first) + at
		v, err := body.value(0)
		if err != nil {
			return err
		}
		// A negative offset tells in which stream it is.
		if err := f.add(pdfRef(n), pdfObject{value: v, offset: -1 - int(stream)}); err != nil {
			return err
		}
	}
	return nil
}
