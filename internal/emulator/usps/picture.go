package usps

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// A picture is the label of a sale, four by six inches. Its bars hold the
// routing and the tracking number.
type picture struct {
	class, number, routing string
	from, to               address
	references             []string
}

func (p picture) draw(imageType string) []byte {
	if imageType == "PNG" {
		return p.png()
	}
	return p.pdf()
}

func (a address) lines() []string {
	name := strings.TrimSpace(a.FirstName + " " + a.LastName)
	city := strings.TrimSpace(a.City + " " + a.State + a.Province + " " + a.ZIPCode + a.PostalCode)
	var list []string
	for _, line := range []string{name, a.Firm, a.StreetAddress, a.SecondaryAddress, city, a.Country} {
		if line != "" {
			list = append(list, line)
		}
	}
	return list
}

// pdf returns one page of text and bars.
func (p picture) pdf() []byte {
	var page bytes.Buffer
	write := func(x, y, size int, text string) {
		text = strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text)
		fmt.Fprintf(&page, "BT /F1 %d Tf %d %d Td (%s) Tj ET\n", size, x, y, text)
	}

	write(20, 400, 14, strings.ReplaceAll(p.class, "_", " "))
	for i, line := range p.from.lines() {
		write(20, 375-10*i, 8, line)
	}
	for i, line := range p.to.lines() {
		write(40, 280-16*i, 13, line)
	}

	bars, modules := code128(p.routing, p.number)
	width := 248.0 / float64(modules)
	for _, bar := range bars {
		fmt.Fprintf(&page, "%.3f 80 %.3f 80 re f\n", 20+float64(bar.at)*width, float64(bar.wide)*width)
	}
	write(60, 60, 11, p.number)
	write(20, 40, 8, strings.Join(p.references, "   "))
	return document(288, 432, page.Bytes())
}

// document wraps the content of one page, whose size is in points.
func document(wide, high int, content []byte) []byte {
	objects := []string{
		"<< /Type /Catalog /Pages 2 0 R >>",
		"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>", wide, high),
		fmt.Sprintf("<< /Length %d >>\nstream\n%sendstream", len(content), content),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
	}

	var file bytes.Buffer
	file.WriteString("%PDF-1.4\n")
	table := fmt.Sprintf("xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for i, object := range objects {
		table += fmt.Sprintf("%010d 00000 n \n", file.Len())
		fmt.Fprintf(&file, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	start := file.Len()
	fmt.Fprintf(&file, "%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", table, len(objects)+1, start)
	return file.Bytes()
}

// png returns a frame, text and the bars, at 203 dots per inch.
func (p picture) png() []byte {
	const wide, high = 812, 1218
	img := image.NewPaletted(image.Rect(0, 0, wide, high), color.Palette{color.White, color.Black})
	fill := func(x, y, width, height int) {
		for row := y; row < y+height; row++ {
			for column := x; column < x+width; column++ {
				img.Pix[row*img.Stride+column] = 1
			}
		}
	}
	for _, line := range [][4]int{{20, 20, 772, 4}, {20, 1194, 772, 4}, {20, 20, 4, 1178}, {788, 20, 4, 1178}, {20, 700, 772, 4}} {
		fill(line[0], line[1], line[2], line[3])
	}

	// Bars are whole dots wide, so that a scanner can read them.
	bars, modules := code128(p.routing, p.number)
	module := 720 / modules
	left := (wide - module*modules) / 2
	for _, bar := range bars {
		fill(left+bar.at*module, 780, bar.wide*module, 240)
	}

	pen := font.Drawer{Dst: img, Src: image.NewUniform(color.Black), Face: basicfont.Face7x13}
	write := func(y int, text string) {
		pen.Dot = fixed.P(40, y)
		pen.DrawString(text)
	}
	write(60, strings.ReplaceAll(p.class, "_", " "))
	for i, line := range p.to.lines() {
		write(400+20*i, line)
	}
	write(1060, p.number)
	write(1090, strings.Join(p.references, "   "))

	var out bytes.Buffer
	_ = png.Encode(&out, img) // a buffer takes everything
	return out.Bytes()
}

// A bar is a black bar at a position counted in modules from the left.
type bar struct{ at, wide int }

// code128 encodes digits in pairs, with a function character before each part,
// and other text by characters.
func code128(routing, number string) (bars []bar, modules int) {
	const startB, startC, fnc1, stop = 104, 105, 102, 106

	words := []int{startB}
	if routing != "" {
		words = []int{startC}
		for _, part := range []string{routing, number} {
			words = append(words, fnc1)
			for i := 0; i+1 < len(part); i += 2 {
				words = append(words, int(part[i]-'0')*10+int(part[i+1]-'0'))
			}
		}
	} else {
		for i := range len(number) {
			words = append(words, int(number[i])-' ')
		}
	}

	sum := words[0]
	for i, word := range words {
		sum += i * word
	}
	words = append(words, sum%103, stop)

	for _, word := range words {
		widths := patterns[6*word : min(6*word+6, len(patterns))]
		if word == stop {
			widths = "2331112"
		}
		for i := range len(widths) {
			if i%2 == 0 {
				bars = append(bars, bar{modules, int(widths[i] - '0')})
			}
			modules += int(widths[i] - '0')
		}
	}
	return bars, modules
}

// patterns has six widths for each code word from 0 to 105, bars and spaces in
// turn.
const patterns = "212222222122222221121223121322131222122213122312132212221213" +
	"221312231212112232122132122231113222123122123221223211221132" +
	"221231213212223112312131311222321122321221312212322112322211" +
	"212123212321232121111323131123131321112313132113132311211313" +
	"231113231311112133112331132131113123113321133121313121211331" +
	"231131213113213311213131311123311321331121312113312311332111" +
	"314111221411431111111224111422121124121421141122141221112214" +
	"112412122114122411142112142211241211221114413111241112134111" +
	"111242121142121241114212124112124211411212421112421211212141" +
	"214121412121111143111341131141114113114311411113411311113141" +
	"114131311141411131211412211214211232"
