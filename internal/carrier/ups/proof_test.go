package ups

import (
	"encoding/base64"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func TestProofsAreReadByTheirFirstBytes(t *testing.T) {
	for data, want := range map[string]string{
		"<!DOCTYPE html><html></html>":    "html",
		"\ufeff \n<html></html>":          "html",
		"%PDF-1.4":                        "pdf",
		"GIF89a":                          "gif",
		"\x89PNG\r\n\x1a\n":               "png",
		"\xff\xd8\xff\xe0":                "jpg",
		"Dear customer, it was delivered": "",
		"":                                "",
	} {
		proof, err := readProof(base64.StdEncoding.EncodeToString([]byte(data)))
		if proof.Format != want || want == "" && ship.KindOf(err) != ship.Unavailable || want != "" && string(proof.Data) != data {
			t.Errorf("%q: %+v, %v; want %q", data, proof, err, want)
		}
	}
	if _, err := readProof("not base64"); ship.KindOf(err) != ship.Unavailable {
		t.Errorf("what is not base64: %v, want unavailable", err)
	}
}
