package client

import (
	"context"
	"net/http"
)

// An AddressCheck says whether parcels reach an address.
type AddressCheck struct {
	Verdict     string          `json:"verdict"` // "valid", "corrected", "ambiguous", "invalid", "unknown"
	Address     Address         `json:"address"` // as given, with the changes applied
	Changes     []AddressChange `json:"changes"`
	Candidates  []Address       `json:"candidates"`            // that may be meant, the likeliest first
	Residential *bool           `json:"residential,omitempty"` // nil if nobody knows
	CheckedBy   string          `json:"checkedBy"`             // a carrier, or "rules"
	Messages    []string        `json:"messages"`
}

// An AddressChange is one field that was corrected.
type AddressChange struct {
	Pointer string `json:"pointer"` // "/zip"
	From    string `json:"from"`
	To      string `json:"to"`
}

// ValidateAddress checks an address with the account's carriers: with the named one,
// or if carrier is empty, with the one that checks the country most precisely.
func (c *Client) ValidateAddress(ctx context.Context, address Address, carrier string) (AddressCheck, error) {
	body := struct {
		Address Address `json:"address"`
		Carrier string  `json:"carrier,omitempty"`
	}{address, carrier}

	var out AddressCheck
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/addresses/validate", body: body}, &out)
	return out, err
}
