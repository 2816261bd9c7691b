package plugin

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/remote"
	"github.com/waybillhq/waybill/internal/webhook"
)

const secretText = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// habits are ways to write a bad plug-in.
type habits struct {
	cannotFind   bool // it has no find
	sellsTwice   bool // a reference that comes again is sold again
	forgets      bool // find finds nothing
	guesses      bool // find finds something under any reference
	trusts       bool // signatures are not checked
	signsNothing bool
	late         bool // a purchase is written down a while after its caller has left
	unmapped     bool // a code that is not described
	forges       bool // a label that is not what it says
}

// pigeon is a plug-in with every ability.
type pigeon struct {
	habits
	secret remote.Secret

	mu        sync.Mutex
	sales     map[string]map[string]any
	voided    map[string]bool
	pickups   map[string]string // confirmations by reference
	places    map[string]string // confirmations by place and day
	manifests map[string]string // numbers by tracking number
	papers    map[string]string // numbers of documents by reference and content
	count     int
}

// startPigeon runs a plug-in on this machine.
func startPigeon(t *testing.T, h habits) (*httptest.Server, *pigeon) {
	t.Helper()
	secret, err := remote.ParseSecret(secretText)
	if err != nil {
		t.Fatal(err)
	}
	p := &pigeon{
		habits:    h,
		secret:    secret,
		sales:     map[string]map[string]any{},
		voided:    map[string]bool{},
		pickups:   map[string]string{},
		places:    map[string]string{},
		manifests: map[string]string{},
		papers:    map[string]string{},
	}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return server, p
}

// loopback allows plug-ins on this machine.
func loopback() webhook.Policy {
	return webhook.Policy{Loopback: true, Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

func openPigeon(t *testing.T, h habits) (Target, *pigeon) {
	t.Helper()
	server, p := startPigeon(t, h)
	target, err := Open(loopback(), server.URL+"/pigeons/", secretText)
	if err != nil {
		t.Fatal(err)
	}
	return target, p
}

type members = map[string]any

func (p *pigeon) description() members {
	abilities := []string{
		"rates", "buy", "void", "track", "push", "addresses", "pickups", "find_pickups",
		"cancel_pickups", "manifests", "find_manifests", "points", "proof", "returns", "duties", "documents", "find_documents",
	}
	if !p.cannotFind {
		abilities = append(abilities, "find")
	}
	return members{
		"protocol":        1,
		"title":           "Pigeon Post",
		"abilities":       abilities,
		"fields":          []members{{"name": "api_key", "title": "API key", "secret": true, "required": true}},
		"services":        []members{{"code": "ground", "name": "Pigeon Ground"}},
		"labelFormats":    []string{"zpl"},
		"addressChecks":   members{"streets": []string{"US"}},
		"manifestScope":   "labels",
		"documents":       members{"types": []string{"commercial_invoice"}},
		"trackBatch":      10,
		"statuses":        []members{{"code": "LABEL", "status": "label_generated"}},
		"trackingNumbers": []string{"PP[0-9]{9}"},
		"quota":           members{"calls": 5, "perSeconds": 1},
		"timeouts":        members{"buy": 30},
		"lookup":          members{"lagSeconds": 5},
		"examples": members{
			"credentials":    members{"api_key": "pigeon-key-1"},
			"validAddress":   members{"address1": "1 Loft St", "city": "Albany", "state": "NY", "zip": "12207", "country": "US"},
			"invalidAddress": members{"address1": "0 Loft St", "city": "Albany", "state": "NY", "zip": "12207", "country": "US"},
			"points":         members{"country": "US", "zip": "12207", "limit": 5},
		},
	}
}

type pigeonRequest struct {
	Credentials     map[string]string `json:"credentials"`
	Reference       string            `json:"reference"`
	Service         string            `json:"service"`
	CarrierRef      string            `json:"carrierRef"`
	TrackingNumbers []string          `json:"trackingNumbers"`
	Address         struct {
		Address1 string `json:"address1"`
	} `json:"address"`
	Pickup struct {
		Address members   `json:"address"`
		ReadyAt time.Time `json:"readyAt"`
	} `json:"pickup"`
	Labels []struct {
		TrackingNumbers []string `json:"trackingNumbers"`
	} `json:"labels"`
	Document struct {
		Data string `json:"data"`
	} `json:"document"`
}

// ServeHTTP is http.Handler.
func (p *pigeon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if !p.trusts && p.secret.Verify(r.Header, time.Now(), body) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}

	var in pigeonRequest
	status := http.StatusOK
	var answer members
	path := strings.TrimPrefix(r.URL.Path, "/pigeons")
	switch {
	case json.Unmarshal(body, &in) != nil:
		status, answer = failure("invalid", "JSON")
	case path == "/describe":
		answer = p.description()
	case in.Credentials["api_key"] != "pigeon-key-1":
		status, answer = failure("forbidden", "KEY")
	default:
		if p.late && path == "/buy" {
			time.Sleep(500 * time.Millisecond)
		}
		status, answer = p.perform(path, in)
	}

	text, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	if !p.signsNothing {
		p.secret.Sign(w.Header(), r.Header.Get(remote.HeaderID), time.Now(), text)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func failure(kind, code string) (int, members) {
	return http.StatusUnprocessableEntity, members{"error": members{"kind": kind, "code": code, "message": "it is so"}}
}

func (p *pigeon) perform(path string, in pigeonRequest) (int, members) {
	p.mu.Lock()
	defer p.mu.Unlock()
	money := members{"amount": "7.90", "currency": "USD"}
	form := members{"type": "scan_form", "format": "pdf", "data": base64.StdEncoding.EncodeToString([]byte("%PDF-1.7"))}

	switch path {
	case "/check":
		return http.StatusOK, members{"ok": true}
	case "/rates":
		return http.StatusOK, members{"rates": []members{{"service": "ground", "price": money}, {"service": "unknown", "price": money}}}
	case "/buy":
		if _, sold := p.sales[in.Reference]; !sold || p.sellsTwice {
			p.count++
			label := "^XA^FDpigeon^FS^XZ" + strings.Repeat(" ", 200)
			if p.forges {
				label = "a pigeon" + strings.Repeat(" ", 200)
			}
			p.sales[in.Reference] = members{
				"carrierRef":     fmt.Sprintf("C%09d", p.count),
				"trackingNumber": fmt.Sprintf("PP%09d", p.count),
				"service":        in.Service,
				"price":          money,
				"label":          members{"format": "zpl", "data": base64.StdEncoding.EncodeToString([]byte(label))},
			}
		}
		return http.StatusOK, p.sales[in.Reference]
	case "/find":
		for _, sold := range p.sales {
			if p.guesses {
				return http.StatusOK, sold
			}
		}
		if sold, ok := p.sales[in.Reference]; ok && !p.forgets {
			return http.StatusOK, sold
		}
		return failure("not_found", "")
	case "/void":
		return http.StatusOK, members{"status": "voided"}
	case "/track":
		code := "LABEL"
		if p.unmapped {
			code = "LOST"
		}
		return http.StatusOK, members{"updates": []members{{"trackingNumber": in.TrackingNumbers[0], "code": code, "at": "2026-01-02T03:04:05Z"}}}
	case "/address":
		if strings.HasPrefix(in.Address.Address1, "1 ") {
			return http.StatusOK, members{"verdict": "valid", "residential": true}
		}
		return http.StatusOK, members{"verdict": "invalid", "messages": []string{"There is no such loft."}}
	case "/pickups/book", "/pickups/find", "/pickups/cancel":
		return p.pickup(path, in)
	case "/manifests/close", "/manifests/find":
		return p.manifest(path, in, form)
	case "/points":
		place := members{"address1": "1 Loft St", "city": "Albany", "country": "US"}
		return http.StatusOK, members{"points": []members{
			{"id": "1", "name": "Loft", "address": place, "distanceMetres": 10, "abilities": []string{"collect"}},
			{"id": "2", "name": "Roof", "address": place, "distanceMetres": 20},
		}}
	case "/proof":
		return http.StatusOK, members{"document": form}
	case "/duties":
		return http.StatusOK, members{"charges": []members{
			{"type": "duty", "name": "Duty", "item": 0, "amount": members{"amount": "1.20", "currency": "EUR"}},
			{"type": "fee", "name": "Clearance fee", "amount": money},
		}}
	case "/documents/upload", "/documents/find":
		paper := in.Reference + in.Document.Data
		if path == "/documents/find" && p.papers[paper] == "" {
			return failure("not_found", "")
		}
		if p.papers[paper] == "" {
			p.count++
			p.papers[paper] = fmt.Sprintf("D%d", p.count)
		}
		return http.StatusOK, members{"received": true, "id": p.papers[paper]}
	}
	return http.StatusNotFound, members{}
}

func (p *pigeon) pickup(path string, in pigeonRequest) (int, members) {
	switch path {
	case "/pickups/cancel":
		delete(p.pickups, in.Reference)
		return http.StatusOK, members{"cancelled": true}
	case "/pickups/find":
		if p.pickups[in.Reference] == "" {
			return failure("not_found", "")
		}
	default:
		p.count++
		p.pickups[in.Reference] = fmt.Sprintf("K%d", p.count)
	}
	return http.StatusOK, members{"confirmation": p.pickups[in.Reference]}
}

func (p *pigeon) manifest(path string, in pigeonRequest, form members) (int, members) {
	number := in.Labels[0].TrackingNumbers[0]
	existed := p.manifests[number] != ""
	if path == "/manifests/find" && !existed {
		return failure("not_found", "")
	}
	if !existed {
		p.count++
		p.manifests[number] = fmt.Sprintf("M%d", p.count)
	}
	return http.StatusOK, members{"number": p.manifests[number], "documents": []members{form}, "existed": existed && path == "/manifests/close"}
}
