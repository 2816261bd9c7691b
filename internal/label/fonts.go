package label

import (
	"embed"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// The Noto fonts are under the SIL Open Font License, fonts/OFL.txt.
//
//go:embed fonts/*.ttf fonts/OFL.txt
var fontFiles embed.FS

// typeface names a font. Those before cjk are embedded.
type typeface int

const (
	sans typeface = iota
	sansBold
	arabic
	hebrew
	thai
	devanagari
	cjk
	cjkBold
	typefaces
)

var embedded = [cjk]string{
	sans:       "NotoSans-Regular.ttf",
	sansBold:   "NotoSans-Bold.ttf",
	arabic:     "NotoSansArabic-Bold.ttf",
	hebrew:     "NotoSansHebrew-Bold.ttf",
	thai:       "NotoSansThai-Bold.ttf",
	devanagari: "NotoSansDevanagari-Bold.ttf",
}

// Chinese, Japanese and Korean are looked for in the font directory: the file
// of the right weight, else the other one.
const (
	cjkRegularFile = "NotoSansCJK-Regular.ttc"
	cjkBoldFile    = "NotoSansCJK-Bold.ttc"
)

// kit is all that is kept between renderings: fonts, which goroutines share,
// and idle typesetters, which they do not.
type kit struct {
	fonts [typefaces]func() *font.Font // nil font: not to be had
	big   atomic.Bool                  // a CJK font was read, 20 MB each
	idle  chan *typesetter
}

func newKit(fontDir string) *kit {
	k := &kit{idle: make(chan *typesetter, runtime.GOMAXPROCS(0))}
	for id := range k.fonts {
		k.fonts[id] = sync.OnceValue(func() *font.Font {
			if typeface(id) >= cjk {
				k.big.Store(true)
			}
			return load(typeface(id), fontDir)
		})
	}
	return k
}

func (k *kit) typesetter() *typesetter {
	select {
	case t := <-k.idle:
		return t
	default:
		return newTypesetter(k)
	}
}

func (k *kit) keep(t *typesetter) {
	select {
	case k.idle <- t:
	default:
	}
}

// load returns nil for a font that is not there or cannot be read: the label
// is printed with boxes then, and says so.
func load(id typeface, fontDir string) *font.Font {
	var f *font.Font
	var err error
	switch id {
	case cjk:
		f, err = loadFirst(fontDir, cjkRegularFile, cjkBoldFile)
	case cjkBold:
		f, err = loadFirst(fontDir, cjkBoldFile, cjkRegularFile)
	default:
		f, err = loadFile(fontFiles, "fonts/"+embedded[id])
	}
	if err != nil {
		return nil
	}
	return f
}

func loadFirst(dir string, names ...string) (f *font.Font, err error) {
	for _, name := range names {
		if f, err = loadFile(os.DirFS(dir), name); err == nil {
			break
		}
	}
	return f, err
}

// loadFile reads the first font of a file. The first of the CJK collection is
// the Japanese one; it has the shapes of the other languages too, and the
// shaper chooses by language.
func loadFile(dir fs.FS, name string) (*font.Font, error) {
	file, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	loaders, err := opentype.NewLoaders(file.(opentype.Resource)) // embedded and real files can seek
	if err != nil {
		return nil, err
	}
	return font.NewFont(loaders[0])
}
