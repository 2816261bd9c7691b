package web

// firstCurl is the command that makes the first shipment.
func firstCurl(base string, live bool) string {
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

// firstPage is where a list begins, for one that is further on.
func firstPage(cursor, address string) string {
	if cursor == "" {
		return ""
	}
	return address
}

// followIf is what a list follows: all news on its first page, none further
// on, where lines would move under the reader.
func followIf(first bool) string {
	if first {
		return "*"
	}
	return "-"
}
