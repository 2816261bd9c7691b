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
	MaxLogoBytes       = 512 << 10
	maxLogoSide        = 4096
	maxLogoPixels      = 2 << 20
	maxProgressiveLogo = 1 << 20 // pixels of a progressive JPEG, whose decoder holds up to 20 bytes for each
	maxLogoScans       = 40      // of a JPEG: each is a pass over the whole picture
	logoWidth          = 640
	logoHeight         = 200
)

// A Logo is the picture of an account on its public pages.
type Logo = store.Logo

// SetLogo gives the account a logo. It stores a PNG that is drawn here, never
// the file itself: nothing but the picture passes.
func (s *Service) SetLogo(ctx context.Context, id ship.AccountID, file []byte) error {
	logo, err := newLogo(file)
	if err != nil {
		return err
	}
	return s.store.SaveLogo(ctx, id, logo)
}

// DropLogo removes the account's logo.
func (s *Service) DropLogo(ctx context.Context, id ship.AccountID) error {
	return s.store.DropLogo(ctx, id)
}

// Logo returns the account's logo without the picture; empty if it has none.
func (s *Service) Logo(ctx context.Context, id ship.AccountID) (Logo, error) {
	logo, err := s.store.Logo(ctx, id, false)
	if ship.KindOf(err) == ship.NotFound {
		return Logo{}, nil
	}
	return logo, err
}

// StorageToday returns what the account has stored today in live and in test mode, and
// how much it can store.
func (s *Service) StorageToday(ctx context.Context, id ship.AccountID) ([]store.StorageUse, error) {
	return s.store.StorageToday(ctx, id)
}

// LogoPicture returns the picture of that hash; ship.NotFound if the account
// has another by now.
func (s *Service) LogoPicture(ctx context.Context, id ship.AccountID, hash string) (Logo, error) {
	logo, err := s.store.Logo(ctx, id, true)
	if err == nil && logo.Hash != hash {
		err = ship.Errorf(ship.NotFound, "no such image")
	}
	return logo, err
}

func newLogo(file []byte) (Logo, error) {
	if len(file) == 0 {
		return Logo{}, invalidLogo("required", "choose an image first")
	}
	if len(file) > MaxLogoBytes {
		return Logo{}, invalidLogo("too_large", "is larger than 512 KB: save it at a smaller size")
	}

	// The size is checked before the picture is decoded: a small file can
	// describe a picture that fills the memory.
	header, format, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil || format != "png" && format != "jpeg" {
		return Logo{}, invalidLogo("invalid", "is not a PNG or JPEG image")
	}
	pixels := header.Width * header.Height
	if header.Width < 1 || header.Height < 1 || header.Width > maxLogoSide || header.Height > maxLogoSide || pixels > maxLogoPixels {
		return Logo{}, invalidLogo("too_large", "has more than 2 million pixels: save it with a width of 1,000 pixels")
	}
	if err := checkScans(file, format, pixels); err != nil {
		return Logo{}, err
	}

	picture, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return Logo{}, invalidLogo("invalid", "is an image that cannot be read")
	}
	return drawLogo(picture)
}

// The markers of a JPEG that begin a scan, and the frame of a progressive
// picture.
var (
	scanMarker        = []byte{0xff, 0xda}
	progressiveMarker = []byte{0xff, 0xc2}
)

// checkScans refuses a JPEG that is small as a file and a lot of work to
// decode. A progressive picture is drawn in many passes, and a pass over a
// million pixels takes a dozen bytes of the file.
//
// Markers are counted wherever their bytes are, so a file that confuses one
// parser and not another is counted as the worse of the two. Pictures have ten
// scans at most; the few that occur by chance do not matter.
func checkScans(file []byte, format string, pixels int) error {
	if format != "jpeg" {
		return nil
	}
	if bytes.Count(file, scanMarker) > maxLogoScans {
		return invalidLogo("too_large", "is a JPEG with more than 40 scans: save it as PNG")
	}
	if pixels > maxProgressiveLogo && bytes.Contains(file, progressiveMarker) {
		return invalidLogo("too_large", "is a progressive JPEG with more than 1 million pixels: save it with a width of 1,000 pixels, or as PNG")
	}
	return nil
}

// drawLogo scales a picture down to the size that pages show, and encodes it.
func drawLogo(picture image.Image) (Logo, error) {
	width := float64(picture.Bounds().Dx())
	height := float64(picture.Bounds().Dy())
	scale := min(1, logoWidth/width, logoHeight/height)
	logo := Logo{Width: max(1, int(width*scale)), Height: max(1, int(height*scale))}

	scaled := image.NewNRGBA(image.Rect(0, 0, logo.Width, logo.Height))
	draw.CatmullRom.Scale(scaled, scaled.Bounds(), picture, picture.Bounds(), draw.Src, nil)

	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, scaled); err != nil {
		return Logo{}, err
	}
	logo.Picture = out.Bytes()
	sum := sha256.Sum256(logo.Picture)
	logo.Hash = hex.EncodeToString(sum[:16])
	return logo, nil
}

func invalidLogo(code, detail string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: "/logo", Code: code, Detail: detail}})
}
