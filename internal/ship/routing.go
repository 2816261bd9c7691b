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
	Strategy   string    `json:"strategy,omitempty"` // "cheapest", "rule", "default", "named", "rate"
	Version    int       `json:"version,omitempty"`  // of the rule book that was asked
	Rule       string    `json:"rule,omitempty"`     // name of the rule that chose
	Also       []string  `json:"also,omitempty"`     // names of the rules that forbade or required something, in their order
	Why        string    `json:"why,omitempty"`      // the choice in plain words
	Reason     string    `json:"reason,omitempty"`   // what the first choice has over the others: "cheapest", "fastest", "listed", "preferred", "none_preferred", "share"
	Missed     *Noted    `json:"missed,omitempty"`   // rules that matched and found no offer
	Untested   *Noted    `json:"untested,omitempty"` // rules whose condition failed on the order
	Considered int       `json:"considered,omitempty"`
	RunnerUp   *Rate     `json:"runnerUp,omitempty"`
	Dropped    []Dropped `json:"dropped,omitempty"` // offers that were not allowed
	Failed     []Tried   `json:"failed,omitempty"`  // what failed first
	Seen       Seen      `json:"seen,omitempty"`    // every offer, cheapest first
	Raised     *Raised   `json:"raised,omitempty"`  // a signature that rules required beyond the client's own
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
	Why     string `json:"why"` // "late", "over_limit", "forbidden", "not_in_rule", "other_currency", "guard"
	Rule    string `json:"rule,omitempty"`
}

// Tried is a carrier that could not help.
type Tried struct {
	Carrier string `json:"carrier"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Service string `json:"service,omitempty"` // that it was asked to sell; "" if it gave no offer
	Price   Money  `json:"price,omitzero"`    // of that service
}

// Seen are the offers of a decision. They are stored with every shipment, so
// they are written as one short line each.
type Seen []Rate

// MarshalJSON writes "carrier service minor currency days delivery flags
// connection" a line, empty parts as "-".
func (s Seen) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 2+64*len(s))
	b = append(b, '[')
	for i, r := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(r.append(append(b, '"')), '"')
	}
	return append(b, ']'), nil
}

// append adds the line of an offer. No part of it needs to be escaped: they are
// names of our own making, and numbers.
func (r Rate) append(b []byte) []byte {
	b = append(append(b, r.Carrier...), ' ')
	b = append(append(b, r.Service...), ' ')
	b = append(strconv.AppendInt(b, r.Price.Minor, 10), ' ')
	b = append(append(b, r.Price.Currency...), ' ')
	b = append(strconv.AppendInt(b, int64(r.TransitDays), 10), ' ')
	if r.DeliveryAt.IsZero() {
		b = append(b, '-')
	} else {
		b = strconv.AppendInt(b, r.DeliveryAt.Unix(), 10)
	}
	b = append(append(append(b, ' '), r.flags()...), ' ')
	if r.Connection == "" {
		return append(b, '-')
	}
	return append(b, r.Connection...)
}

// flags are "g" for guaranteed, then "s" or "c" for the source.
func (r Rate) flags() string {
	f := ""
	if r.Guaranteed {
		f = "g"
	}
	switch r.Source {
	case "sheet":
		f += "s"
	case "cache":
		f += "c"
	}
	return cmp.Or(f, "-")
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *Seen) UnmarshalJSON(data []byte) error {
	var lines []string
	if err := json.Unmarshal(data, &lines); err != nil {
		return err
	}
	*s = make(Seen, len(lines))
	for i, line := range lines {
		part := strings.Fields(line)
		if len(part) != 8 {
			return fmt.Errorf("an offer has %d parts, not 8", len(part))
		}
		if err := (*s)[i].read([8]string(part)); err != nil {
			return fmt.Errorf("read an offer: %w", err)
		}
	}
	return nil
}

func (r *Rate) read(part [8]string) error {
	minor, err := strconv.ParseInt(part[2], 10, 64)
	if err != nil {
		return err
	}
	*r = Rate{Carrier: part[0], Service: part[1], Price: Money{Minor: minor, Currency: part[3]}, Guaranteed: strings.Contains(part[6], "g")}
	switch {
	case strings.Contains(part[6], "s"):
		r.Source = "sheet"
	case strings.Contains(part[6], "c"):
		r.Source = "cache"
	}
	if r.TransitDays, err = strconv.Atoi(part[4]); err != nil {
		return err
	}
	if part[5] != "-" {
		at, err := strconv.ParseInt(part[5], 10, 64)
		if err != nil {
			return err
		}
		r.DeliveryAt = time.Unix(at, 0).UTC()
	}
	if part[7] != "-" {
		r.Connection = ConnectionID(part[7])
	}
	return nil
}
