package site

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// CSVLimit is the most lines of one export. A longer list can be narrowed by
// its filters.
const CSVLimit = 10_000

// CSVPart is the most lines that are read at once. The first part is a page, so
// that the download starts early, and each part is twice as long as the one
// before.
const CSVPart = 500

// csvTime is the most time that one export takes.
const csvTime = 2 * time.Minute

// ExportContext returns the context in which an export reads its parts. A browser
// that disconnects ends the export between two parts, which HasLeft reports. It
// does not cancel the running statement: that would close the database
// connection, and the next request would have to open a new one.
func (v *Visit) ExportContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(v.Context()), csvTime)
}

// HasLeft reports whether the browser has disconnected.
func (v *Visit) HasLeft() bool { return v.Context().Err() != nil }

// A CSV writes a table that a spreadsheet opens as text: no cell can
// become a formula, whoever wrote its content. Nothing is written after the
// first error.
type CSV struct {
	w   http.ResponseWriter
	Err error
}

// ExportCSV starts a download with its heading.
func (v *Visit) ExportCSV(name string, head ...string) *CSV {
	header := v.Writer.Header()
	header.Set("Content-Type", "text/csv; charset=utf-8")
	header.Set("Content-Disposition", `attachment; filename="`+name+`-`+v.Mode()+`.csv"`)

	out := &CSV{w: v.Writer}
	out.Row(head...)
	return out
}

// Begin sends what has been written so far, so that the download starts while
// the next parts are read: lines of a rare kind may be far back in the log.
func (v *Visit) Begin() { httpkit.From(v.Context()).Delivered(v.Context()) }

// Row writes one line.
func (c *CSV) Row(cells ...string) {
	var line strings.Builder
	for i, cell := range cells {
		if i > 0 {
			line.WriteByte(',')
		}
		line.WriteString(csvCell(cell))
	}
	line.WriteString("\r\n")

	if c.Err == nil {
		_, c.Err = c.w.Write([]byte(line.String()))
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

// TimeCell formats a time for a download; the zero time is empty.
func TimeCell(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return parts.MachineTime(t)
}
