package certify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"text/template"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
)

// write writes a file of the report, and returns its name there.
func (w *Walk) write(name string, data []byte) (string, error) {
	return name, os.WriteFile(filepath.Join(w.options.Dir, filepath.FromSlash(name)), data, 0o600)
}

// checkLabels keeps the label as it came, and makes each format of it.
func (w *Walk) checkLabels(b *bought) error {
	original := b.purchase.Label
	if len(original.Data) == 0 {
		return nil // the purchase has failed for it
	}

	pages, err := label.Split(original.Data)
	if err != nil {
		w.add(Check{Name: "label, " + b.entry.Name, Result: Failed, Message: messageOf(err)})
		return nil
	}
	for i, page := range pages {
		name, err := w.write(fmt.Sprintf("labels/%s-original-%d.%s", b.entry.Name, i+1, original.Format), page)
		if err != nil {
			return err
		}
		b.files = append(b.files, name)
	}

	for _, format := range []label.Format{label.PDF, label.ZPL, label.PNG} {
		if err := w.checkFormat(b, format); err != nil {
			return err
		}
	}
	return nil
}

// checkFormat makes one format of a label on this host.
func (w *Walk) checkFormat(b *bought, format label.Format) error {
	check := Check{Name: fmt.Sprintf("label, %s, %s", b.entry.Name, format), Result: OK}
	rendered, err := w.options.Labels.RenderLabel(b.purchase.Label, label.Options{Format: format})
	if err == nil {
		err = label.Check(string(format), rendered.Data)
	}
	if err != nil {
		check.Result = Failed
		check.Message = messageOf(err)
		if e, ok := errors.AsType[*ship.Error](err); ok && e.Code == "format_unavailable" {
			check.Result = Skipped
		}
		w.add(check)
		return nil
	}

	name, err := w.write(fmt.Sprintf("labels/%s.%s", b.entry.Name, format), rendered.Data)
	if err != nil {
		return err
	}
	b.files = append(b.files, name)
	check.Message = fmt.Sprintf("created from the carrier's %s, %d bytes: %s", b.purchase.Label.Format, len(rendered.Data), name)

	// Every parcel needs a label of its own.
	if parcels := len(b.order.Order.Parcels); format == label.PDF && parcels > 1 {
		sheets, err := label.Sheets(rendered.Data)
		if err != nil || sheets < parcels {
			check.Result = Failed
			check.Message = fmt.Sprintf("%d parcels have %d label pages", parcels, sheets)
		}
	}
	w.add(check)
	return nil
}

// checkDocuments keeps the customs papers of a shipment abroad.
func (w *Walk) checkDocuments(b *bought) error {
	if b.order.Order.Customs == nil {
		return nil
	}
	check := Check{Name: "customs documents, " + b.entry.Name, Result: OK}
	if len(b.purchase.Documents) == 0 {
		check.Result = Skipped
		check.Message = "the response has no documents besides the label: the declaration was sent electronically or is part of the label"
		w.add(check)
		return nil
	}

	var names []string
	for i, document := range b.purchase.Documents {
		if err := label.Check(document.Format, document.Data); err != nil {
			check.Result = Failed
			check.Message = document.Type + ": " + messageOf(err)
			w.add(check)
			return nil
		}
		name, err := w.write(fmt.Sprintf("documents/%s-%s-%d.%s", b.entry.Name, document.Type, i+1, document.Format), document.Data)
		if err != nil {
			return err
		}
		names = append(names, name)
	}
	check.Message = strings.Join(names, ", ")
	w.add(check)
	return nil
}

// writePapers fills in the carrier's papers.
func (w *Walk) writePapers() error {
	papers := w.spec.GoLive.Documents
	if papers == nil {
		return nil
	}
	names, err := fs.Glob(papers, "golive/*.md")
	if err != nil {
		return err
	}

	facts := w.facts()
	for _, name := range names {
		paper, err := template.New(path.Base(name)).Option("missingkey=zero").ParseFS(papers, name)
		if err != nil {
			return err
		}
		var text strings.Builder
		if err := paper.Execute(&text, facts); err != nil {
			return err
		}
		if _, err := w.write("go-live/"+path.Base(name), []byte(text.String())); err != nil {
			return err
		}
	}
	return nil
}

// facts are what the papers are filled in with.
func (w *Walk) facts() carrier.CertifiedConnection {
	facts := carrier.CertifiedConnection{
		At:          w.report.StartedAt,
		Carrier:     w.spec.Title,
		Environment: w.report.Environment,
		Company:     w.options.Account.Name,
		Origin:      w.orders.order(domestic).Origin,
		Fields:      w.options.Fields,
	}

	for _, s := range w.spec.Services {
		facts.Services = append(facts.Services, carrier.CertifiedService{
			Code:   s.Code,
			Name:   s.Name,
			Quoted: w.report.result("rate of "+s.Code) == OK,
		})
	}

	for _, b := range w.bought {
		facts.Labels = append(facts.Labels, carrier.CertifiedLabel{
			Purchase:    b.entry.Name,
			ServiceName: b.purchase.ServiceName,
			Numbers:     numbersOf(b.purchase),
			Files:       b.files,
		})
	}

	for _, c := range w.report.Checks {
		facts.Checks = append(facts.Checks, carrier.CertifiedCheck{
			Name:   c.Name,
			Result: string(c.Result),
			Code:   cell(c.CarrierCode),
			Detail: cell(c.Message),
		})
	}
	return facts
}

// isCarriersHost reports whether the carrier itself answered, and not a
// stand-in.
func (w *Walk) isCarriersHost() bool {
	for _, address := range []string{w.spec.TestURL, w.spec.LiveURL} {
		if u, err := url.Parse(address); err == nil && u.Host != "" && u.Host == w.report.Host {
			return true
		}
	}
	return false
}

// recorder writes the exchanges with the carrier into files as they end. The
// carrier's transport has removed credentials and tokens from them.
type recorder struct {
	dir string

	mu     sync.Mutex
	count  int
	last   time.Time
	host   string
	failed error
}

func newRecorder(dir string) *recorder { return &recorder{dir: dir, last: time.Now()} }

// context has the exchanges of one step recorded.
func (r *recorder) context(ctx context.Context, step string) context.Context {
	return carrier.WithExchanges(ctx, func(x carrier.Exchange) { r.keep(step, x) })
}

// An exchange is one request and its answer, as a file.
type exchange struct {
	Operation carrier.Operation `json:"operation"`
	At        time.Time         `json:"at"`
	Took      string            `json:"took"`
	Request   message           `json:"request"`
	Answer    *message          `json:"answer,omitempty"`
	Error     string            `json:"error,omitempty"`
}

type message struct {
	Method string      `json:"method,omitempty"`
	URL    string      `json:"url,omitempty"`
	Status int         `json:"status,omitempty"`
	Header http.Header `json:"header,omitempty"`
	Body   any         `json:"body,omitempty"` // JSON as it came, or text
}

// keep writes one exchange.
func (r *recorder) keep(step string, x carrier.Exchange) {
	kept := exchange{
		Operation: x.Operation,
		At:        x.At.UTC(),
		Took:      x.Took.Round(time.Millisecond).String(),
		Request:   message{Method: x.Method, URL: x.URL, Header: x.Header, Body: bodyOf(x.Body)},
		Error:     x.Error,
	}
	if x.Status != 0 {
		kept.Answer = &message{Status: x.Status, Header: x.Answer, Body: bodyOf(x.Answered)}
	}
	data, err := json.MarshalIndent(kept, "", "  ")

	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
	r.last = time.Now()
	if u, wrong := url.Parse(x.URL); wrong == nil && r.host == "" {
		r.host = u.Host
	}
	if err == nil {
		name := fmt.Sprintf("%03d-%s-%s.json", r.count, step, x.Operation)
		err = os.WriteFile(filepath.Join(r.dir, name), append(data, '\n'), 0o600)
	}
	r.failed = errors.Join(r.failed, err)
}

func bodyOf(text string) any {
	switch {
	case text == "":
		return nil
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	return text
}

// quiet is how long after the last exchange the next one is still awaited:
// they are recorded behind the operations that they belong to.
const quiet = 150 * time.Millisecond

// wait returns when no exchange is outstanding.
func (r *recorder) wait() {
	for {
		r.mu.Lock()
		left := quiet - time.Since(r.last)
		r.mu.Unlock()
		if left <= 0 {
			return
		}
		time.Sleep(left)
	}
}

func (r *recorder) firstHost() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.host
}

func (r *recorder) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}
