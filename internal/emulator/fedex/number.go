package fedex

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// number returns a tracking number that no other piece has: twelve digits, of
// which the last is a check digit.
func (f *fedex) number() string {
	eleven := fmt.Sprintf("79%09d", f.Ledger.Next())
	sum := 0
	for i, weight := range []int{3, 1, 7, 3, 1, 7, 3, 1, 7, 3, 1} {
		sum += int(eleven[i]-'0') * weight
	}
	return eleven + strconv.Itoa(sum%11%10)
}

// decimal formats n with the given number of decimals.
func decimal(n int64, decimals int) json.Number {
	if decimals == 0 {
		return json.Number(strconv.FormatInt(n, 10))
	}
	s := fmt.Sprintf("%0*d", decimals+1, n)
	return json.Number(s[:len(s)-decimals] + "." + s[len(s)-decimals:])
}
