package label

import "testing"

func benchmark(b *testing.B, d Document, o Options) {
	r := newRenderer(b)
	b.ReportAllocs()
	size := 0
	for b.Loop() {
		out, err := r.Render(d, o)
		if err != nil {
			b.Fatal(err)
		}
		size = len(out.Data)
	}
	b.ReportMetric(float64(size), "bytes")
}

func BenchmarkZPL(b *testing.B) {
	b.Run("latin", func(b *testing.B) { benchmark(b, oneOf(latin["ups"]), Options{Format: ZPL}) })
	b.Run("worldly", func(b *testing.B) { benchmark(b, worldly(), Options{Format: ZPL}) })
}

func BenchmarkPDF(b *testing.B) {
	b.Run("latin", func(b *testing.B) { benchmark(b, oneOf(latin["ups"]), Options{Format: PDF}) })
	b.Run("worldly", func(b *testing.B) { benchmark(b, worldly(), Options{Format: PDF}) })
}

func BenchmarkPNG(b *testing.B) {
	b.Run("latin/203", func(b *testing.B) { benchmark(b, oneOf(latin["ups"]), Options{Format: PNG}) })
	b.Run("latin/300", func(b *testing.B) { benchmark(b, oneOf(latin["ups"]), Options{Format: PNG, DPI: 300}) })
	b.Run("worldly/203", func(b *testing.B) { benchmark(b, worldly(), Options{Format: PNG}) })
}

func BenchmarkMarshal(b *testing.B) {
	d := oneOf(latin["ups"])
	b.ReportAllocs()
	for b.Loop() {
		d.Marshal()
	}
}
