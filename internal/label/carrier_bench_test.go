package label

import (
	"testing"

	"github.com/waybillhq/waybill/internal/ship"
)

func BenchmarkConvert(b *testing.B) {
	for name, l := range map[string]ship.Label{
		"ups-gif":    {Format: "gif", Data: upsGIF(b, latin["ups"])},
		"fedex-png":  {Format: "png", Data: fedexPNG(b, latin["fedex"])},
		"300dpi-jpg": {Format: "jpg", Data: photo(b, latin["usps"])},
		"pdf":        {Format: "pdf", Data: render(b, oneOf(latin["dhl"]), Options{}).Data},
	} {
		for _, o := range []Options{{Format: PDF, Size: Size4x6, DPI: 203}, {Format: PNG, Size: Size4x6, DPI: 203}, {Format: ZPL, Size: Size4x6, DPI: 203}, {Format: ZPL, Size: Size4x6, DPI: 300}, {Format: PDF, Size: SizeA4, DPI: 203}} {
			if l.Format == "pdf" && o.Format != PDF {
				continue
			}
			b.Run(name+"/"+string(o.Format)+"-"+string(o.Size)+"-"+string(rune('0'+o.DPI/100))+"00", func(b *testing.B) {
				r := newRenderer(b)
				b.ReportAllocs()
				size := 0
				for b.Loop() {
					out, err := r.RenderLabel(l, o)
					if err != nil {
						b.Fatal(err)
					}
					size = len(out.Data)
				}
				b.ReportMetric(float64(size), "bytes")
			})
		}
	}
}

func BenchmarkLint(b *testing.B) {
	graphic, err := newRenderer(b).RenderLabel(ship.Label{Format: "gif", Data: upsGIF(b, latin["ups"])}, Options{Format: ZPL})
	if err != nil {
		b.Fatal(err)
	}
	for name, l := range map[string]ship.Label{
		"zpl":         {Format: "zpl", Data: corpus(b, "benign")["ups-like.zpl"]},
		"zpl-graphic": {Format: "zpl", Data: graphic.Data},
		"pdf":         {Format: "pdf", Data: render(b, oneOf(latin["dhl"]), Options{}).Data},
		"pdf-packed":  {Format: "pdf", Data: corpus(b, "benign")["packed-objects.pdf"]},
		"gif":         {Format: "gif", Data: upsGIF(b, latin["ups"])},
		"png":         {Format: "png", Data: fedexPNG(b, latin["fedex"])},
		"jpg":         {Format: "jpg", Data: photo(b, latin["usps"])},
		"pdf-bomb":    {Format: "pdf", Data: corpus(b, "hostile")["pdf-bomb.pdf"]},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = Lint(l.Format, l.Data)
			}
			b.ReportMetric(float64(len(l.Data)), "bytes")
		})
	}
}
