package carrier

// AddressLimits describe how much of an address a carrier can print. Zero
// values set no limit.
type AddressLimits struct {
	Name, Company, City, State, Zip, Phone, Email int // characters
	Lines                                         int // street lines
	Line                                          int // characters in each
	// Charset is the character set that the carrier prints: "" for all of
	// Unicode, "latin1" or "ascii".
	Charset string
}
