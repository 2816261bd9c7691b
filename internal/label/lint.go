package label

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/waybillhq/waybill/internal/ship"
)

// maxFileBytes is the largest file that is accepted from a carrier. A label
// has about a tenth of that.
const maxFileBytes = 8 << 20

// A Finding says why a carrier's file is not given out.
type Finding struct {
	Code   string // stable snake_case: "zpl_command", "pdf_active"
	Detail string // one lower-case sentence without the label's data
}

func (f *Finding) Error() string { return f.Code + ": " + f.Detail }

func finding(code, format string, args ...any) error {
	return &Finding{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Lint reports what makes a carrier's label unfit to be given out: whatever
// could harm a printer, a viewer or this host, and whatever is not a label. The
// format is that of ship.Label; data may be several pages from Join. The
// error is a *Finding, or nil. Lint never panics, whatever data is.
func Lint(format string, data []byte) error {
	pages, err := Split(data)
	if err != nil {
		return finding("damaged", "the label cannot be split into pages")
	}
	if len(pages) == 0 {
		return finding("empty", "the label has no page")
	}

	for _, page := range pages {
		if err := lintPage(format, page); err != nil {
			return err
		}
	}
	return nil
}

func lintPage(format string, page []byte) error {
	switch {
	case len(page) == 0:
		return finding("empty", "the label is empty")
	case len(page) > maxFileBytes:
		return finding("too_large", "the file is larger than %d MB", maxFileBytes>>20)
	}

	switch format {
	case "zpl":
		return lintZPL(page)
	case "pdf":
		_, err := readPDF(page)
		return err
	case "png", "gif", "jpg":
		return lintImage(format, page)
	case "scene":
		// Our own data, which is never sent to a printer as it is.
		if !bytes.HasPrefix(page, []byte("{")) {
			return finding("damaged", "the stored label is not readable")
		}
		return nil
	}
	return finding("unknown_format", "labels in this format are not supported")
}

// Check is Lint with the error that clients receive.
func Check(format string, data []byte) error { return quarantine(Lint(format, data)) }

// quarantine turns a Finding into the error for a label that Lint refuses, or
// that proves to be damaged when it is converted. Other errors are returned as
// they are. The carrier's bytes stay in the store.
func quarantine(err error) error {
	found, ok := errors.AsType[*Finding](err)
	if !ok {
		return err
	}

	refusal := ship.Coded(ship.Conflict, "label_quarantined",
		"the carrier's label was quarantined because it is not safe to print (%s: %s); void the shipment and buy it again, or get the label from the carrier", found.Code, found.Detail)
	refusal.Err = found
	return refusal
}
