package account

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"image"
	_ "image/jpeg" // the two kinds of pictures that people have
	"image/png"

	"golang.org/x/image/draw"

	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// The bounds of a logo: of the file that is given, of the picture in it, and
// of what is kept.
const (
	MaxLogoBytes  = 512 << 10
	maxLogoSide   = 4096
	maxLogoPixels = 4 << 20
	logoWidth     = 640
	logoHeight    = 200
)

// A Logo is the picture of an account on its public pages.
type Logo = store.Logo

// SetLogo gives the account a logo. What is kept is a PNG that is drawn here,
// never the file itself: nothing but the picture passes.
func (s *Service) SetLogo(ctx context.Context, id ship.AccountID, file []byte) error {
	l, err := newLogo(file)
	if err != nil {
		return err
	}
	return s.store.SaveLogo(ctx, id, l)
}

// DropLogo takes the account's logo away.
func (s *Service) DropLogo(ctx context.Context, id ship.AccountID) error {
	return s.store.DropLogo(ctx, id)
}

// Logo returns the account's logo without the picture; empty if it has none.
func (s *Service) Logo(ctx context.Context, id ship.AccountID) (Logo, error) {
	l, err := s.store.Logo(ctx, id, false)
	if ship.KindOf(err) == ship.NotFound {
		return Logo{}, nil
	}
	return l, err
}

// LogoPicture returns the picture of that hash; ship.NotFound if the account
// has another by now.
func (s *Service) LogoPicture(ctx context.Context, id ship.AccountID, hash string) (Logo, error) {
	l, err := s.store.Logo(ctx, id, true)
	if err == nil && l.Hash != hash {
		err = ship.Errorf(ship.NotFound, "no such picture")
	}
	return l, err
}

func newLogo(file []byte) (Logo, error) {
	if len(file) == 0 {
		return Logo{}, badLogo("required", "choose a picture first")
	}
	if len(file) > MaxLogoBytes {
		return Logo{}, badLogo("too_large", "is over 512 KB: save it smaller")
	}
	c, kind, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil || kind != "png" && kind != "jpeg" {
		return Logo{}, badLogo("invalid", "is not a PNG or JPEG picture")
	}
	if c.Width < 1 || c.Height < 1 || c.Width > maxLogoSide || c.Height > maxLogoSide || c.Width*c.Height > maxLogoPixels {
		return Logo{}, badLogo("too_large", "has too many pixels: 1,000 in width are plenty")
	}
	from, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return Logo{}, badLogo("invalid", "is a picture that cannot be read")
	}
	return drawLogo(from)
}

// drawLogo brings a picture into the size that pages show.
func drawLogo(from image.Image) (Logo, error) {
	w, h := from.Bounds().Dx(), from.Bounds().Dy()
	scale := min(1, float64(logoWidth)/float64(w), float64(logoHeight)/float64(h))
	l := Logo{Width: max(1, int(float64(w)*scale)), Height: max(1, int(float64(h)*scale))}
	to := image.NewNRGBA(image.Rect(0, 0, l.Width, l.Height))
	draw.CatmullRom.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		return Logo{}, err
	}
	l.Picture = out.Bytes()
	sum := sha256.Sum256(l.Picture)
	l.Hash = hex.EncodeToString(sum[:16])
	return l, nil
}

func badLogo(code, detail string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: "/logo", Code: code, Detail: detail}})
}
