package api

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

const goodShipment = `{"orderId":"ORD-1","destination":{"name":"Ada","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"},` +
	`"parcel":{"weight":4.2,"dimensions":{"length":12,"width":9,"height":4}}`

// wrongWith lists what is wrong with a body of POST /v1/shipments.
func wrongWith(t *testing.T, rt *route, body string) []ship.FieldError {
	t.Helper()
	tape, err := httpkit.ParseJSON([]byte(body))
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	defer tape.Release()
	return rt.body.validate(tape)
}

func TestBodiesAreCheckedWithExactPointers(t *testing.T) {
	rt := newServer(Config{}).routes["POST /v1/shipments"]
	for _, tc := range []struct{ body, pointer, code, suggestion string }{
		{goodShipment + `}`, "", "", ""},
		{goodShipment + `,"origin":null,"carrier":null,"metadata":null,"isReturn":null}`, "", "", ""},
		{goodShipment + `,"orderid":"x"}`, "", "", ""}, // refused before: names differ only in case
		{goodShipment + `,"destinaton":{}}`, "/destinaton", "unknown_field", "destination"},
		{goodShipment + `,"a.b[0]":1}`, "/a.b[0]", "unknown_field", ""},
		{goodShipment + `,"x/y~":1}`, "/x~1y~0", "unknown_field", ""},
		{goodShipment + `,"parcels":[{"weight":1}]}`, "/parcels", "exclusive", ""},
		{goodShipment + `,"parcels":null}`, "/parcels", "wrong_type", ""},
		{goodShipment + `,"labelFormat":"zlp"}`, "/labelFormat", "not_allowed", "zpl"},
		{goodShipment + `,"maxAmount":{"amount":"1,50","currency":"USD"}}`, "/maxAmount/amount", "invalid_format", ""},
		{goodShipment + `,"maxAmount":{"amount":1.5,"currency":"USD"}}`, "/maxAmount/amount", "wrong_type", ""},
		{goodShipment + `,"shipDate":"2026-02-30"}`, "/shipDate", "invalid_format", ""},
		{goodShipment + `,"customs":{"contentsType":"gift","items":[{"description":"x","quantity":1.5,"value":{"amount":"1","currency":"USD"}}]}}`, "/customs/items/0/quantity", "wrong_type", ""},
		{goodShipment + `,"customs":{"contentsType":"gift","items":[]}}`, "/customs/items", "too_few", ""},
		{goodShipment + `,"metadata":{"a":1}}`, "/metadata/a", "wrong_type", ""},
		{goodShipment + `,"metadata":{"":"x"}}`, "/metadata/", "too_long", ""},
		{goodShipment + `,"metadata":{` + manyNames(51) + `}}`, "/metadata", "too_many", ""},
		{goodShipment + `,"reference":"` + strings.Repeat("\\ud83d\\ude00", 100) + `"}`, "", "", ""},
		{goodShipment + `,"reference":"` + strings.Repeat("é", 101) + `"}`, "/reference", "too_long", ""},
		{strings.Replace(goodShipment, `"weight":4.2`, `"weight":0`, 1) + `}`, "/parcel/weight", "too_small", ""},
		{strings.Replace(goodShipment, `"weight":4.2,`, ``, 1) + `}`, "/parcel/weight", "required", ""},
		{strings.Replace(goodShipment, `"weight":4.2`, `"wieght":4.2`, 1) + `}`, "/parcel/wieght", "unknown_field", "weight"},
		{strings.Replace(goodShipment, `"orderId":"ORD-1"`, `"orderId":null`, 1) + `}`, "/orderId", "wrong_type", ""},
		{strings.Replace(goodShipment, `"orderId":"ORD-1"`, `"orderId":""`, 1) + `}`, "/orderId", "required", ""},
		{`[]`, "", "wrong_type", ""},
	} {
		if strings.Contains(tc.body, `"orderid"`) {
			if _, err := httpkit.ParseJSON([]byte(tc.body)); err == nil {
				t.Error("names that differ only in case were accepted")
			}
			continue
		}
		wrong := wrongWith(t, rt, tc.body)
		if tc.code == "" {
			if wrong != nil {
				t.Errorf("%s: %v", tc.body, wrong)
			}
			continue
		}
		if len(wrong) == 0 || wrong[0].Pointer != tc.pointer || wrong[0].Code != tc.code || wrong[0].Suggestion != tc.suggestion {
			t.Errorf("%s:\n got %+v\nwant %s at %q, suggestion %q", tc.body, wrong, tc.code, tc.pointer, tc.suggestion)
		}
	}
}

func manyNames(n int) string {
	var list []string
	for i := range n {
		list = append(list, `"n`+strings.Repeat("x", i)+`":"v"`)
	}
	return strings.Join(list, ",")
}

func TestMissingFieldsAreAllListed(t *testing.T) {
	rt := newServer(Config{}).routes["POST /v1/shipments"]
	got := make(map[string]string)
	for _, f := range wrongWith(t, rt, `{"destination":{"city":"Austin"}}`) {
		got[f.Pointer] = f.Code
	}
	want := map[string]string{
		"/orderId": "required", "/destination/name": "required", "/destination/address1": "required",
		"/destination/country": "required", "/parcel": "required",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

// FuzzValidateAgreesWithHuma holds the check of bodies to huma's own, which is
// the library's reading of the same schema.
func FuzzValidateAgreesWithHuma(f *testing.F) {
	s := newServer(Config{})
	rt := s.routes["POST /v1/shipments"]
	reg := s.api.OpenAPI().Components.Schemas
	schema := s.operationOf(rt).RequestBody.Content["application/json"].Schema
	reg.SchemaFromRef(schema.Ref).OneOf = nil // huma cannot check it
	rt.body.oneOf = nil
	for i := range rt.body.fields {
		rt.body.fields[i].notNull = rt.body.fields[i].required
	}
	reg.Map()["OriginInput"].OneOf = nil // likewise
	origin := rt.body.fields[rt.body.index([]byte("origin"))].shape
	origin.instead = ""
	for i := range origin.fields {
		origin.fields[i].required = false
		origin.fields[i].notNull = false
	}
	huma.ValidateStrictCasing = true
	for _, extra := range []string{`}`, `,"origin":null}`, `,"shipDate":"2026-03-01","options":{"insuredValue":{"amount":"1.5","currency":"USD"}}}`, `,"metadata":{"a":"b"}}`, `,"customs":{"contentsType":"gift","items":[{"description":"x","quantity":1e0,"value":{"amount":"1","currency":"USD"}}]}}`} {
		f.Add([]byte(goodShipment + extra))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tape, err := httpkit.ParseJSON(src)
		if err != nil {
			return
		}
		defer tape.Release()
		wrong := rt.body.validate(tape)
		var v any
		if err := json.Unmarshal(src, &v); err != nil {
			t.Fatal(err)
		}
		res := &huma.ValidateResult{}
		huma.Validate(reg, schema, huma.NewPathBuffer(nil, 0), huma.ModeWriteToServer, v, res)
		if (len(wrong) == 0) != (len(res.Errors) == 0) && !slices.ContainsFunc(wrong, ours) {
			t.Fatalf("%s\nwe say %v\nhuma says %v", src, wrong, res.Errors)
		}
		if len(wrong) == 0 {
			if err := json.Unmarshal(src, new(shipmentInput)); err != nil {
				t.Fatalf("%s was accepted but cannot be decoded: %v", src, err)
			}
		}
	})
}

// ours reports what only our check looks at: the names of metadata.
func ours(f ship.FieldError) bool { return strings.HasPrefix(f.Pointer, "/metadata/") }
