package label

import (
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

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
// Fonts are read when a label first needs them and forgotten when none was
// rendered for a while: the Chinese, Japanese and Korean one is 20 MB.
type Renderer struct {
	fontDir string
	pdf     pdfium.Engine // draws carriers' files

	mu    sync.Mutex
	kit   *kit // nil while idle
	users int
	timer *time.Timer
}

// idleAfter is how long fonts stay in memory after their last use.
const idleAfter = 15 * time.Second

// defaultFontDir is where Debian's fonts-noto-cjk puts its files.
const defaultFontDir = "/usr/share/fonts/opentype/noto"

// NewRenderer returns a renderer that finds Noto Sans CJK in fontDir, or in
// Debian's usual place if fontDir is empty. Without that font it works too:
// the characters it lacks are reported as missing.
func NewRenderer(fontDir string) (*Renderer, error) {
	if fontDir == "" {
		fontDir = defaultFontDir
	}
	return &Renderer{fontDir: fontDir}, nil
}

// Render writes d in the wanted format. The same document, options and fonts
// give the same bytes.
func (r *Renderer) Render(d Document, o Options) (Rendering, error) {
	o, err := o.complete()
	if err != nil {
		return Rendering{}, err
	}
	if len(d.Pages) == 0 || len(d.Pages) > maxPages {
		return Rendering{}, ship.Errorf(ship.Invalid, "a label has 1 to %d pages", maxPages)
	}
	scenes := make([]scene, len(d.Pages))
	for i, p := range d.Pages {
		if scenes[i], err = layout(p, d.Sample, o); err != nil {
			return Rendering{}, err
		}
	}
	pen := &pen{renderer: r}
	defer pen.release()

	var data []byte
	switch o.Format {
	case PDF:
		data = writePDF(scenes, pen)
	case PNG:
		data = writePNG(scenes, pen)
	case ZPL:
		data = writeZPL(scenes, pen)
	}
	return Rendering{Data: data, Missing: pen.missed()}, nil
}

// pen sets the text of one rendering. It borrows a typesetter when it first
// needs one, so that a label in plain Latin letters as ZPL never touches a
// font.
type pen struct {
	renderer *Renderer
	setter   *typesetter
	missing  map[rune]bool
}

func (p *pen) typesetter() *typesetter {
	if p.setter == nil {
		p.setter = p.renderer.borrow()
	}
	return p.setter
}

// set shapes t and notes what no font has.
func (p *pen) set(t text) line {
	l := p.typesetter().set(t)
	for _, r := range l.missing {
		if p.missing == nil {
			p.missing = map[rune]bool{}
		}
		p.missing[r] = true
	}
	return l
}

// missed lists what no font has, sorted.
func (p *pen) missed() []rune { return slices.Sorted(maps.Keys(p.missing)) }

func (p *pen) release() {
	if p.setter != nil {
		p.renderer.giveBack(p.setter)
	}
}

func (r *Renderer) borrow() *typesetter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kit == nil {
		r.kit = newKit(r.fontDir)
	}
	r.users++
	return r.kit.typesetter()
}

func (r *Renderer) giveBack(t *typesetter) {
	t.kit.keep(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users--
	if r.timer == nil {
		r.timer = time.AfterFunc(idleAfter, r.forget)
	} else {
		r.timer.Reset(idleAfter)
	}
}

// forget lets go of all fonts unless somebody is rendering right now; who is
// sets the timer again when done.
func (r *Renderer) forget() {
	r.mu.Lock()
	old := r.kit
	if r.users > 0 {
		old = nil
	} else {
		r.kit = nil
	}
	r.mu.Unlock()
	if old != nil && old.big.Load() {
		// On a quiet host the next collection is minutes away, and until then
		// the big fonts would count as ours.
		debug.FreeOSMemory()
	}
}
