package shipments

import "testing"

func TestShipmentsAreSortedWhereAnIndexCarriesIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		query shipmentQuery
		sort  string
		want  string
	}{
		{shipmentQuery{}, "due", "due"},
		{shipmentQuery{Status: "delivered"}, "due-last", "due-last"},
		{shipmentQuery{Carrier: "ups"}, "due", ""},
		{shipmentQuery{Carrier: "ups"}, "oldest", "oldest"},
		{shipmentQuery{To: "ada"}, "oldest", ""},
		{shipmentQuery{}, "price", ""},
	} {
		if got := tc.query.sortable(tc.sort); got != tc.want {
			t.Errorf("%+v by %q: %q, want %q", tc.query, tc.sort, got, tc.want)
		}
	}
}
