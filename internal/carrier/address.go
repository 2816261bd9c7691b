package carrier

// AddressLimits are what a carrier can print of an address. Zero values set no
// limit.
type AddressLimits struct {
	Name, Company, City, State, Zip, Phone, Email int // characters
	Lines                                         int // street lines
	Line                                          int // characters in each
	// Charset is what the carrier prints: "" for all of Unicode, "latin1" or
	// "ascii".
	Charset string
}
