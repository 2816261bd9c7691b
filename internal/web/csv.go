package web

import (
	"context"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/waybillhq/waybill/internal/httpkit"
)

// csvLimit bounds one export. A longer list is narrowed by its filters.
const csvLimit = 10_000

// csvPart is how many lines are read at once at most. The first part is a page,
// so that a download begins soon, and each further one twice as long.
const csvPart = 500

// csvTime bounds how long one export takes.
const csvTime = 2 * time.Minute

// exporting is the context in which an export reads its parts. A browser that
// leaves ends the export between two parts, which hasLeft reports. It does not
// cancel the statement that runs: that would close the database connection, and
// the next request would pay for a new one.
func (v *visit) exporting() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(v.ctx()), csvTime)
}

// hasLeft reports whether nobody waits for the answer any more.
func (v *visit) hasLeft() bool { return v.ctx().Err() != nil }

// A csvWriter writes a table that opens in a spreadsheet as text: no cell can
// become a formula, whoever wrote it.
type csvWriter struct {
	w   http.ResponseWriter
	err error
}

// exportCSV begins a download.
func (v *visit) exportCSV(name string, head ...string) *csvWriter {
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`-`+v.mode()+`.csv"`)
	h.Set("Cache-Control", "no-store")
	c := &csvWriter{w: v.w}
	c.row(head...)
	return c
}

// begin sends what is there, once it is known that there is something to send:
// a rare kind may be far back.
func (v *visit) begin() { httpkit.From(v.ctx()).Delivered(v.ctx()) }

func (c *csvWriter) row(cells ...string) {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(csvCell(cell))
	}
	b.WriteString("\r\n")
	if c.err == nil {
		_, c.err = c.w.Write([]byte(b.String()))
	}
}

// csvCell is the text, quoted. What a spreadsheet would take for a formula
// begins with an apostrophe: it looks behind white space and at full-width
// forms, too.
func csvCell(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\x00", "")
	if isFormula(s) {
		s = "'" + s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

func isFormula(s string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " \u00a0\ufeff\u200b\u3000"))
	if strings.ContainsRune("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20\u2212\ufe62\ufe63\ufe66\ufe6b|%", first) {
		return s != ""
	}
	return false
}
