package label

// Sheets is how many pages a PDF file has: as many as the PNG of the same label
// has sheets below each other.
func Sheets(pdf []byte) (int, error) {
	f, err := readPDF(pdf)
	if err != nil {
		return 0, quarantine(err)
	}
	return len(f.pages), nil
}
