package account_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func picture(w, h int) image.Image {
	m := image.NewPaletted(image.Rect(0, 0, w, h), color.Palette{color.Black, color.White})
	m.SetColorIndex(0, 0, 1)
	return m
}

func TestALogoIsDrawnAnewAndOnlyPicturesAreTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	made := b.account.ID
	var asPNG, asJPEG, asGIF, huge bytes.Buffer
	for _, err := range []error{
		png.Encode(&asPNG, picture(1280, 400)), jpeg.Encode(&asJPEG, picture(90, 30), nil), gif.Encode(&asGIF, picture(9, 9), nil), png.Encode(&huge, picture(4096, 4096)),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	asPNG.WriteString("<script>alert(1)</script>") // what follows a picture does not pass
	for name, file := range map[string][]byte{
		"nothing": nil, "words": []byte("<svg onload=alert(1)>"), "a GIF": asGIF.Bytes(), "a cut picture": asPNG.Bytes()[:80], "too many pixels": huge.Bytes(),
		"too many bytes": append(bytes.Clone(asPNG.Bytes()), make([]byte, 512<<10)...),
	} {
		if err := b.SetLogo(t.Context(), made, file); ship.KindOf(err) != ship.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if l, err := b.Logo(t.Context(), made); err != nil || l.Hash != "" {
		t.Errorf("before there is one: %v %v", l, err)
	}
	for _, tc := range []struct {
		file          []byte
		width, height int
	}{{asJPEG.Bytes(), 90, 30}, {asPNG.Bytes(), 640, 200}} {
		if err := b.SetLogo(t.Context(), made, tc.file); err != nil {
			t.Fatal(err)
		}
		l, err := b.Logo(t.Context(), made)
		if err != nil || l.Width != tc.width || l.Height != tc.height || l.Picture != nil {
			t.Errorf("logo %dx%d with %d bytes, %v", l.Width, l.Height, len(l.Picture), err)
		}
		got, err := b.LogoPicture(t.Context(), made, l.Hash)
		if _, kind, bad := image.Decode(bytes.NewReader(got.Picture)); err != nil || bad != nil || kind != "png" || bytes.Contains(got.Picture, []byte("script")) {
			t.Errorf("picture: %s %v %v", kind, bad, err)
		}
		if _, err := b.LogoPicture(t.Context(), made, "00"); ship.KindOf(err) != ship.NotFound {
			t.Errorf("another hash: %v", err)
		}
	}
	if err := b.DropLogo(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	if l, err := b.Logo(t.Context(), made); err != nil || l.Hash != "" {
		t.Errorf("after it was dropped: %v %v", l, err)
	}
}
