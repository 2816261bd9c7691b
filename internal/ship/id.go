package ship

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// The public ids. Each is a prefix and 26 characters of Crockford base32 over
// 128 bits: 48 of milliseconds, 12 of shard, 68 random. Ids of one kind sort
// by creation time.
type (
	AccountID    string // acct_
	ShipmentID   string // shp_
	TrackerID    string // trk_
	EventID      string // evt_
	KeyID        string // key_
	EndpointID   string // whe_
	AttemptID    string // att_
	ConnectionID string // con_
)

// The prefixes of the public ids.
const (
	accountPrefix    = "acct_"
	shipmentPrefix   = "shp_"
	trackerPrefix    = "trk_"
	eventPrefix      = "evt_"
	keyPrefix        = "key_"
	endpointPrefix   = "whe_"
	attemptPrefix    = "att_"
	connectionPrefix = "con_"
)

// Shards is how many shards there are. A shard is fixed for life; cells hold
// shards.
const Shards = 4096

// A Shard is the unit that moves between cells: 0 to Shards-1.
type Shard uint16

// RawID is an id as stored: the 16 bytes without the prefix.
type RawID [16]byte

// NewRawID makes an id for the shard at the given time.
func NewRawID(shard Shard, at time.Time) RawID {
	var random [9]byte
	rand.Read(random[:]) // never fails

	var id RawID
	binary.BigEndian.PutUint64(id[:8], millis(at)<<16|uint64(shard&0xfff)<<4|uint64(random[8]&0xf))
	copy(id[8:], random[:8])
	return id
}

// RawIDAt is the smallest id of the given time: a bound for ranges of ids.
func RawIDAt(at time.Time) RawID {
	var id RawID
	binary.BigEndian.PutUint64(id[:8], millis(at)<<16)
	return id
}

// millis is the time in an id. A time before 1970 or after the year 10889 is
// the first or the last that an id can hold, so that bounds stay bounds.
func millis(at time.Time) uint64 {
	return uint64(min(max(at.UnixMilli(), 0), 1<<48-1))
}

// Time is when the id was made, to the millisecond, in UTC.
func (id RawID) Time() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16)).UTC()
}

// Shard is the shard of the account that the id belongs to.
func (id RawID) Shard() Shard {
	return Shard(binary.BigEndian.Uint64(id[:8]) >> 4 & 0xfff)
}

// IsZero reports whether id is no id at all.
func (id RawID) IsZero() bool { return id == RawID{} }

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// base32Values maps a character to its base32 value, 0xff for none.
var base32Values = func() (values [256]byte) {
	for i := range values {
		values[i] = 0xff
	}
	for i, c := range crockford {
		values[c] = byte(i)
		if c >= 'A' {
			values[c+'a'-'A'] = byte(i)
		}
	}
	return values
}()

// text returns the id with its prefix. The buffer holds every prefix and 26
// characters, so only the result is allocated.
func (id RawID) text(prefix string) string {
	var buf [32]byte
	text := append(buf[:0], prefix...)

	high := binary.BigEndian.Uint64(id[:8])
	low := binary.BigEndian.Uint64(id[8:])
	for shift := 125; shift >= 0; shift -= 5 {
		var digit uint64
		switch {
		case shift >= 64:
			digit = high >> (shift - 64)
		case shift > 59:
			digit = high<<(64-shift) | low>>shift // it spans both halves
		default:
			digit = low >> shift
		}
		text = append(text, crockford[digit&31])
	}
	return string(text)
}

// parseID reads what text writes; lower case is accepted.
func parseID(s, prefix string) (RawID, bool) {
	// 26 digits hold 130 bits, so the first may only be 0 to 7.
	if len(s) != len(prefix)+26 || s[:len(prefix)] != prefix || s[len(prefix)] > '7' {
		return RawID{}, false
	}

	var high, low uint64
	for i := len(prefix); i < len(s); i++ {
		digit := base32Values[s[i]]
		if digit == 0xff {
			return RawID{}, false
		}
		high = high<<5 | low>>59
		low = low<<5 | uint64(digit)
	}

	var id RawID
	binary.BigEndian.PutUint64(id[:8], high)
	binary.BigEndian.PutUint64(id[8:], low)
	return id, true
}

// ShardOfID returns the shard of an id of any kind as a client writes it: a prefix
// of letters, an underscore and 26 characters. Ids of people, sessions and requests
// belong to no shard.
func ShardOfID(s string) (Shard, bool) {
	end := len(s) - 26
	if end < 2 || s[end-1] != '_' {
		return 0, false
	}
	prefix := s[:end]
	if prefix == personPrefix || prefix == sessionPrefix || prefix == requestPrefix {
		return 0, false
	}
	for _, c := range []byte(prefix[:end-1]) {
		if c < 'a' || c > 'z' {
			return 0, false
		}
	}

	id, ok := parseID(s, prefix)
	return id.Shard(), ok
}

// raw returns the stored form of an id that this program made or parsed; the
// zero id for anything else.
func raw(s, prefix string) RawID {
	id, _ := parseID(s, prefix)
	return id
}

func newText(shard Shard, at time.Time, prefix string) string {
	return NewRawID(shard, at).text(prefix)
}

// NewAccountID makes the id of a new account in the shard.
func NewAccountID(shard Shard, at time.Time) AccountID {
	return AccountID(newText(shard, at, accountPrefix))
}

// NewShipmentID makes the id of a new shipment.
func NewShipmentID(shard Shard, at time.Time) ShipmentID {
	return ShipmentID(newText(shard, at, shipmentPrefix))
}

// NewTrackerID makes the id of a new tracker.
func NewTrackerID(shard Shard, at time.Time) TrackerID {
	return TrackerID(newText(shard, at, trackerPrefix))
}

// NewEventIDs makes the ids of n log events of one transaction: they sort in
// this order.
func NewEventIDs(shard Shard, at time.Time, n int) []EventID {
	id := firstEvent(shard, at)
	ids := make([]EventID, n)
	for i := range ids {
		ids[i] = EventIDOf(id)
		id = id.plusOne()
	}
	return ids
}

// firstEvent returns the id of a transaction's first log event: there is room to
// count up from it.
func firstEvent(shard Shard, at time.Time) RawID {
	id := NewRawID(shard, at)
	id[8] &= 0x7f
	return id
}

// plusOne returns the next id.
func (id RawID) plusOne() RawID {
	binary.BigEndian.PutUint64(id[8:], binary.BigEndian.Uint64(id[8:])+1)
	return id
}

// NewKeyID makes the id of a new API key.
func NewKeyID(shard Shard, at time.Time) KeyID { return KeyID(newText(shard, at, keyPrefix)) }

// NewEndpointID makes the id of a new webhook endpoint.
func NewEndpointID(shard Shard, at time.Time) EndpointID {
	return EndpointID(newText(shard, at, endpointPrefix))
}

// NewAttemptID makes the id of a new attempt to deliver an event.
func NewAttemptID(shard Shard, at time.Time) AttemptID {
	return AttemptID(newText(shard, at, attemptPrefix))
}

// NewConnectionID makes the id of a new connection to a carrier account.
func NewConnectionID(shard Shard, at time.Time) ConnectionID {
	return ConnectionID(newText(shard, at, connectionPrefix))
}

// The stored form of each id, and back.

func (id AccountID) Raw() RawID    { return raw(string(id), accountPrefix) }
func (id ShipmentID) Raw() RawID   { return raw(string(id), shipmentPrefix) }
func (id TrackerID) Raw() RawID    { return raw(string(id), trackerPrefix) }
func (id EventID) Raw() RawID      { return raw(string(id), eventPrefix) }
func (id KeyID) Raw() RawID        { return raw(string(id), keyPrefix) }
func (id EndpointID) Raw() RawID   { return raw(string(id), endpointPrefix) }
func (id AttemptID) Raw() RawID    { return raw(string(id), attemptPrefix) }
func (id ConnectionID) Raw() RawID { return raw(string(id), connectionPrefix) }

func AccountIDOf(id RawID) AccountID       { return AccountID(id.text(accountPrefix)) }
func ShipmentIDOf(id RawID) ShipmentID     { return ShipmentID(id.text(shipmentPrefix)) }
func TrackerIDOf(id RawID) TrackerID       { return TrackerID(id.text(trackerPrefix)) }
func EventIDOf(id RawID) EventID           { return EventID(id.text(eventPrefix)) }
func KeyIDOf(id RawID) KeyID               { return KeyID(id.text(keyPrefix)) }
func EndpointIDOf(id RawID) EndpointID     { return EndpointID(id.text(endpointPrefix)) }
func AttemptIDOf(id RawID) AttemptID       { return AttemptID(id.text(attemptPrefix)) }
func ConnectionIDOf(id RawID) ConnectionID { return ConnectionID(id.text(connectionPrefix)) }

// ParseShipmentID reads a shipment id as a client writes it.
func ParseShipmentID(s string) (ShipmentID, bool) {
	id, ok := parseID(s, shipmentPrefix)
	return ShipmentIDOf(id), ok
}

// ParseTrackerID reads a tracker id as a client writes it.
func ParseTrackerID(s string) (TrackerID, bool) {
	id, ok := parseID(s, trackerPrefix)
	return TrackerIDOf(id), ok
}

// ParseAccountID reads an account id as an operator writes it.
func ParseAccountID(s string) (AccountID, bool) {
	id, ok := parseID(s, accountPrefix)
	return AccountIDOf(id), ok
}

// ParseKeyID reads the id of an API key as an operator writes it.
func ParseKeyID(s string) (KeyID, bool) {
	id, ok := parseID(s, keyPrefix)
	return KeyIDOf(id), ok
}

// ParseEventID reads the id of a log event as a client writes it.
func ParseEventID(s string) (EventID, bool) {
	id, ok := parseID(s, eventPrefix)
	return EventIDOf(id), ok
}

// ParseEndpointID reads the id of a webhook endpoint as a client writes it.
func ParseEndpointID(s string) (EndpointID, bool) {
	id, ok := parseID(s, endpointPrefix)
	return EndpointIDOf(id), ok
}

// ParseAttemptID reads the id of an attempt as a client writes it.
func ParseAttemptID(s string) (AttemptID, bool) {
	id, ok := parseID(s, attemptPrefix)
	return AttemptIDOf(id), ok
}

// ParseConnectionID reads a connection id as a client writes it.
func ParseConnectionID(s string) (ConnectionID, bool) {
	id, ok := parseID(s, connectionPrefix)
	return ConnectionIDOf(id), ok
}
