package ups

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

//go:embed statuses.tsv
var statusText string

// statuses are what the codes of scans mean.
var statuses = carrierkit.ParseStatuses(statusText)

// A mark is a scan of UPS in codes: the kind of activity, the
// activity's own code, and the status that UPS gives it. Mail Innovations uses
// the same letters for other activities.
type mark struct {
	mail                   bool // of Mail Innovations
	kind, activity, status string
}

// mailPrefix marks the codes of Mail Innovations.
const mailPrefix = "MI"

// code returns the code under which a scan is stored: "X/48/022". It is a
// function of the mark alone and decides by itself what the scan means.
func (m mark) code() string {
	code := strings.TrimRight(m.kind+"/"+m.activity+"/"+m.status, "/")
	if m.mail && code != "" {
		return mailPrefix + "/" + code
	}
	return code
}

// markOf reads a code back.
func markOf(code string) (m mark) {
	if rest, ok := strings.CutPrefix(code, mailPrefix+"/"); ok {
		m.mail = true
		code = rest
	}
	m.kind, code, _ = strings.Cut(code, "/")
	m.activity, m.status, _ = strings.Cut(code, "/")
	return m
}

// maxCode bounds each part of a mark.
const maxCode = 8

// cleanCode returns one part of a mark as it is stored: capital letters and
// digits.
func cleanCode(given string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, strings.ToUpper(given))
	return clean[:min(len(clean), maxCode)]
}

// cleanStatus returns a status code, which has three digits; pushes also send
// it as a number.
func cleanStatus(given string) string {
	clean := cleanCode(given)
	if n := len(clean); n > 0 && n < 3 && strings.Trim(clean, "0123456789") == "" {
		return "000"[n:] + clean
	}
	return clean
}

// plainKinds are the kinds of activity that mean one thing, whatever the code.
// The others do not: among the exceptions are deliveries and mere notes, and a
// parcel that is being delivered has the kind of one that was.
var plainKinds = []string{"M", "MV", "U", "NA", "DO", "DD", "W", "P"}

// vague lists reasons of a status code where the activity may be more precise:
// "delay" of "severe weather".
var vague = []string{"carrier_exception", "delayed"}

// meaning returns what a scan's code means: by all its parts together, by its
// status code, by its activity, and by its kind where that is enough.
func meaning(code string) (ship.Status, string, bool) {
	m := markOf(code)
	rows := []string{code}
	if m.status != "" {
		rows = append(rows, m.status)
	}
	if m.activity != "" {
		rows = append(rows, m.activityRow())
	}
	if m.activity == "" && m.status == "" || slices.Contains(plainKinds, m.kind) {
		rows = append(rows, m.kind)
	}

	// The status code decides, but the activity may have a more precise reason
	// for the same status.
	status, reason, known := statuses.Meaning(rows...)
	if known && m.activity != "" && slices.Contains(vague, reason) {
		if same, better, ok := statuses.Meaning(m.activityRow()); ok && same == status && better != "" {
			reason = better
		}
	}
	return status, reason, known
}

// activityRow returns the row of the activity alone.
func (m mark) activityRow() string {
	if m.mail {
		return mailPrefix + "/" + m.activity
	}
	return m.kind + "/" + m.activity
}
