package sandbox

import (
	"fmt"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// Tracking numbers are derived from our reference, so they need no counter.
// What fits into a number bounds how rarely two shipments share one: a UPS
// number has 53 free bits, a USPS one 49, a FedEx one 36, and a DHL waybill no
// more than 29, so among some ten thousand DHL waybills two are equal. A
// look-up by number must tolerate that, as it must between carriers.

// seed mixes the reference and the number of the piece into 64 bits: FNV-1a of
// the reference, then the mixer of SplitMix64.
func seed(reference string, piece int) uint64 {
	hash := uint64(14695981039346656037)
	for i := range len(reference) {
		hash = (hash ^ uint64(reference[i])) * 1099511628211
	}

	hash += uint64(piece) * 0x9e3779b97f4a7c15
	hash = (hash ^ hash>>30) * 0xbf58476d1ce4e5b9
	hash = (hash ^ hash>>27) * 0x94d049bb133111eb
	return hash ^ hash>>31
}

// digits writes the low decimal digits of *n over text and takes them from it.
func digits(text []byte, n *uint64) {
	for i := range text {
		text[i] = '0' + byte(*n%10)
		*n /= 10
	}
}

const alphanumerics = "0123456789ABCDEFGHJKLMNPQRSTVWXY" // 32 characters, without the easily confused I, O, U and Z

// upsNumber is 1Z, an account of six, the service, seven digits and the check.
func upsNumber(n uint64, sold *service) string {
	number := [18]byte{'1', 'Z'}
	for i := 2; i < 8; i++ {
		number[i] = alphanumerics[n%32]
		n /= 32
	}
	copy(number[8:10], sold.mark)
	digits(number[10:17], &n)
	number[17] = carrierkit.AlphanumericCheckDigit(string(number[2:17]))
	return string(number[:])
}

// uspsNumber is 94, the service, a mailer of nine digits, a serial and the
// check: 22 digits.
func uspsNumber(n uint64, sold *service) string {
	number := [22]byte{'9', '4', 5: '9'}
	copy(number[2:5], sold.mark)
	digits(number[6:21], &n)
	number[21] = carrierkit.GS1CheckDigit(string(number[:21]))
	return string(number[:])
}

// fedexNumber returns twelve digits.
func fedexNumber(n uint64, _ *service) string {
	var number [12]byte
	number[0] = '1' + byte(n%9)
	n /= 9
	digits(number[1:11], &n)
	number[11] = carrierkit.WeightedCheckDigit(string(number[:11]), [3]int{3, 1, 7})
	return string(number[:])
}

// dhlNumber returns ten digits.
func dhlNumber(n uint64, _ *service) string {
	var number [10]byte
	number[0] = '1' + byte(n%9)
	n /= 9
	digits(number[1:9], &n)
	number[9] = carrierkit.Mod7CheckDigit(string(number[:9]))
	return string(number[:])
}

// The numbers of pickups are derived in the same way. What comes with them is what
// the real carrier asks for besides the number to cancel a pickup.

// upsPickup returns a PRN of eleven characters.
func upsPickup(n uint64, _ *ship.PickupOrder) (confirmation, details string) {
	number := [11]byte{'2', '9'}
	for i := 2; i < len(number); i++ {
		number[i] = alphanumerics[n%32]
		n /= 32
	}
	return string(number[:]), ""
}

// uspsPickup returns WTC with eight digits, and the ETag of the pickup.
func uspsPickup(n uint64, _ *ship.PickupOrder) (confirmation, details string) {
	return fmt.Sprintf("WTC%08d", n%100_000_000), fmt.Sprintf(`"%016x"`, n)
}

// fedexPickup returns a short code, which is unique only together with the
// network, the station and the day.
func fedexPickup(n uint64, order *ship.PickupOrder) (confirmation, details string) {
	network := "FDXE LAXA "
	if fedexDivision(order.Parcels) != "" {
		network = "FDXG "
	}
	return fmt.Sprint(1000 + n%9000), network + string(order.Window.Date())
}

// fedexDivision names FedEx Ground if it carries all of the parcels.
func fedexDivision(parcels []ship.PickupParcels) string {
	if ground, express := fedexCompanies(parcels); ground && !express {
		return "FDXG"
	}
	return ""
}

// fedexCompanies reports whether FedEx Ground and whether FedEx Express carry some
// of the parcels. Those without a service are collected with the others.
func fedexCompanies(parcels []ship.PickupParcels) (ground, express bool) {
	for _, some := range parcels {
		switch some.Service {
		case "":
		case "ground", "home_delivery":
			ground = true
		default:
			express = true
		}
	}
	return ground, express
}

// dhlPickup returns PRG, the day and six digits.
func dhlPickup(n uint64, order *ship.PickupOrder) (confirmation, details string) {
	return fmt.Sprintf("PRG%s%06d", order.Window.ReadyAt.Format("060102"), n%1_000_000), ""
}

// formNumber is the number of a SCAN form: 22 digits with their check.
func formNumber(n uint64) string {
	number := [22]byte{'9', '2', '7', '5', '0'}
	digits(number[5:21], &n)
	number[21] = carrierkit.GS1CheckDigit(string(number[:21]))
	return string(number[:])
}

// cycleNumber is the number of a shipping cycle: nine digits.
func cycleNumber(n uint64) string {
	var number [9]byte
	digits(number[:], &n)
	return string(number[:])
}
