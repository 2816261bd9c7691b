package carrierkit

import "bytes"

// IsWholePDF reports whether data is a PDF from its first byte to its last. The mark of
// the end is among the last 1,024 bytes, where programs that show PDFs look for it.
func IsWholePDF(data []byte) bool {
	const longestEnd = 1024
	end := data[max(0, len(data)-longestEnd):]
	return bytes.HasPrefix(data, []byte("%PDF-")) && bytes.Contains(end, []byte("%%EOF"))
}
