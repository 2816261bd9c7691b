package ship

import "strings"

// Area is the part of the world that an address is in, as far as it matters to
// how long a parcel takes: the country and the first of the postal code,
// "US-941".
func (a Address) Area() string {
	zip := []rune(strings.ToUpper(strings.Join(strings.Fields(a.Zip), "")))
	if len(zip) == 0 {
		return a.Country
	}
	return a.Country + "-" + string(zip[:min(3, len(zip))])
}

// TransitDays counts parcels by how many days they took; the last element
// counts those that took longer as well.
type TransitDays [31]int

// Add counts a parcel.
func (t *TransitDays) Add(days int) { t[max(0, min(days, len(t)-1))]++ }

// fewDeliveries are too few to say what is usual.
const fewDeliveries = 5

// Within is the number of days within which a share of the parcels arrived:
// half of them for the median, 0.9 for the 90th percentile. It reports false
// while too few have arrived.
func (t TransitDays) Within(share float64) (days int, ok bool) {
	total := 0
	for _, n := range t {
		total += n
	}
	if total < fewDeliveries {
		return 0, false
	}

	arrived := 0
	for day, n := range t {
		if arrived += n; float64(arrived) >= share*float64(total) {
			return day, true
		}
	}
	return len(t) - 1, true
}
