package label

// The printer's own font 0 is a bold condensed sans serif. Its widths differ
// a little between makers and models, so a line is given some slack.
const (
	residentSize  = 0.95 // its height for the capitals of one em of Noto Sans
	residentLeast = 10   // dots: printers draw nothing smaller
	residentSlack = 1.04
)

// residentWidths are advances of the characters from space to tilde, in
// hundredths of the height.
var residentWidths = [95]byte{
	25, 33, 47, 56, 56, 83, 67, 25, 33, 33, 50, 56, 33, 56, 33, 28,
	50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 28, 28, 56, 56, 56, 50,
	83, 56, 56, 56, 61, 50, 50, 61, 61, 28, 44, 56, 50, 78, 61, 61,
	56, 61, 61, 56, 50, 61, 56, 83, 56, 56, 50, 33, 28, 33, 50, 50,
	33, 50, 50, 44, 50, 50, 28, 50, 50, 28, 28, 44, 28, 78, 50, 50,
	50, 50, 33, 44, 28, 50, 44, 67, 44, 44, 39, 33, 25, 33, 50,
}

// residentWidth is the width of s in heights of font 0, and false if the font
// may lack one of its characters: every printer has ASCII and the letters of
// Western Europe.
func residentWidth(s string) (float64, bool) {
	sum := 0
	for _, char := range s {
		switch {
		case char >= ' ' && char <= '~':
			sum += int(residentWidths[char-' '])
		case char >= 0xc0 && char <= 0xff:
			sum += 61
		default:
			return 0, false
		}
	}
	return float64(sum) / 100 * residentSlack, true
}
