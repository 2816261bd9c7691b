package sandbox

import "github.com/waybillhq/waybill/internal/carrier/carrierkit"

// Tracking numbers are derived from our reference, so they need no counter.
// What fits into a number bounds how rarely two shipments share one: a UPS
// number has 53 free bits, a USPS one 49, a FedEx one 36, and a DHL
// waybill no more than 29, so among some ten thousand DHL waybills two are
// equal. A look-up by number must bear that, as it must between carriers.

// seed mixes the reference and the number of the piece into 64 bits.
func seed(reference string, piece int) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(reference) {
		h = (h ^ uint64(reference[i])) * 1099511628211
	}
	h += uint64(piece) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// digits writes the low decimal digits of *n over b and takes them from it.
func digits(b []byte, n *uint64) {
	for i := range b {
		b[i] = '0' + byte(*n%10)
		*n /= 10
	}
}

const alphanumerics = "0123456789ABCDEFGHJKLMNPQRSTVWXY" // 32: nobody mistakes I, O, U and Z

// upsNumber is 1Z, an account of six, the service, seven digits and the check.
func upsNumber(n uint64, s *service) string {
	b := [18]byte{'1', 'Z'}
	for i := 2; i < 8; i++ {
		b[i] = alphanumerics[n%32]
		n /= 32
	}
	copy(b[8:10], s.mark)
	digits(b[10:17], &n)
	b[17] = carrierkit.AlphanumericCheckDigit(string(b[2:17]))
	return string(b[:])
}

// uspsNumber is 94, the service, a mailer of nine digits, a serial and the
// check: 22 digits.
func uspsNumber(n uint64, s *service) string {
	b := [22]byte{'9', '4', 5: '9'}
	copy(b[2:5], s.mark)
	digits(b[6:21], &n)
	b[21] = carrierkit.GS1CheckDigit(string(b[:21]))
	return string(b[:])
}

// fedexNumber is twelve digits.
func fedexNumber(n uint64, _ *service) string {
	var b [12]byte
	b[0] = '1' + byte(n%9)
	n /= 9
	digits(b[1:11], &n)
	b[11] = carrierkit.WeightedCheckDigit(string(b[:11]), [3]int{3, 1, 7})
	return string(b[:])
}

// dhlNumber is ten digits.
func dhlNumber(n uint64, _ *service) string {
	var b [10]byte
	b[0] = '1' + byte(n%9)
	n /= 9
	digits(b[1:9], &n)
	b[9] = carrierkit.Mod7CheckDigit(string(b[:9]))
	return string(b[:])
}
