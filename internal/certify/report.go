package certify

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// A Report is what a certification found. It holds no secret.
type Report struct {
	Carrier     string            `json:"carrier"`
	Title       string            `json:"title"`
	Connection  ship.ConnectionID `json:"connection,omitempty"`
	Environment string            `json:"environment"`    // "test" or "production"
	Host        string            `json:"host,omitempty"` // that answered
	Version     string            `json:"version,omitempty"`
	StartedAt   time.Time         `json:"startedAt"`
	FinishedAt  time.Time         `json:"finishedAt,omitzero"`
	Checks      []Check           `json:"checks"`
	Purchases   []*Purchase       `json:"purchases"`
}

// A Check is one answer of the carrier, and whether it is as it should be.
type Check struct {
	Name        string `json:"name"`
	Result      Result `json:"result"`
	CarrierCode string `json:"carrierCode,omitempty"`
	Message     string `json:"message"`
}

// A Result is how a check ended.
type Result string

// The results.
const (
	OK          Result = "ok"
	Failed      Result = "failed"
	NotTestable Result = "not_testable" // the test environment cannot show it
	Skipped     Result = "skipped"      // carrier, account or lane do not have it
)

// A Purchase is one label of the ledger. It is written before the carrier is
// called.
type Purchase struct {
	Name           string        `json:"name"`
	State          PurchaseState `json:"state"`
	Reference      string        `json:"reference"` // under which the carrier knows it
	OrderID        string        `json:"orderId"`
	Service        string        `json:"service"`
	RequestedAt    time.Time     `json:"requestedAt"`
	TrackingNumber string        `json:"trackingNumber,omitempty"`
	Pieces         []string      `json:"pieces,omitempty"`
	CarrierRef     string        `json:"carrierRef,omitempty"`
	Price          string        `json:"price,omitempty"`
	Detail         string        `json:"detail,omitempty"`
}

// A PurchaseState is what became of a purchase.
type PurchaseState string

// The states. A report of a process that died shows the last one it reached.
const (
	Requested     PurchaseState = "requested"      // the carrier was about to be called
	Refused       PurchaseState = "refused"        // nothing was bought
	Uncertain     PurchaseState = "uncertain"      // the answer was lost
	Bought        PurchaseState = "bought"         // and not voided yet
	Voided        PurchaseState = "voided"         //
	RefundPending PurchaseState = "refund_pending" // the carrier will decide
	Unused        PurchaseState = "unused"         // the carrier cannot void it
	VoidFailed    PurchaseState = "void_failed"    //
	Measuring     PurchaseState = "measuring"      // the service looks it up for an hour at most, and voids it then
)

// IsOpen reports whether somebody must look at the purchase.
func (p *Purchase) IsOpen() bool {
	switch p.State {
	case Requested, Uncertain, Bought, VoidFailed:
		return true
	}
	return false
}

// settle fills in what was bought.
func (p *Purchase) settle(bought ship.Sale) {
	p.State = Bought
	p.TrackingNumber = bought.TrackingNumber
	p.Pieces = bought.Pieces
	p.CarrierRef = bought.CarrierRef
	if !bought.Price.IsZero() {
		p.Price = bought.Price.String()
	}
}

// Count is how many checks ended with the result.
func (r Report) Count(result Result) int {
	n := 0
	for _, c := range r.Checks {
		if c.Result == result {
			n++
		}
	}
	return n
}

// Open are the purchases that somebody must look at.
func (r Report) Open() []*Purchase {
	var list []*Purchase
	for _, p := range r.Purchases {
		if p.IsOpen() {
			list = append(list, p)
		}
	}
	return list
}

// result is how the check of the name ended; empty if there was none.
func (r Report) result(name string) Result {
	for _, c := range r.Checks {
		if c.Name == name {
			return c.Result
		}
	}
	return ""
}

// save writes report.json. When it returns, the report survives a crash of
// this host.
func (w *Walk) save() error {
	data, err := json.MarshalIndent(w.report, "", "  ")
	if err != nil {
		return err
	}
	return writeSynced(filepath.Join(w.options.Dir, "report.json"), append(data, '\n'))
}

// writeSynced replaces a file at once and syncs it and its directory.
func writeSynced(path string, data []byte) error {
	temporary := path + ".new"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}

	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// writeMarkdown writes report.md, for people.
func (w *Walk) writeMarkdown() error {
	r := w.report
	var b strings.Builder

	fmt.Fprintf(&b, "# Certification of %s\n\n", r.Title)
	fmt.Fprintf(&b, "- connection: %s\n- environment: %s\n- host: %s\n", r.Connection, r.Environment, r.Host)
	if !w.isCarriersHost() {
		b.WriteString("- this is not the carrier's own host: the report says nothing about the carrier itself\n")
	}
	fmt.Fprintf(&b, "- from %s to %s\n- Waybill %s\n\n", r.StartedAt.Format(time.DateTime), r.FinishedAt.Format(time.DateTime), r.Version)
	fmt.Fprintf(&b, "**%d ok, %d failed, %d not testable, %d skipped**\n", r.Count(OK), r.Count(Failed), r.Count(NotTestable), r.Count(Skipped))

	if open := r.Open(); len(open) > 0 {
		b.WriteString("\n## Labels that need attention\n\nThese may cost money. Void them in the carrier's own tools, by tracking number or reference:\n\n")
		for _, p := range open {
			fmt.Fprintf(&b, "- %s (%s): reference %s, tracking number %s. %s\n", p.Name, p.State, p.Reference, orNone(p.TrackingNumber), p.Detail)
		}
	}

	b.WriteString("\n## Checks\n\n| check | result | carrier's code | |\n|---|---|---|---|\n")
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(c.Name), words(c.Result), cell(c.CarrierCode), cell(c.Message))
	}

	b.WriteString("\n## Purchases\n\n| purchase | state | service | tracking number | price | reference |\n|---|---|---|---|---|---|\n")
	for _, p := range r.Purchases {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", p.Name, p.State, p.Service, orNone(p.TrackingNumber), orNone(p.Price), p.Reference)
	}

	b.WriteString("\n## Files\n\n`labels/` and `documents/` contain what was bought, `exchanges/` the requests and responses without secrets,\n`go-live/` the documents and steps for going live, and `report.json` this report in machine-readable form.\n")
	return os.WriteFile(filepath.Join(w.options.Dir, "report.md"), []byte(b.String()), 0o600)
}

// words is a result as people read it.
func words(r Result) string {
	switch r {
	case Failed:
		return "**failed**"
	case NotTestable:
		return "not testable there"
	}
	return string(r)
}

// cell is text that fits into a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(text)
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
