package ups_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/emulator"
)

func TestLabelsArePicturesWithABarcode(t *testing.T) {
	b := start(t, "")
	if _, _, err := b.buy("R", 1); err != nil {
		t.Fatal(err)
	}
	numbers, labels, _ := b.find("R")
	data, err := base64.StdEncoding.DecodeString(labels[0])
	if err != nil || len(data) > 40_000 {
		t.Fatal(len(data), err)
	}
	picture, err := gif.Decode(bytes.NewReader(data))
	if err != nil || picture.Bounds() != image.Rect(0, 0, 1400, 800) {
		t.Fatal(err)
	}
	// The widths of the bars in the middle of the barcode, in modules. The
	// label is rotated, so its lines run upwards.
	var widths []byte
	dark, run := false, 0
	for y := 799; y >= 0; y-- {
		r, _, _, _ := picture.At(600, y).RGBA()
		if now := r == 0; now != dark {
			widths = append(widths, byte('0'+run/3))
			dark, run = now, 0
		}
		run++
	}
	// After the margin: the start word of set B, the number, a check word and
	// the stop word, with six widths per word and seven for the stop word.
	if got, want := len(widths)-1, 6*(1+len(numbers[0])+1)+7; got != want || string(widths[1:7]) != "211214" {
		t.Errorf("%d widths that begin with %s, want %d", got, widths[1:7], want)
	}
}

func TestParcelsAreTrackedThroughTheirLife(t *testing.T) {
	b := start(t, "")
	if _, _, err := b.buy("R", 1); err != nil {
		t.Fatal(err)
	}
	number := b.Ledger.Entries()[0].Number
	ask := func(path string) string {
		_, body, err := b.do(http.MethodGet, path, "application/json", "")
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got := ask("/api/track/v1/details/" + number); !strings.Contains(got, `"statusCode":"003"`) || strings.Contains(got, `"011"`) {
		t.Errorf("a new parcel: %s", got)
	}
	if err := b.Turn(emulator.Faults{Tracking: []emulator.Scan{{Code: "OR", City: "Reno"}, {Code: "X/48/022", Text: "Nobody home"}, {Code: "F4", After: emulator.Duration(time.Hour)}}}); err != nil {
		t.Fatal(err)
	}
	got := ask("/api/track/v1/reference/details/R")
	if !strings.Contains(got, `"statusCode":"022"`) || !strings.Contains(got, "Reno") || strings.Contains(got, `"011"`) || strings.Index(got, `"X"`) > strings.Index(got, `"OR"`) {
		t.Errorf("by the faults, newest first: %s", got)
	}
	if got := ask("/api/track/v1/details/1Z0000000000000000"); !strings.Contains(got, "TW0001") {
		t.Errorf("an unknown parcel: %s", got)
	}
}
