package label

// Sheets is how many pages a PDF file has: as many as the PNG of the same label
// has, stacked vertically.
func Sheets(pdf []byte) (int, error) {
	file, err := readPDF(pdf)
	if err != nil {
		return 0, quarantine(err)
	}
	return len(file.pages), nil
}
