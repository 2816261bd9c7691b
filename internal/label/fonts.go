package label

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/font/opentype"
)

// The Noto fonts are under the SIL Open Font License, fonts/OFL.txt. Compressed
// they take half of their size in the binary.
//
//go:embed fonts/*.ttf.gz fonts/OFL.txt
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
	sans:       "NotoSans-Regular.ttf.gz",
	sansBold:   "NotoSans-Bold.ttf.gz",
	arabic:     "NotoSansArabic-Bold.ttf.gz",
	hebrew:     "NotoSansHebrew-Bold.ttf.gz",
	thai:       "NotoSansThai-Bold.ttf.gz",
	devanagari: "NotoSansDevanagari-Bold.ttf.gz",
}

// Chinese, Japanese and Korean fonts are looked for in the font directory: the
// file of the right weight, else the other one.
const (
	cjkRegularFile = "NotoSansCJK-Regular.ttc"
	cjkBoldFile    = "NotoSansCJK-Bold.ttc"
)

// fontCache is everything that is kept between renderings: fonts, which
// goroutines share, and idle typesetters, which they do not.
type fontCache struct {
	fonts   [typefaces]func() *font.Font // nil font: unavailable
	hasCJK  atomic.Bool                  // a CJK font was read, 20 MB each
	setters chan *typesetter             // idle ones
}

func newFontCache(fontDir string) *fontCache {
	cache := &fontCache{setters: make(chan *typesetter, runtime.GOMAXPROCS(0))}
	for id := range cache.fonts {
		cache.fonts[id] = sync.OnceValue(func() *font.Font {
			if typeface(id) >= cjk {
				cache.hasCJK.Store(true)
			}
			return loadFont(typeface(id), fontDir)
		})
	}
	return cache
}

// take returns an idle typesetter, or a new one if all are in use.
func (c *fontCache) take() *typesetter {
	select {
	case setter := <-c.setters:
		return setter
	default:
		return newTypesetter(c)
	}
}

// put keeps a typesetter for the next rendering, unless enough are idle.
func (c *fontCache) put(setter *typesetter) {
	select {
	case c.setters <- setter:
	default:
	}
}

// loadFont returns nil for a font that does not exist or cannot be read: the
// label is then printed with boxes, and reports the characters as missing.
func loadFont(id typeface, fontDir string) *font.Font {
	var loaded *font.Font
	var err error

	switch id {
	case cjk:
		loaded, err = loadFirst(fontDir, cjkRegularFile, cjkBoldFile)
	case cjkBold:
		loaded, err = loadFirst(fontDir, cjkBoldFile, cjkRegularFile)
	default:
		loaded, err = loadEmbedded("fonts/" + embedded[id])
	}
	if err != nil {
		return nil
	}
	return loaded
}

func loadFirst(dir string, names ...string) (loaded *font.Font, err error) {
	for _, name := range names {
		if loaded, err = loadFile(os.DirFS(dir), name); err == nil {
			break
		}
	}
	return loaded, err
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
	return readFont(file.(opentype.Resource)) // real files can seek
}

func loadEmbedded(name string) (*font.Font, error) {
	file, err := fontFiles.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()

	compressed, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(compressed)
	if err != nil {
		return nil, err
	}
	return readFont(bytes.NewReader(data))
}

func readFont(source opentype.Resource) (*font.Font, error) {
	loaders, err := opentype.NewLoaders(source)
	if err != nil {
		return nil, err
	}
	return font.NewFont(loaders[0])
}
