// Package pdfium draws the pages of a PDF file as pictures. It runs PDFium,
// the renderer of Chromium, as a WebAssembly module inside this process: no
// program has to be installed and no file leaves the host.
//
// Files come from carriers and are not trusted. The module has no access to the
// file system, the network or the host's clock; its memory, its time and the
// size of its pictures are limited, and each file gets an instance of its own
// that is discarded afterwards. Whatever a file does in there, the outcome is a
// picture or an error.
//
// The module is loaded when it is first needed and released when it was idle
// for a while, because it needs far more memory than the rest of the service.
package pdfium

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"image"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/emscripten"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// The module is built by the go-pdfium project; README.md says where it comes
// from and how to replace it.
//
//go:embed pdfium.wasm.gz
var packedModule []byte

// The limits of one file.
const (
	maxMemory  = 128 << 20 // bytes of all instances of the module at once
	atOnce     = 2         // files that are drawn beside each other
	maxPixels  = 16 << 20  // of one picture
	maxDrawn   = 256 << 20 // pixels of all pictures
	maxTime    = 30 * time.Second
	maxPages   = 100
	wasmPage   = 64 << 10
	idleAfter  = 15 * time.Second
	grey       = 1     // FPDFBitmap_Gray
	printing   = 0x800 // FPDF_PRINTING
	whitePaper = 0xffffffff
)

// ErrUnreadable is the error of a file that cannot be drawn: it is damaged, or
// drawing it needs more than the limits allow.
var ErrUnreadable = errors.New("pdfium: the file cannot be rendered")

// Engine draws files, two at a time. It is safe for concurrent use. The zero
// value is ready.
type Engine struct {
	Timeout time.Duration // of one file, without the wait for others; 0 is 30 s

	share   uint64       // of the memory that a file gets beside others; 0 is an equal part of it
	drawing sync.RWMutex // held for writing by a file that is drawn alone

	mu     sync.Mutex
	slots  chan struct{} // holds a value for each file that is drawn beside others
	loaded *module       // nil while idle
	users  int
	timer  *time.Timer
}

// A Page is how large one page of a file is drawn, in pixels.
type Page struct{ Width, Height int }

// Render draws the first pages of a file, as many as are listed, each
// stretched to its size, and hands them to use in their order. A picture is
// valid until use returns.
func (e *Engine) Render(ctx context.Context, file []byte, pages []Page, use func(*image.Gray)) error {
	if err := checkPages(pages); err != nil {
		return err
	}

	done := 0
	count := func(picture *image.Gray) {
		done++
		use(picture)
	}
	err := e.renderBeside(ctx, file, pages, count)
	if !errors.Is(err, errNoRoom) {
		return err
	}

	// The file needs more than its share of the memory. It gets all of it while
	// nothing else is drawn, so that two hostile files at once take no more than
	// one. Pages that were used before are not drawn again.
	e.drawing.Lock()
	defer e.drawing.Unlock()
	return e.renderWithin(ctx, maxMemory, file, pages, done, use)
}

// renderBeside draws a file while others are drawn, each in its share of the
// memory.
func (e *Engine) renderBeside(ctx context.Context, file []byte, pages []Page, use func(*image.Gray)) error {
	e.drawing.RLock()
	defer e.drawing.RUnlock()

	slots := e.allSlots()
	slots <- struct{}{}
	defer func() { <-slots }()
	return e.renderWithin(ctx, cmp.Or(e.share, maxMemory/atOnce), file, pages, 0, use)
}

func (e *Engine) allSlots() chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.slots == nil {
		e.slots = make(chan struct{}, atOnce)
	}
	return e.slots
}

// renderWithin draws the pages from first on, in an instance of so many bytes at
// most.
func (e *Engine) renderWithin(ctx context.Context, memory uint64, file []byte, pages []Page, first int, use func(*image.Gray)) error {
	module, err := e.acquire()
	if err != nil {
		return err
	}
	defer e.release()

	ctx, cancel := context.WithTimeout(ctx, cmp.Or(e.Timeout, maxTime))
	defer cancel()
	return module.render(ctx, memory, file, pages, first, use)
}

func checkPages(pages []Page) error {
	if len(pages) == 0 || len(pages) > maxPages {
		return fmt.Errorf("%w: it must have 1 to %d pages", ErrUnreadable, maxPages)
	}

	drawn := 0
	for _, page := range pages {
		// Divided rather than multiplied, so that large sides do not overflow.
		if page.Width < 1 || page.Height < 1 || page.Width > maxPixels/page.Height {
			return fmt.Errorf("%w: a page may have %d pixels at most", ErrUnreadable, maxPixels)
		}
		if drawn += page.Width * page.Height; drawn > maxDrawn {
			return fmt.Errorf("%w: its pages may have %d pixels at most", ErrUnreadable, maxDrawn)
		}
	}
	return nil
}

// acquire returns the module, which it loads if it is not in memory. The caller
// must call release.
func (e *Engine) acquire() (*module, error) {
	e.mu.Lock()
	defer e.mu.Unlock()

	if e.loaded == nil {
		loaded, err := load()
		if err != nil {
			return nil, err
		}
		e.loaded = loaded
	}
	e.users++
	return e.loaded, nil
}

// release starts the time after which an idle module is unloaded.
func (e *Engine) release() {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.users--
	if e.timer == nil {
		e.timer = time.AfterFunc(idleAfter, e.unload)
	} else {
		e.timer.Reset(idleAfter)
	}
}

// unload drops the module unless it is in use. Its release starts the timer
// again.
func (e *Engine) unload() {
	e.mu.Lock()
	defer e.mu.Unlock()

	if e.users > 0 || e.loaded == nil {
		return
	}
	_ = e.loaded.runtime.Close(context.Background()) // memory alone
	e.loaded = nil

	// On a quiet host the next garbage collection is minutes away.
	debug.FreeOSMemory()
}

// module is PDFium, ready to be instantiated.
type module struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
}

// load prepares the module for the interpreter. Compiled to machine code it
// draws ten times faster, but compiling takes seconds and 300 MB first,
// which does not pay off for an occasional label.
func load() (*module, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(packedModule))
	if err != nil {
		return nil, fmt.Errorf("pdfium: %w", err)
	}
	wasm, err := io.ReadAll(unpacked)
	if err != nil {
		return nil, fmt.Errorf("pdfium: %w", err)
	}

	ctx := context.Background()
	config := wazero.NewRuntimeConfigInterpreter().
		WithMemoryLimitPages(maxMemory / wasmPage).
		WithCloseOnContextDone(true)
	loaded := &module{runtime: wazero.NewRuntimeWithConfig(ctx, config)}
	if err := loaded.prepare(ctx, wasm); err != nil {
		_ = loaded.runtime.Close(ctx)
		return nil, fmt.Errorf("pdfium: %w", err)
	}

	// Reading the module leaves 100 MB of garbage.
	debug.FreeOSMemory()
	return loaded, nil
}

// prepare compiles the module and gives it what it imports.
func (m *module) prepare(ctx context.Context, wasm []byte) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return err
	}
	var err error
	if m.compiled, err = m.runtime.CompileModule(ctx, wasm); err != nil {
		return err
	}

	exceptions, err := emscripten.NewFunctionExporterForModule(m.compiled)
	if err != nil {
		return err
	}
	env := m.runtime.NewHostModuleBuilder("env")
	exceptions.ExportFunctions(env)
	exportCallbacks(env, m.compiled)
	_, err = env.Instantiate(ctx)
	return err
}

// exportCallbacks gives the module the callbacks it was linked with: forms,
// downloads and the like. None of them is used to draw a page, so they do
// nothing.
func exportCallbacks(env wazero.HostModuleBuilder, compiled wazero.CompiledModule) {
	for _, function := range compiled.ImportedFunctions() {
		from, name, _ := function.Import()
		if from != "env" || !strings.HasSuffix(name, "_CB") {
			continue
		}

		params := function.ParamTypes()
		results := function.ResultTypes()
		doNothing := func(_ context.Context, stack []uint64) {
			if len(results) > 0 {
				stack[0] = 0
			}
		}
		env.NewFunctionBuilder().WithGoFunction(api.GoFunc(doNothing), params, results).Export(name)
	}
}

// render draws a file in an instance of its own. It is errNoRoom if that asked for
// more memory than it may have and failed.
func (m *module) render(ctx context.Context, limit uint64, file []byte, pages []Page, first int, use func(*image.Gray)) error {
	memory := &memory{limit: limit}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize")
	instance, err := m.runtime.InstantiateModule(experimental.WithMemoryAllocator(ctx, memory), m.compiled, config)
	if err != nil {
		return fmt.Errorf("pdfium: %w", err)
	}
	defer func() { _ = instance.Close(context.WithoutCancel(ctx)) }() // memory alone

	err = draw(ctx, instance, file, pages, first, use)
	if err != nil && memory.refused && limit < maxMemory && ctx.Err() == nil {
		return errNoRoom
	}
	return err
}

// errNoRoom is the error of a file that needs more than its share of the memory.
var errNoRoom = errors.New("pdfium: the file needs more memory")

// memory is that of one instance, up to a limit.
type memory struct {
	bytes   []byte
	limit   uint64
	refused bool // more was asked for
}

// Allocate is experimental.MemoryAllocator: an instance has one memory.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate is experimental.LinearMemory. A nil result fails the request of the
// module, as malloc fails.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	m.bytes = append(m.bytes, make([]byte, int(size)-len(m.bytes))...)
	return m.bytes
}

// Free is experimental.LinearMemory.
func (m *memory) Free() { m.bytes = nil }

// draw loads the file into the instance and draws the pages from first on.
func draw(ctx context.Context, instance api.Module, file []byte, pages []Page, first int, use func(*image.Gray)) error {
	caller := &caller{ctx: ctx, instance: instance}
	caller.call("FPDF_InitLibrary")
	address := caller.call("malloc", uint64(len(file)))
	if caller.err != nil || address == 0 || !instance.Memory().Write(uint32(address), file) {
		return caller.failure()
	}

	document := caller.call("FPDF_LoadMemDocument", address, uint64(len(file)), 0)
	if document == 0 || caller.call("FPDF_GetPageCount", document) < uint64(len(pages)) {
		return caller.failure()
	}
	for i := first; i < len(pages); i++ {
		if !caller.drawPage(document, i, pages[i], use) {
			return caller.failure()
		}
	}
	return nil
}

// caller calls functions of an instance until one fails.
type caller struct {
	ctx      context.Context
	instance api.Module
	err      error
}

// call returns the function's result, 0 if it has none or failed.
func (c *caller) call(name string, args ...uint64) uint64 {
	if c.err != nil {
		return 0
	}
	results, err := c.instance.ExportedFunction(name).Call(c.ctx, args...)
	if err != nil {
		c.err = err
		return 0
	}
	if len(results) == 0 {
		return 0
	}
	return results[0]
}

// failure says why a file could not be drawn.
func (c *caller) failure() error {
	switch {
	case errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w in time", ErrUnreadable)
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	case c.err != nil:
		// The rest of the message is a stack of the module's functions.
		reason, _, _ := strings.Cut(c.err.Error(), "\n")
		return fmt.Errorf("%w: %s", ErrUnreadable, reason)
	}
	return ErrUnreadable
}

// drawPage draws one page on white paper, and reports whether it could.
func (c *caller) drawPage(document uint64, index int, size Page, use func(*image.Gray)) bool {
	page := c.call("FPDF_LoadPage", document, uint64(index))
	if page == 0 {
		return false
	}

	width := uint64(size.Width)
	height := uint64(size.Height)
	bitmap := c.call("FPDFBitmap_CreateEx", width, height, grey, 0, 0)
	if bitmap == 0 {
		return false
	}
	c.call("FPDFBitmap_FillRect", bitmap, 0, 0, width, height, whitePaper)
	c.call("FPDF_RenderPageBitmap", bitmap, page, 0, 0, width, height, 0, printing)

	// The file may have got the module to return anything, so its numbers are
	// checked before they are used on our side.
	buffer := c.call("FPDFBitmap_GetBuffer", bitmap)
	stride := c.call("FPDFBitmap_GetStride", bitmap)
	length, plausible := bitmapLength(stride, width, height)
	if c.err != nil || buffer == 0 || !plausible {
		return false
	}

	pixels, ok := c.instance.Memory().Read(uint32(buffer), length)
	if !ok {
		return false
	}
	use(&image.Gray{
		Pix:    pixels,
		Stride: int(stride),
		Rect:   image.Rect(0, 0, size.Width, size.Height),
	})

	c.call("FPDFBitmap_Destroy", bitmap)
	c.call("FPDF_ClosePage", page)
	return c.err == nil
}

// bitmapLength returns how many bytes the rows of a bitmap take, and whether the
// stride is one that PDFium chooses: rows begin at multiples of four bytes. With a
// larger one the product could exceed 32 bits, and a part of the bitmap would pass
// as the whole. A page has at most maxPixels, so that what is left always fits.
func bitmapLength(stride, width, height uint64) (length uint32, plausible bool) {
	if stride < width || stride > width+3 {
		return 0, false
	}
	return uint32(stride * height), true
}
