package emulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Faults describe how an emulator misbehaves. A share is the fraction of calls
// of its kind that are affected, between 0 and 1. The zero value injects no
// faults.
type Faults struct {
	Latency Duration `json:"latency,omitzero"` // of every answer
	Spread  Duration `json:"spread,omitzero"`  // random extra delay, up to this much
	HangFor Duration `json:"hangFor,omitzero"` // how long a hang lasts if the client stays connected; 0 means a minute

	Limit   float64 `json:"limit,omitempty"`   // 429
	Down    float64 `json:"down,omitempty"`    // 503 before anything is done
	Expired float64 `json:"expired,omitempty"` // 401: the token is no longer valid
	Refuse  float64 `json:"refuse,omitempty"`  // purchases that are refused
	Stall   float64 `json:"stall,omitempty"`   // of all calls: never answered, nothing done

	// Compress is the share of answers that are gzip-compressed, whether or not
	// the request accepts it.
	Compress float64 `json:"compress,omitempty"`

	// Account is what is wrong with the client's account, where an emulator
	// knows such faults: USPS "not_enrolled", or the code of a refusal
	// ("100007").
	Account string `json:"account,omitempty"`
	// Gateway makes the gateway in front of the carrier answer failures, in its
	// own format, for carriers that have one: USPS.
	Gateway bool `json:"gateway,omitempty"`

	// Buy is what happens after a sale, by share: "hang", "reset", "500",
	// "502", "truncate", "wrong_reference". The rest of the sales are answered
	// normally.
	Buy map[string]float64 `json:"buy,omitempty"`
	// Void is what happens to a void, by share: "refuse" (nothing done), "lost"
	// (done, the answer is lost), "hang" (done, no answer).
	Void map[string]float64 `json:"void,omitempty"`
	// Address is what happens to the answer about an address, by share: "hang",
	// "reset", "500", "502", "truncate".
	Address map[string]float64 `json:"address,omitempty"`

	// Day is what happens to pickups, cancellations, manifests and documents, by share:
	// "refuse" (nothing done), and after it was done "hang", "reset", "500",
	// "502", "truncate".
	Day map[string]float64 `json:"day,omitempty"`

	// DocumentsApart is how long after a sale, and after another document, a
	// carrier takes no document: DHL Express.
	DocumentsApart Duration `json:"documentsApart,omitzero"`

	// LookupLag is how long a look-up does not find a new sale, instead of the
	// carrier's own delay. A zero shows every sale at once; nil leaves the
	// carrier's delay.
	LookupLag  *Duration `json:"lookupLag,omitempty"`
	LookupFlap float64   `json:"lookupFlap,omitempty"` // share of look-ups that miss an existing sale
	TokenLife  Duration  `json:"tokenLife,omitzero"`   // lifetime of a token, as announced and enforced; 0 means an hour

	Tracking []Scan `json:"tracking,omitempty"` // the scans of every parcel, instead of the usual ones
}

// A Scan is one step of a parcel, in the carrier's own code.
type Scan struct {
	After Duration `json:"after"` // the sale
	Code  string   `json:"code"`
	Text  string   `json:"text,omitempty"`
	City  string   `json:"city,omitempty"`
}

var (
	buyFaults  = []string{"hang", "reset", "500", "502", "truncate", "wrong_reference"}
	voidFaults = []string{"refuse", "lost", "hang"}
	dayFaults  = []string{"refuse", "hang", "reset", "500", "502", "truncate"}
	lookFaults = []string{"hang", "reset", "500", "502", "truncate"}
)

// check returns what is invalid in the faults.
func (k Faults) check() error {
	durations := []Duration{k.Latency, k.Spread, k.HangFor, k.DocumentsApart, k.TokenLife}
	if k.LookupLag != nil {
		durations = append(durations, *k.LookupLag)
	}
	for _, duration := range durations {
		if duration < 0 {
			return fmt.Errorf("%v is negative: durations must be 0 or more", time.Duration(duration))
		}
	}
	for _, share := range []float64{k.Limit, k.Down, k.Expired, k.Refuse, k.Stall, k.Compress, k.LookupFlap} {
		if share < 0 || share > 1 {
			return fmt.Errorf("%v must be a share between 0 and 1", share)
		}
	}

	if err := checkShares("buy", k.Buy, buyFaults); err != nil {
		return err
	}
	if err := checkShares("void", k.Void, voidFaults); err != nil {
		return err
	}
	if err := checkShares("day", k.Day, dayFaults); err != nil {
		return err
	}
	return checkShares("address", k.Address, lookFaults)
}

// checkShares returns what is invalid in the shares of faults.
func checkShares(operation string, shares map[string]float64, known []string) error {
	sum := 0.0
	for name, share := range shares {
		if !slices.Contains(known, name) {
			return fmt.Errorf("unknown fault %q for %s: choose from %s", name, operation, strings.Join(known, ", "))
		}
		if share < 0 {
			return fmt.Errorf("%v for %s must be a share between 0 and 1", share, name)
		}
		sum += share
	}

	// Ten times 0.1 is a little more than 1 in floating point.
	if sum > 1+1e-9 {
		return fmt.Errorf("the shares of %s add up to %v: the total must be at most 1", operation, sum)
	}
	return nil
}

// choose picks a fault by the shares, given a number between 0 and 1; "" means
// none.
func choose(shares map[string]float64, point float64) string {
	// The names are sorted, because a map has no order.
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		if point < shares[name] {
			return name
		}
		point -= shares[name]
	}
	return ""
}

// A Duration reads and writes as "1m30s".
type Duration time.Duration

// MarshalJSON writes text.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// UnmarshalJSON reads text.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	value, err := time.ParseDuration(text)
	*d = Duration(value)
	return err
}
