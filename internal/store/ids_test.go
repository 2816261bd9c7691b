package store

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/waybillhq/waybill/internal/ship"
)

// newTypeMap returns the types of a connection of the store.
func newTypeMap() *pgtype.Map {
	types := pgtype.NewMap()
	registerIDs(types)
	return types
}

func TestIDsAreSentAndReadAsTheyAre(t *testing.T) {
	t.Parallel()
	types := newTypeMap()
	encode := func(oid uint32, value any) []byte {
		t.Helper()
		data, err := types.Encode(oid, pgtype.BinaryFormatCode, value, nil)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	scan := func(oid uint32, data []byte, target any) {
		t.Helper()
		if err := types.Scan(oid, pgtype.BinaryFormatCode, data, target); err != nil {
			t.Fatal(err)
		}
	}

	id := ship.NewShipmentID(7, time.Now())
	raw := id.Raw()
	for _, value := range []any{id, &id, null(id), raw, &raw, [16]byte(raw)} {
		if data := encode(pgtype.UUIDOID, value); !bytes.Equal(data, raw[:]) {
			t.Errorf("%T is sent as %x, want %x", value, data, raw)
		}
	}
	if data := encode(pgtype.UUIDOID, null(ship.ShipmentID(""))); data != nil {
		t.Errorf("no id is sent as %x, want NULL", data)
	}

	var read ship.ShipmentID
	var readRaw ship.RawID
	scan(pgtype.UUIDOID, raw[:], &read)
	scan(pgtype.UUIDOID, raw[:], &readRaw)
	if read != id || readRaw != raw {
		t.Errorf("read %s and %x, want %s and %x", read, readRaw, id, raw)
	}
	scan(pgtype.UUIDOID, nil, &read)
	scan(pgtype.UUIDOID, nil, &readRaw)
	if read != "" || !readRaw.IsZero() {
		t.Errorf("NULL is read as %q and %x", read, readRaw)
	}

	var list []ship.ShipmentID
	scan(pgtype.UUIDArrayOID, encode(pgtype.UUIDArrayOID, rawIDs([]ship.ShipmentID{id, id})), &list)
	if !slices.Equal(list, []ship.ShipmentID{id, id}) {
		t.Errorf("an array is read as %v", list)
	}
	if data := encode(pgtype.UUIDArrayOID, rawIDs([]ship.ShipmentID(nil))); data == nil {
		t.Error("no ids are sent as NULL, want an empty array")
	}
}

func TestEveryKindOfIDCanBeRead(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for kind := range idScanPlans {
		known[kind.Elem().Name()] = true
	}

	files, err := filepath.Glob("../ship/*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			method, ok := declaration.(*ast.FuncDecl)
			if !ok || method.Name.Name != "Raw" || method.Recv == nil {
				continue
			}
			found++
			if kind := method.Recv.List[0].Type.(*ast.Ident).Name; !known[kind] {
				t.Errorf("idScanPlans lacks ship.%s", kind)
			}
		}
	}
	if found != len(idScanPlans) {
		t.Errorf("ship has %d kinds of ids, idScanPlans %d", found, len(idScanPlans))
	}
}

// BenchmarkID compares an id that encodes itself with one that is converted
// before and after the driver.
func BenchmarkID(b *testing.B) {
	id := ship.NewShipmentID(7, time.Now())
	plain := pgtype.NewMap()
	types := newTypeMap()
	raw := id.Raw()
	buf := make([]byte, 0, 64)

	b.Run("encode converted", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := plain.Encode(pgtype.UUIDOID, pgtype.BinaryFormatCode, [16]byte(id.Raw()), buf); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encode itself", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := types.Encode(pgtype.UUIDOID, pgtype.BinaryFormatCode, id, buf); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("scan converted", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var scanned [16]byte
			if err := plain.Scan(pgtype.UUIDOID, pgtype.BinaryFormatCode, raw[:], &scanned); err != nil {
				b.Fatal(err)
			}
			_ = ship.ShipmentIDOf(scanned)
		}
	})
	b.Run("scan itself", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var scanned ship.ShipmentID
			if err := types.Scan(pgtype.UUIDOID, pgtype.BinaryFormatCode, raw[:], &scanned); err != nil {
				b.Fatal(err)
			}
		}
	})
}
