package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/carrier/sandbox"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
)

// sandboxRoutes are the controls of the simulated carriers.
func (s *Web) sandboxRoutes() []route {
	return []route{
		get("/app/{mode}/sandbox", member.ControlSandbox, s.sandbox),
		post("/app/{mode}/sandbox", member.ControlSandbox, s.forceFault),
	}
}

// sandboxView is the page of the sandbox.
type sandboxView struct {
	Moving []ship.Shipment // parcels that can be moved on
	Fault  sandbox.Destination
	Asked  []apiCall // what was just tried
}

// An apiCall is one request of the API and its answer.
type apiCall struct {
	Method, Path string
	Sent         string // the body
	Status       int
	Head         []string // of the answer, what matters
	Body         string
	Shipment     ship.ShipmentID // that it made
}

// movable is how many parcels the page offers to move.
const movable = 8

// sandbox handles GET /app/{mode}/sandbox.
func (s *Web) sandbox(v *visit) error {
	var p sandboxView
	if !v.live {
		var err error
		if p.Moving, err = v.moving(); err != nil {
			return err
		}
	}
	return v.show(http.StatusOK, sandboxPage(v.frame("Sandbox", "sandbox"), p))
}

// moving are the newest parcels that are not at their end.
func (v *visit) moving() ([]ship.Shipment, error) {
	list, _, err := v.Shipping.Shipments(v.ctx(), v.tenant(), shipping.Filter{Page: ship.Page{Limit: pageSize}})
	list = slices.DeleteFunc(list, func(sh ship.Shipment) bool {
		return sh.State != ship.StatePurchased || sh.Progress.Status == ship.Delivered || !sh.Deal.Simulated
	})
	return list[:min(len(list), movable)], err
}

// asksForRates are the faults of quotes: nothing is bought to see them.
var asksForRates = []sandbox.Fault{sandbox.FaultQuote, sandbox.FaultQuoteUSPS, sandbox.FaultSlowQuote}

// voids are the faults that show when the label is given back.
var voids = []sandbox.Fault{sandbox.FaultVoidRefused, sandbox.FaultVoidPending, sandbox.FaultVoidLost}

// forceFault handles POST /app/test/sandbox: it sends the API what makes the
// fault happen, and shows what the API answers.
func (s *Web) forceFault(v *visit) error {
	i := slices.IndexFunc(sandbox.Magic, func(d sandbox.Destination) bool { return string(d.Fault) == v.form("fault") })
	if i < 0 || v.live || s.API == nil {
		return errNoPage
	}
	p := sandboxView{Fault: sandbox.Magic[i]}
	order := newOnce()
	to := map[string]any{"name": p.Fault.Name, "address1": "500 Main St", "city": "Austin", "state": "TX", "zip": "78701", "country": "US"}
	body := map[string]any{"destination": to, "parcel": map[string]any{"weight": 2.5}}
	if slices.Contains(asksForRates, p.Fault.Fault) {
		p.Asked = append(p.Asked, v.ask(http.MethodPost, "/v1/rates", body))
	} else {
		body["orderId"] = "FAULT-" + strings.ToUpper(order[:6])
		made := v.ask(http.MethodPost, "/v1/shipments", body, "Idempotency-Key", "sandbox-"+order)
		p.Asked = append(p.Asked, made)
		if slices.Contains(voids, p.Fault.Fault) && made.Shipment != "" {
			p.Asked = append(p.Asked, v.ask(http.MethodPost, "/v1/shipments/"+string(made.Shipment)+"/void", nil))
		}
		v.record("sandbox.fault", string(made.Shipment), map[string]string{"fault": string(p.Fault.Fault)})
	}
	f := v.frame("Sandbox", "sandbox")
	var err error
	if p.Moving, err = v.moving(); err != nil {
		return err
	}
	if v.isPart() {
		return v.show(http.StatusOK, faultPart(f, p))
	}
	return v.show(http.StatusOK, sandboxPage(f, p))
}

// ask sends a request to the API in this program, for the person who is signed
// in.
func (v *visit) ask(method, path string, body any, header ...string) apiCall {
	a := apiCall{Method: method, Path: path}
	var sent []byte
	if body != nil {
		sent, _ = json.MarshalIndent(body, "", "  ") // maps of text and numbers always encode
		a.Sent = string(sent)
	}
	who := account.Principal{Tenant: v.tenant(), Account: v.who.Account, Scopes: []string{"*"}}
	r, err := http.NewRequestWithContext(httpkit.WithPrincipal(v.audited("", "", nil), who), method, path, bytes.NewReader(sent))
	if err != nil {
		a.Status, a.Body = http.StatusInternalServerError, "the request could not be made"
		return a
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := &answer{header: http.Header{}}
	v.API.ServeHTTP(w, r)
	a.Status, a.Body = w.status, w.body.String()
	for _, name := range []string{"Content-Type", "Location", "Retry-After", "Request-Id"} {
		if value := w.header.Get(name); value != "" {
			a.Head = append(a.Head, name+": "+value)
		}
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, w.body.Bytes(), "", "  ") == nil {
		a.Body = pretty.String()
	}
	var made struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(w.body.Bytes(), &made) == nil {
		if id, ok := ship.ParseShipmentID(made.ID); ok {
			a.Shipment = id
		}
	}
	return a
}

// answer keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is the answer's.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader takes the first status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write keeps a part of the body.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// Curl is the request as a program sends it.
func (a apiCall) Curl(base string) string {
	lines := []string{"curl -X " + a.Method + " " + base + a.Path, `-H "Authorization: Bearer sk_test_..."`}
	if a.Sent != "" {
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+a.Sent+"'")
	}
	return strings.Join(lines, " \\\n  ")
}

func (a apiCall) statusLine() string { return strconv.Itoa(a.Status) + " " + http.StatusText(a.Status) }
