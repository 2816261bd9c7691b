package dhlexpress

import (
	"encoding/json"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestProofsAreReadByTheirContent(t *testing.T) {
	const pdf, png, tiff = "JVBERi0xLjQKJSVFT0YK", "iVBORw0KGgo=", "SUkqAA=="
	for name, tc := range map[string]struct {
		body, format string
		kind         ship.Kind
	}{
		"a PDF":              {`{"documents":[{"encodingFormat":"PDF","content":"` + pdf + `","typeCode":"POD"}]}`, "pdf", ""},
		"a PNG":              {`{"documents":[{"encodingFormat":"PDF","content":"` + png + `"}]}`, "png", ""},
		"another format":     {`{"documents":[{"encodingFormat":"TIFF","content":"` + tiff + `"}]}`, "tiff", ""},
		"no word for it":     {`{"documents":[{"content":"` + tiff + `"}]}`, "", ship.Unavailable},
		"half a PDF":         {`{"documents":[{"encodingFormat":"PDF","content":"JVBERi0xLjQK"}]}`, "", ship.Unavailable},
		"a web page":         {`{"documents":[{"encodingFormat":"PDF","content":"PGh0bWw+"}]}`, "", ship.Unavailable},
		"an empty document":  {`{"documents":[{"encodingFormat":"PDF","content":""}]}`, "", ship.Unavailable},
		"none":               {`{"documents":[]}`, "", ship.NotFound},
		"says nothing of it": {`{}`, "", ship.Unavailable},
	} {
		var answer proofAnswer
		if err := json.Unmarshal([]byte(tc.body), &answer); err != nil {
			t.Fatal(name, err)
		}
		document, err := answer.proof()
		if document.Format != tc.format || ship.KindOf(err) != tc.kind || err == nil && document.Type != "proof_of_delivery" {
			t.Errorf("%s: %s %s, %v", name, document.Type, document.Format, err)
		}
	}
}
