package parts

// FirstCurl returns an example command that buys a first shipment.
func FirstCurl(base string, live bool) string {
	key := "sk_test_..."
	if live {
		key = "sk_live_..."
	}

	return `curl ` + base + `/v1/shipments \
  -H "Authorization: Bearer ` + key + `" \
  -H "Content-Type: application/json" \
  -H "Idempotency-Key: order-1001" \
  -d '{"orderId":"1001",
       "destination":{"name":"Jane Doe","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"},
       "parcel":{"weight":2.5}}'`
}

// FirstPage returns the address of a list's first page, or "" on that page.
func FirstPage(cursor, address string) string {
	if cursor == "" {
		return ""
	}
	return address
}

// FollowIf says which changes a list is updated for: all on its first page, and
// none on later pages, where the lines would move while they are being read.
func FollowIf(first bool) string {
	if first {
		return "*"
	}
	return "-"
}
