// Package label turns a shipment's label, kept as a small piece of data, into
// what printers and people use: PDF, ZPL and PNG.
//
// A page is laid out once as a scene of rectangles, lines of text and bar
// codes, in whole dots of the wanted resolution; three writers encode the
// scene. Everything happens on this host: the package reads fonts, and nothing
// else. It knows no carrier, no shipment and no database, and field data can
// never become a printer command.
package label

import (
	"bytes"
	"encoding/json"

	"github.com/waybillhq/waybill/internal/ship"
)

// Document is a shipment's label as data, one page per piece. It is the
// canonical label of the sandbox carriers, cheap to make and to store; every
// picture is derived from it.
type Document struct {
	Pages  []Page `json:"pages"`
	Sample bool   `json:"sample,omitempty"` // prints "SAMPLE - NOT FOR SHIPPING"
}

// Page is the label of one piece. Any text may be in any script; an empty one
// is not printed. Text that is too long is wrapped, narrowed and then shrunk;
// at most 300 characters of a line and 40 lines of an address are printed.
type Page struct {
	Carrier   string   `json:"c,omitempty"`   // title in the head: "UPS"
	Service   string   `json:"s,omitempty"`   // title beside it: "Ground"
	From      []string `json:"f,omitempty"`   // address lines as printed, top to bottom
	To        []string `json:"t,omitempty"`   // likewise
	Tracking  string   `json:"n,omitempty"`   // printed, and the bar code's content unless Barcode is set
	Barcode   string   `json:"b,omitempty"`   // Code 128 content: printable ASCII, U+00F1 for FNC1
	Routing   string   `json:"r,omitempty"`   // large sort code: "CA 900 1-01"
	Reference []string `json:"ref,omitempty"` // order number and the like, at most four are printed
	Piece     int      `json:"i,omitempty"`   // 1 of ...
	Pieces    int      `json:"of,omitempty"`  // ... 3; zero prints neither
	Weight    string   `json:"w,omitempty"`   // "4.2 lb"
	ShipDate  string   `json:"d,omitempty"`   // "2026-11-14"
}

// maxPages bounds the work of one rendering.
const maxPages = 100

// Marshal returns d as the JSON that is stored. Equal documents give equal
// bytes.
func (d Document) Marshal() []byte {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d); err != nil {
		panic("label: " + err.Error()) // strings, numbers and lists always encode
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

// Parse reads what Marshal wrote.
func Parse(data []byte) (Document, error) {
	var document Document
	if err := json.Unmarshal(data, &document); err != nil {
		return Document{}, ship.Errorf(ship.Internal, "stored label is not readable: %w", err)
	}
	if len(document.Pages) == 0 {
		return Document{}, ship.Errorf(ship.Internal, "stored label has no page")
	}
	return document, nil
}

// Format is the file format of a label.
type Format string

// The formats.
const (
	PDF Format = "pdf"
	ZPL Format = "zpl"
	PNG Format = "png"
)

// ContentType is the media type of the format, "" if it is unknown.
func (f Format) ContentType() string {
	switch f {
	case PDF:
		return "application/pdf"
	case ZPL:
		return "application/zpl"
	case PNG:
		return "image/png"
	}
	return ""
}

// Size is the medium a label is printed on.
type Size string

// The sizes. A4 and letter carry a 4x6 label in the upper left corner.
const (
	Size4x6    Size = "4x6"
	SizeA6     Size = "a6"
	SizeA4     Size = "a4"
	SizeLetter Size = "letter"
)

// dimensions is a medium in thousandths of an inch.
type dimensions struct{ width, height int }

func (s Size) dimensions() (dimensions, bool) {
	switch s {
	case Size4x6:
		return dimensions{4000, 6000}, true
	case SizeA6:
		return dimensions{4134, 5827}, true
	case SizeA4:
		return dimensions{8268, 11693}, true
	case SizeLetter:
		return dimensions{8500, 11000}, true
	}
	return dimensions{}, false
}

func (s Size) isSheet() bool { return s == SizeA4 || s == SizeLetter }

// Options choose a rendering. The zero value is a 4x6 inch PDF for printers
// of 203 dpi.
type Options struct {
	Format Format
	Size   Size
	DPI    int // 203 or 300; in a PDF it only sets the grid that bar codes snap to

	// Owner is the account that the label is converted for: one account does not
	// keep others from the memory for it.
	Owner ship.AccountID

	isReserved bool // the caller holds the memory for the conversion
}

// complete fills in the defaults and reports what cannot be rendered.
func (o Options) complete() (Options, error) {
	if o.Format == "" {
		o.Format = PDF
	}
	if o.Size == "" {
		o.Size = Size4x6
	}
	if o.DPI == 0 {
		o.DPI = 203
	}

	var invalid []ship.FieldError
	if o.Format.ContentType() == "" {
		invalid = append(invalid, ship.FieldError{Pointer: "/format", Code: "invalid", Detail: "must be pdf, zpl or png"})
	}
	if _, ok := o.Size.dimensions(); !ok {
		invalid = append(invalid, ship.FieldError{Pointer: "/size", Code: "invalid", Detail: "must be 4x6, a6, a4 or letter"})
	}
	if o.DPI != 203 && o.DPI != 300 {
		invalid = append(invalid, ship.FieldError{Pointer: "/dpi", Code: "invalid", Detail: "must be 203 or 300"})
	}
	if err := ship.InvalidFields(invalid); err != nil {
		return o, err
	}

	if o.Format == ZPL && o.Size.isSheet() {
		return o, ship.Coded(ship.Unsupported, "format_unavailable",
			"zpl is for label printers: request size 4x6 or a6, or use pdf or png")
	}
	return o, nil
}
