package label

import (
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/budget"
	"github.com/waybillhq/waybill/internal/pdfium"
	"github.com/waybillhq/waybill/internal/ship"
)

// Rendering is a label in one format.
type Rendering struct {
	Data    []byte
	Missing []rune // characters that no font has, drawn as boxes; sorted, each once
}

// Renderer renders documents. It is safe for concurrent use.
//
// Fonts are read when a label first needs them and released when nothing was
// rendered for a while: the Chinese, Japanese and Korean one is 20 MB.
type Renderer struct {
	// Heavy is the memory for the pictures and files of carriers; nil sets no
	// limit. It is set before the first use.
	Heavy *budget.Budget

	fontDir string
	pdf     pdfium.Engine // draws carriers' files

	mu    sync.Mutex
	cache *fontCache // nil while idle
	users int
	timer *time.Timer
}

// idleAfter is how long fonts stay in memory after their last use.
const idleAfter = 15 * time.Second

// defaultFontDir is where Debian's fonts-noto-cjk puts its files.
const defaultFontDir = "/usr/share/fonts/opentype/noto"

// NewRenderer returns a renderer that finds Noto Sans CJK in fontDir, or in
// Debian's directory for it if fontDir is empty. It works without that font
// too, and reports the characters it lacks as missing.
func NewRenderer(fontDir string) (*Renderer, error) {
	if fontDir == "" {
		fontDir = defaultFontDir
	}
	return &Renderer{fontDir: fontDir}, nil
}

// Render writes the document in the wanted format. The same document, options
// and fonts give the same bytes.
func (r *Renderer) Render(document Document, options Options) (Rendering, error) {
	options, err := options.complete()
	if err != nil {
		return Rendering{}, err
	}
	if len(document.Pages) == 0 || len(document.Pages) > maxPages {
		return Rendering{}, ship.Errorf(ship.Invalid, "a label has 1 to %d pages", maxPages)
	}

	scenes := make([]scene, len(document.Pages))
	for i, page := range document.Pages {
		if scenes[i], err = layout(page, document.Sample, options); err != nil {
			return Rendering{}, err
		}
	}

	pen := &pen{renderer: r}
	defer pen.release()

	var data []byte
	switch options.Format {
	case PDF:
		data = writePDF(scenes, pen)
	case PNG:
		data = writePNG(scenes, pen)
	case ZPL:
		data = writeZPL(scenes, pen)
	}
	return Rendering{Data: data, Missing: pen.missingRunes()}, nil
}

// pen shapes the text of one rendering. It acquires a typesetter when it first
// needs one, so a label in plain Latin letters as ZPL never opens a font.
type pen struct {
	renderer *Renderer
	setter   *typesetter
	missing  map[rune]bool
}

func (p *pen) typesetter() *typesetter {
	if p.setter == nil {
		p.setter = p.renderer.acquire()
	}
	return p.setter
}

// shape shapes a line and notes the characters that no font has.
func (p *pen) shape(line text) shapedLine {
	shaped := p.typesetter().shape(line)
	for _, char := range shaped.missing {
		if p.missing == nil {
			p.missing = map[rune]bool{}
		}
		p.missing[char] = true
	}
	return shaped
}

// missingRunes lists the characters that no font has, sorted.
func (p *pen) missingRunes() []rune { return slices.Sorted(maps.Keys(p.missing)) }

func (p *pen) release() {
	if p.setter != nil {
		p.renderer.release(p.setter)
	}
}

// acquire returns a typesetter, which release voids.
func (r *Renderer) acquire() *typesetter {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.cache == nil {
		r.cache = newFontCache(r.fontDir)
	}
	r.users++
	return r.cache.take()
}

// release takes a typesetter back. Fonts are dropped when nothing is rendered
// for a while after it.
func (r *Renderer) release(setter *typesetter) {
	setter.cache.put(setter)

	r.mu.Lock()
	defer r.mu.Unlock()

	r.users--
	if r.timer == nil {
		r.timer = time.AfterFunc(idleAfter, r.dropFonts)
	} else {
		r.timer.Reset(idleAfter)
	}
}

// dropFonts drops all fonts unless a rendering is in progress, which sets the
// timer again when it is done.
func (r *Renderer) dropFonts() {
	r.mu.Lock()
	dropped := r.cache
	if r.users > 0 {
		dropped = nil
	} else {
		r.cache = nil
	}
	r.mu.Unlock()

	// On a quiet host the next garbage collection is minutes away, and until
	// then the large fonts would count as memory in use.
	if dropped != nil && dropped.hasCJK.Load() {
		debug.FreeOSMemory()
	}
}
