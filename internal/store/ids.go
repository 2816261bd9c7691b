package store

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/waybillhq/waybill/internal/ship"
)

// Package ship's ids are texts with a prefix, and Postgres has the 16 bytes behind
// it as a uuid. Statements take and return ids as they are: idCodec converts them.
// An optional id is passed as null(id), and NULL is read as the empty id.

// registerIDs has the statements of a connection with these types take and return
// ids.
func registerIDs(types *pgtype.Map) {
	types.RegisterType(&pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: idCodec{}})
}

// idCodec is pgx's codec of uuid, and knows ids besides.
type idCodec struct{ pgtype.UUIDCodec }

// identifier is what all ids of package ship have in common.
type identifier interface{ Raw() ship.RawID }

// idScanPlans are how the ids are read. A new kind of id needs a line here.
var idScanPlans = map[reflect.Type]pgtype.ScanPlan{
	reflect.TypeFor[*ship.AccountID]():       scanID[ship.AccountID](ship.AccountIDOf),
	reflect.TypeFor[*ship.ApprovalID]():      scanID[ship.ApprovalID](ship.ApprovalIDOf),
	reflect.TypeFor[*ship.AttemptID]():       scanID[ship.AttemptID](ship.AttemptIDOf),
	reflect.TypeFor[*ship.AuditID]():         scanID[ship.AuditID](ship.AuditIDOf),
	reflect.TypeFor[*ship.BatchID]():         scanID[ship.BatchID](ship.BatchIDOf),
	reflect.TypeFor[*ship.BoxID]():           scanID[ship.BoxID](ship.BoxIDOf),
	reflect.TypeFor[*ship.BulkActionID]():    scanID[ship.BulkActionID](ship.BulkActionIDOf),
	reflect.TypeFor[*ship.ConnectionID]():    scanID[ship.ConnectionID](ship.ConnectionIDOf),
	reflect.TypeFor[*ship.EndpointID]():      scanID[ship.EndpointID](ship.EndpointIDOf),
	reflect.TypeFor[*ship.ErasureID]():       scanID[ship.ErasureID](ship.ErasureIDOf),
	reflect.TypeFor[*ship.EventID]():         scanID[ship.EventID](ship.EventIDOf),
	reflect.TypeFor[*ship.ExportID]():        scanID[ship.ExportID](ship.ExportIDOf),
	reflect.TypeFor[*ship.InvitationID]():    scanID[ship.InvitationID](ship.InvitationIDOf),
	reflect.TypeFor[*ship.KeyID]():           scanID[ship.KeyID](ship.KeyIDOf),
	reflect.TypeFor[*ship.LabelFileID]():     scanID[ship.LabelFileID](ship.LabelFileIDOf),
	reflect.TypeFor[*ship.LocationID]():      scanID[ship.LocationID](ship.LocationIDOf),
	reflect.TypeFor[*ship.ManifestID]():      scanID[ship.ManifestID](ship.ManifestIDOf),
	reflect.TypeFor[*ship.PersonID]():        scanID[ship.PersonID](ship.PersonIDOf),
	reflect.TypeFor[*ship.PickupID]():        scanID[ship.PickupID](ship.PickupIDOf),
	reflect.TypeFor[*ship.RequestID]():       scanID[ship.RequestID](ship.RequestIDOf),
	reflect.TypeFor[*ship.ReturnRequestID](): scanID[ship.ReturnRequestID](ship.ReturnRequestIDOf),
	reflect.TypeFor[*ship.SessionID]():       scanID[ship.SessionID](ship.SessionIDOf),
	reflect.TypeFor[*ship.ShipmentID]():      scanID[ship.ShipmentID](ship.ShipmentIDOf),
	reflect.TypeFor[*ship.ViewID]():          scanID[ship.ViewID](ship.ViewIDOf),
	reflect.TypeFor[*ship.TrackerID]():       scanID[ship.TrackerID](ship.TrackerIDOf),
}

// PlanEncode is pgtype.Codec.
func (c idCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if format == pgtype.BinaryFormatCode {
		switch value.(type) {
		case identifier:
			return encodeID{}
		case ship.RawID:
			return encodeRawID{}
		case *ship.RawID:
			return encodeRawIDPointer{}
		}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

// PlanScan is pgtype.Codec.
func (c idCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if format == pgtype.BinaryFormatCode {
		switch target.(type) {
		case *ship.RawID:
			return scanRaw{}
		case identifier:
			// Without a plan, pgx would write the uuid as Postgres shows it into the id.
			plan, ok := idScanPlans[reflect.TypeOf(target)]
			if !ok {
				panic(fmt.Sprintf("store: idScanPlans lacks %T", target))
			}
			return plan
		}
	}
	return c.UUIDCodec.PlanScan(m, oid, format, target)
}

type encodeID struct{}

func (encodeID) Encode(value any, buf []byte) ([]byte, error) {
	id := value.(identifier).Raw()
	return append(buf, id[:]...), nil
}

type encodeRawID struct{}

func (encodeRawID) Encode(value any, buf []byte) ([]byte, error) {
	id := value.(ship.RawID)
	return append(buf, id[:]...), nil
}

type encodeRawIDPointer struct{}

func (encodeRawIDPointer) Encode(value any, buf []byte) ([]byte, error) {
	return append(buf, value.(*ship.RawID)[:]...), nil
}

// scanID reads an id of one kind; the function makes one of its bytes.
type scanID[ID ~string] func(ship.RawID) ID

// Scan is pgtype.ScanPlan.
func (of scanID[ID]) Scan(src []byte, target any) error {
	id := target.(*ID)
	switch len(src) {
	case 0: // NULL
		*id = ""
	case len(ship.RawID{}):
		*id = of(ship.RawID(src))
	default:
		return fmt.Errorf("a uuid of %d bytes", len(src))
	}
	return nil
}

// scanRaw reads the bytes of an id; NULL is the zero id.
type scanRaw struct{}

// Scan is pgtype.ScanPlan.
func (scanRaw) Scan(src []byte, target any) error {
	id := target.(*ship.RawID)
	switch len(src) {
	case 0: // NULL
		*id = ship.RawID{}
	case len(id):
		*id = ship.RawID(src)
	default:
		return fmt.Errorf("a uuid of %d bytes", len(src))
	}
	return nil
}

func compareIDs(a, b ship.RawID) int { return bytes.Compare(a[:], b[:]) }

// idArray is an array of ids that is sent without an allocation for each.
type idArray []ship.RawID

// rawIDs returns the ids as an array; that of no ids is empty, not NULL.
func rawIDs[ID identifier](ids []ID) idArray {
	list := make(idArray, len(ids))
	for i, id := range ids {
		list[i] = id.Raw()
	}
	return list
}

// Dimensions is pgtype.ArrayGetter.
func (a idArray) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(a)), LowerBound: 1}}
}

// Index is pgtype.ArrayGetter.
func (a idArray) Index(i int) any { return &a[i] }

// IndexType is pgtype.ArrayGetter.
func (a idArray) IndexType() any { return (*ship.RawID)(nil) }

// uuidText writes an id as Postgres shows it.
func uuidText(id ship.RawID) string {
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:], id[10:])
	return string(b[:])
}

// idBounds turns times and the last id of the page before into a range of ids: at
// or above the first, below the second. Ids begin with their time.
func idBounds(from, before time.Time, last ship.RawID) (lowest, below ship.RawID) {
	if !from.IsZero() {
		lowest = ship.RawIDAt(from)
	}

	for i := range below {
		below[i] = 0xff
	}
	if !before.IsZero() {
		below = ship.RawIDAt(before)
	}
	if !last.IsZero() && string(last[:]) < string(below[:]) {
		below = last
	}
	return lowest, below
}

// nextID returns the smallest id that is greater than id.
func nextID(id ship.RawID) ship.RawID {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			break
		}
	}
	return id
}
