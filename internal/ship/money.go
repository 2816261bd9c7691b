package ship

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/currency"
)

// Money is an exact amount in the minor unit of its currency (cents for USD).
// The zero Money is no amount at all.
type Money struct {
	Minor    int64
	Currency string // ISO 4217
}

// exponents lists the currencies whose minor unit is not a hundredth.
var exponents = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0,
	"RWF": 0, "UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3, "CLF": 4, "UYW": 4,
}

// Exponent is the number of decimals of a currency.
func Exponent(currency string) int {
	if e, ok := exponents[currency]; ok {
		return e
	}
	return 2
}

// ParseMoney reads a plain decimal such as "12.34". It refuses signs,
// exponents, spaces, and more decimals than the currency has unless the rest
// are zeros.
func ParseMoney(amount, currency string) (Money, bool) {
	if !isCurrency(currency) || amount == "" || len(amount) > 18 {
		return Money{}, false
	}
	whole, frac, dotted := strings.Cut(amount, ".")
	if whole == "" || dotted && frac == "" || !isDigits(whole) || !isDigits(frac) {
		return Money{}, false
	}

	exp := Exponent(currency)
	if len(frac) > exp {
		if strings.Trim(frac[exp:], "0") != "" {
			return Money{}, false
		}
		frac = frac[:exp]
	}
	frac += strings.Repeat("0", exp-len(frac))

	minor, err := strconv.ParseInt(whole+frac, 10, 64)
	return Money{Minor: minor, Currency: currency}, err == nil
}

// Amount is the amount as a plain decimal: "12.34".
func (m Money) Amount() string {
	sign := ""
	minor := m.Minor
	if minor < 0 {
		sign = "-"
		minor = -minor
	}

	digits := strconv.FormatInt(minor, 10)
	exp := Exponent(m.Currency)
	if exp == 0 {
		return sign + digits
	}
	if len(digits) <= exp {
		digits = strings.Repeat("0", exp+1-len(digits)) + digits
	}
	return sign + digits[:len(digits)-exp] + "." + digits[len(digits)-exp:]
}

// String is the amount with its currency, "12.34 USD"; empty for none.
func (m Money) String() string {
	if m.IsZero() {
		return ""
	}
	return m.Amount() + " " + m.Currency
}

// IsZero reports whether m is no amount at all.
func (m Money) IsZero() bool { return m == Money{} }

// Exceeds reports whether m is above limit by more than percent. An amount in
// another currency cannot be compared, and counts as above.
func (m Money) Exceeds(limit Money, percent int64) bool {
	if m.Currency != limit.Currency {
		return true
	}

	// As big integers, because 64 bits could overflow.
	amount := new(big.Int).Mul(big.NewInt(m.Minor), big.NewInt(100))
	highest := new(big.Int).Mul(big.NewInt(limit.Minor), big.NewInt(100+percent))
	return amount.Cmp(highest) > 0
}

// newCurrencies are codes of ISO 4217 that are newer than the table of x/text.
var newCurrencies = []string{"SLE", "VED", "XCG", "ZWG"}

// IsCurrency reports whether ISO 4217 has, or had, the code. Amounts of clients are checked
// with it. Those of carriers are not: what was sold must be recorded in whatever currency.
func IsCurrency(code string) bool {
	unit, err := currency.ParseISO(code)
	return err == nil && unit.String() == code || slices.Contains(newCurrencies, code)
}

func isCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for i := range 3 {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
