package ups

import (
	"strconv"
	"strings"
)

// numbers returns the tracking numbers of a shipment: 1Z, the account, the
// service, five characters for the shipment, two for the parcel, and a check
// digit.
func numbers(account, service string, serial, parcels int) []string {
	shipment := pad(strconv.FormatInt(int64(serial), 36), 5)
	list := make([]string, parcels)
	for i := range list {
		n := account + service + shipment + pad(strconv.FormatInt(int64(i+1), 36), 2)
		list[i] = "1Z" + n + string(checkDigit(n))
	}
	return list
}

func pad(s string, n int) string {
	return strings.Repeat("0", max(n-len(s), 0)) + strings.ToUpper(s)
}

// checkDigit weighs the characters 1 and 2 in turn; letters count from A = 2.
func checkDigit(s string) byte {
	sum := 0
	for i := range len(s) {
		v := int(s[i] - '0')
		if s[i] >= 'A' {
			v = (int(s[i]-'A') + 2) % 10
		}
		sum += v * (1 + i%2)
	}
	return byte('0' + (10-sum%10)%10)
}
