package parts

import (
	"bytes"
	"encoding/base64"
	"image/png"

	"github.com/boombuler/barcode"
	"github.com/boombuler/barcode/qr"
)

// QRPicture returns text as a QR code in a data URL; "" if it does not fit.
func QRPicture(text string) string {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return ""
	}
	code, err = barcode.Scale(code, 220, 220)
	if err != nil {
		return ""
	}

	var picture bytes.Buffer
	if err := png.Encode(&picture, code); err != nil {
		return ""
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes())
}
