package ship

// IDWithPrefix returns an id under the prefix of another API, "adr_" for example:
// the 26 characters behind it are the same as under a prefix of our own.
func (id RawID) IDWithPrefix(prefix string) string { return id.text(prefix) }

// ParseIDWithPrefix reads what IDWithPrefix writes; lower case is accepted.
func ParseIDWithPrefix(s, prefix string) (RawID, bool) { return parseID(s, prefix) }
