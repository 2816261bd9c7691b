package postnl

import (
	"regexp"
	"strconv"
)

// What PostNL publishes about its customers and barcodes. The tables are the
// emulator's own: the driver has others.

// accounts are the customers that the emulator knows, with customer codes of both
// usual lengths.
var accounts = map[string]string{
	CustomerCode:      CustomerNumber,
	ShortCustomerCode: ShortCustomerNumber,
}

// series is a range of numbers, such as 000000000-999999999.
var series = regexp.MustCompile(`^([0-9]{4,12})-([0-9]{4,12})$`)

// smallestRange is how far the ends of a range are apart at least (PostNL, Barcode
// API, parameter Serie).
const smallestRange = 100_000

// checkSerie returns how many digits the numbers of a range have; 0 if PostNL does
// not draw from it. The barcode must have 13 or 15 characters in total (PostNL,
// Barcode API, specifications of barcodes).
func checkSerie(code, serie string) int {
	ends := series.FindStringSubmatch(serie)
	if ends == nil || len(ends[1]) != len(ends[2]) {
		return 0
	}
	first, _ := strconv.ParseInt(ends[1], 10, 64) // at most 12 digits
	last, _ := strconv.ParseInt(ends[2], 10, 64)
	length := len("3S") + len(code) + len(ends[1])
	if last-first < smallestRange-1 || length != 13 && length != 15 {
		return 0
	}
	return len(ends[1])
}
