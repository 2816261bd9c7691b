package ship

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Routing says why this carrier and service: enough to explain the choice, and
// to make it again by other rules.
type Routing struct {
	Strategy   string        `json:"strategy,omitempty"` // "cheapest", "rule", "default", "named", "rate"
	Version    int           `json:"version,omitempty"`  // of the rule book that was asked
	Rule       string        `json:"rule,omitempty"`     // name of the rule that chose
	Also       []string      `json:"also,omitempty"`     // names of the rules that forbade or required something, in their order
	Why        string        `json:"why,omitempty"`      // the choice in plain words
	Reason     string        `json:"reason,omitempty"`   // what the first choice has over the others: "cheapest", "fastest", "listed", "preferred", "none_preferred", "share"
	Missed     *Noted        `json:"missed,omitempty"`   // rules that matched and found no offer
	Untested   *Noted        `json:"untested,omitempty"` // rules whose condition failed on the order
	Considered int           `json:"considered,omitempty"`
	RunnerUp   *Rate         `json:"runnerUp,omitempty"`
	Dropped    []Dropped     `json:"dropped,omitempty"` // offers that were not allowed
	Failed     []FailedOffer `json:"failed,omitempty"`  // what failed first
	Seen       Seen          `json:"seen,omitempty"`    // every offer, cheapest first
	Raised     *Raised       `json:"raised,omitempty"`  // a signature that rules required beyond the client's own
}

// Noted names rules, the first few of them.
type Noted struct {
	Rules []string `json:"rules"`
	More  int      `json:"more,omitempty"` // that are not named
}

// Raised is a signature that rules required.
type Raised struct {
	From string `json:"from,omitempty"` // what the client asked for
	To   string `json:"to"`
}

// Dropped is an offer that could not be chosen.
type Dropped struct {
	Carrier string `json:"carrier"`
	Service string `json:"service"`
	Why     string `json:"why"` // "late", "over_limit", "forbidden", "not_in_rule", "other_currency", "guard", "unsupported"
	Rule    string `json:"rule,omitempty"`
	Option  Extra  `json:"option,omitempty"` // that the service cannot do
}

// FailedOffer is a carrier that declined or was unavailable.
type FailedOffer struct {
	Carrier string `json:"carrier"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Service string `json:"service,omitempty"` // that it was asked to sell; "" if it gave no offer
	Price   Money  `json:"price,omitzero"`    // of that service

	// Reason is why it gave no offer. Answers of the API do not have it, so that
	// they stay as they are.
	Reason NotQuotedReason `json:"reason,omitempty"`
}

// Seen are the offers of a decision. They are stored with every shipment, so
// they are written as one short line each.
type Seen []Rate

// MarshalJSON writes "carrier service minor currency days delivery flags
// connection" a line, empty parts as "-".
func (s Seen) MarshalJSON() ([]byte, error) {
	text := make([]byte, 0, 2+64*len(s))
	text = append(text, '[')
	for i, rate := range s {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, '"')
		text = rate.append(text)
		text = append(text, '"')
	}
	return append(text, ']'), nil
}

// append adds the line of an offer. No part of it needs to be escaped: they are
// names of our own making, and numbers.
func (r Rate) append(line []byte) []byte {
	line = append(append(line, r.Carrier...), ' ')
	line = append(append(line, r.Service...), ' ')
	line = append(strconv.AppendInt(line, r.Price.Minor, 10), ' ')
	line = append(append(line, r.Price.Currency...), ' ')
	line = append(strconv.AppendInt(line, int64(r.TransitDays), 10), ' ')

	if r.DeliveryAt.IsZero() {
		line = append(line, '-')
	} else {
		line = strconv.AppendInt(line, r.DeliveryAt.Unix(), 10)
	}
	line = append(append(append(line, ' '), r.flags()...), ' ')

	if r.Connection == "" {
		return append(line, '-')
	}
	return append(line, r.Connection...)
}

// flags are "g" for guaranteed, then "s" or "c" for the source.
func (r Rate) flags() string {
	flags := ""
	if r.Guaranteed {
		flags = "g"
	}
	switch r.Source {
	case "sheet":
		flags += "s"
	case "cache":
		flags += "c"
	}
	return cmp.Or(flags, "-")
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Seen) UnmarshalJSON(data []byte) error {
	var lines []string
	if err := json.Unmarshal(data, &lines); err != nil {
		return err
	}

	*s = make(Seen, len(lines))
	for i, line := range lines {
		parts := strings.Fields(line)
		if len(parts) != 8 {
			return fmt.Errorf("an offer has %d parts, expected 8", len(parts))
		}
		if err := (*s)[i].parse([8]string(parts)); err != nil {
			return fmt.Errorf("read an offer: %w", err)
		}
	}
	return nil
}

// parse reads the parts of the line that append wrote.
func (r *Rate) parse(parts [8]string) error {
	minor, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return err
	}
	days, err := strconv.Atoi(parts[4])
	if err != nil {
		return err
	}
	*r = Rate{
		Carrier:     parts[0],
		Service:     parts[1],
		Price:       Money{Minor: minor, Currency: parts[3]},
		TransitDays: days,
		Guaranteed:  strings.Contains(parts[6], "g"),
	}

	if parts[5] != "-" {
		seconds, err := strconv.ParseInt(parts[5], 10, 64)
		if err != nil {
			return err
		}
		r.DeliveryAt = time.Unix(seconds, 0).UTC()
	}

	switch {
	case strings.Contains(parts[6], "s"):
		r.Source = "sheet"
	case strings.Contains(parts[6], "c"):
		r.Source = "cache"
	}

	if parts[7] != "-" {
		r.Connection = ConnectionID(parts[7])
	}
	return nil
}
