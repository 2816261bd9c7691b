package ship

import "strings"

// AssumeDestination fills what an estimate needs into a partial destination,
// and says what was assumed. The city is not made up: a carrier that needs it
// says so.
func (o *Order) AssumeDestination() (assumed []string) {
	to := &o.Destination
	if to.Name == "" || to.Address1 == "" {
		assumed = append(assumed, "the recipient's name and street do not change the price")
	}
	if to.Name == "" {
		to.Name = "Recipient"
	}
	if to.Address1 == "" {
		to.Address1 = "1 Main Street"
	}

	usual, _ := statesOfZip(to.Country, to.Zip)
	if state, _, _ := strings.Cut(usual, " "); to.State == "" && state != "" {
		to.State = state
		assumed = append(assumed, "the state is "+StateName(to.Country, state)+" ("+state+"), derived from the postal code")
	}
	if to.Residential == nil {
		assumed = append(assumed, "the carrier's default for residential addresses applies")
	}
	return assumed
}
