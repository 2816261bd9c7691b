package canadapost

// provinces are the provinces by the first letter of their postal codes. X is the
// Northwest Territories and Nunavut.
var provinces = map[byte]string{
	'A': "NL", 'B': "NS", 'C': "PE", 'E': "NB",
	'G': "QC", 'H': "QC", 'J': "QC",
	'K': "ON", 'L': "ON", 'M': "ON", 'N': "ON", 'P': "ON",
	'R': "MB", 'S': "SK", 'T': "AB", 'V': "BC", 'X': "NT", 'Y': "YT",
}

// provinceOf returns the province of a postal code; empty if it is none.
func provinceOf(zip string) string {
	if zip == "" {
		return ""
	}
	return provinces[zip[0]]
}
