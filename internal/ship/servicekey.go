package ship

import (
	"crypto/sha256"
	"strings"
)

// A KeyKind is a kind of work that the service itself names with an idempotency
// key. Clients and the service share a namespace, so every key of the service
// begins with a control character: httpkit.IdempotencyKey refuses those, and no
// client can send a key that the service makes.
type KeyKind string

// The kinds of keys. The text is what their keys begin with. It never changes: the
// references under which carriers know a purchase are derived from its key.
const (
	KeyOfUnnamedPurchase   KeyKind = "\x01"           // a live purchase of a client that gave no key
	KeyOfUnnamedBatch      KeyKind = "\x01batch"      // likewise of a batch
	KeyOfReturnRequest     KeyKind = "\x02"           // the label of a return that a recipient asked for
	KeyOfBatchLine         KeyKind = "\x03batch/"     // a line of a batch
	KeyOfBulkRow           KeyKind = "\x03bulk/"      // a shipment of a bulk action
	KeyOfRatedShipment     KeyKind = "\x03rated/"     // a shipment that was rated before it is bought
	KeyOfScanForm          KeyKind = "\x03scan-form/" // a manifest of such shipments
	KeyOfDashboard         KeyKind = "\x03dashboard/" // a purchase in the dashboard
	KeyOfDashboardHandover KeyKind = "\x03handover/"  // a manifest that is closed in the dashboard
)

// KeyKinds are all kinds of keys that the service makes.
var KeyKinds = []KeyKind{
	KeyOfUnnamedPurchase,
	KeyOfUnnamedBatch,
	KeyOfReturnRequest,
	KeyOfBatchLine,
	KeyOfBulkRow,
	KeyOfRatedShipment,
	KeyOfScanForm,
	KeyOfDashboard,
	KeyOfDashboardHandover,
}

// ServiceKey makes an idempotency key of the service. Nothing else in the program
// may make one.
func ServiceKey(kind KeyKind, parts ...string) string {
	return string(kind) + strings.Join(parts, "/")
}

// IsUnnamed reports whether a key was made for a purchase whose client gave none.
func IsUnnamed(key string) bool { return strings.HasPrefix(key, string(KeyOfUnnamedPurchase)) }

// KeyFingerprint is the fingerprint of work that its key alone identifies. A
// client's request never has it: its fingerprint is that of a method, a path and a
// body.
func KeyFingerprint(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// Versions of the keys of rows that are worked on across an upgrade. A row keeps
// the version that it was created with.
const (
	// PlainKeys were made before the service's keys were set apart. A client can
	// send them, so one is believed only with the service's fingerprint.
	PlainKeys = 1
	// ServiceKeys are made by ServiceKey.
	ServiceKeys = 2
)

// A KeyName is an idempotency key with the fingerprint of the request that it
// stands for.
type KeyName struct {
	Key         string
	Fingerprint [32]byte

	// Offer is the fingerprint of a purchase by a rate id, with the carrier,
	// connection and service of the rate in place of its id. It is zero for other
	// requests.
	Offer [32]byte
}

// OfferFingerprint returns the fingerprint of a purchase by a rate id that stays
// the same after a new quote. withoutRate is that of the request without the id.
func OfferFingerprint(withoutRate [32]byte, rate Rate) [32]byte {
	text := strings.Join([]string{string(withoutRate[:]), rate.Carrier, string(rate.Connection), rate.Service}, "\x00")
	return sha256.Sum256([]byte(text))
}

// NameOf returns the name of work that its key alone identifies.
func NameOf(key string) KeyName { return KeyName{Key: key, Fingerprint: KeyFingerprint(key)} }
