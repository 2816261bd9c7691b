package web

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/httpkit"
)

// csvLimit is the most lines of one export. A longer list can be narrowed by
// its filters.
const csvLimit = 10_000

// csvPart is the most lines that are read at once. The first part is a page, so
// that the download starts early, and each part is twice as long as the one
// before.
const csvPart = 500

// csvTime is the most time that one export takes.
const csvTime = 2 * time.Minute

// exporting returns the context in which an export reads its parts. A browser
// that disconnects ends the export between two parts, which hasLeft reports. It
// does not cancel the running statement: that would close the database
// connection, and the next request would have to open a new one.
func (v *visit) exporting() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(v.ctx()), csvTime)
}

// hasLeft reports whether the browser has disconnected.
func (v *visit) hasLeft() bool { return v.ctx().Err() != nil }

// A csvWriter writes a table that a spreadsheet opens as text: no cell can
// become a formula, whoever wrote its content. Nothing is written after the
// first error.
type csvWriter struct {
	w   http.ResponseWriter
	err error
}

// exportCSV starts a download with its heading.
func (v *visit) exportCSV(name string, head ...string) *csvWriter {
	header := v.w.Header()
	header.Set("Content-Type", "text/csv; charset=utf-8")
	header.Set("Content-Disposition", `attachment; filename="`+name+`-`+v.mode()+`.csv"`)
	header.Set("Cache-Control", "no-store")

	out := &csvWriter{w: v.w}
	out.row(head...)
	return out
}

// begin sends what has been written so far, so that the download starts while
// the next parts are read: lines of a rare kind may be far back in the log.
func (v *visit) begin() { httpkit.From(v.ctx()).Delivered(v.ctx()) }

func (c *csvWriter) row(cells ...string) {
	var line strings.Builder
	for i, cell := range cells {
		if i > 0 {
			line.WriteByte(',')
		}
		line.WriteString(csvCell(cell))
	}
	line.WriteString("\r\n")

	if c.err == nil {
		_, c.err = c.w.Write([]byte(line.String()))
	}
}

// csvCell quotes a text. An apostrophe is put before what a spreadsheet would
// take for a formula.
func csvCell(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\x00", "")
	if isFormula(s) {
		s = "'" + s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// isFormula reports whether a spreadsheet would take the text for a formula.
// Spreadsheets also look behind leading white space, and know the full-width
// forms of the signs.
func isFormula(s string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " \u00a0\ufeff\u200b\u3000"))
	if strings.ContainsRune("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b|%", first) {
		return s != ""
	}
	return false
}
