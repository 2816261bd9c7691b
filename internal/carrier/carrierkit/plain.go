package carrierkit

// Plain returns the text of a JSON string that needs no decoding: ASCII without
// escapes, as nearly all strings of carriers are. ok is false for any other
// value.
func Plain(value []byte) (text []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, false
	}
	text = value[1 : len(value)-1]
	for _, b := range text {
		if b < ' ' || b > '~' || b == '\\' || b == '"' {
			return nil, false
		}
	}
	return text, true
}
