package developers

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
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// sandboxView is the page of the sandbox.
type sandboxView struct {
	Moving []ship.Shipment // parcels that can be advanced
	Fault  sandbox.Destination
	Asked  []apiCall // the requests that were just sent
}

// An apiCall is one request to the API and its response.
type apiCall struct {
	Method, Path string
	Sent         string // the body
	Status       int
	Head         []string // the response headers that matter
	Body         string
	Shipment     ship.ShipmentID // that it created
}

// maxMoving is how many parcels the page offers to advance.
const maxMoving = 8

// getSandbox handles GET /app/{account}/{mode}/sandbox.
func getSandbox(v *site.Visit) error {
	var page sandboxView
	if !v.Live {
		var err error
		if page.Moving, err = moving(v); err != nil {
			return err
		}
	}
	return v.Show(http.StatusOK, sandboxPage(v.Frame("Sandbox", "sandbox"), page))
}

// moving lists the newest simulated parcels that are not delivered yet.
func moving(v *site.Visit) ([]ship.Shipment, error) {
	list, _, err := v.Shipping.Shipments(v.Context(), v.Tenant(), shipping.Filter{Page: ship.Page{Limit: site.PageSize}})
	list = slices.DeleteFunc(list, func(shipment ship.Shipment) bool {
		return shipment.State != ship.StatePurchased || shipment.Progress.Status == ship.Delivered || !shipment.Purchase.Simulated
	})
	return list[:min(len(list), maxMoving)], err
}

// quoteFaults are the faults of quotes: nothing is bought to see them.
var quoteFaults = []sandbox.Fault{sandbox.FaultQuote, sandbox.FaultQuoteUSPS, sandbox.FaultSlowQuote}

// voidFaults are the faults that show when the label is voided.
var voidFaults = []sandbox.Fault{sandbox.FaultVoidRefused, sandbox.FaultVoidPending, sandbox.FaultVoidLost}

// forceFault handles POST /app/{account}/test/sandbox: it sends the API a request
// that triggers the fault, and shows what the API answers.
func forceFault(v *site.Visit) error {
	i := slices.IndexFunc(sandbox.Magic, func(d sandbox.Destination) bool { return string(d.Fault) == v.Form("fault") })
	if i < 0 || v.Live || v.API == nil {
		return site.ErrNoPage
	}

	page := sandboxView{Fault: sandbox.Magic[i]}
	fault := page.Fault.Fault
	body := map[string]any{
		"destination": map[string]any{
			"name":     page.Fault.Name,
			"address1": "500 Main St",
			"city":     "Austin",
			"state":    "TX",
			"zip":      "78701",
			"country":  "US",
		},
		"parcel": map[string]any{"weight": 2.5},
	}

	if slices.Contains(quoteFaults, fault) {
		page.Asked = append(page.Asked, ask(v, http.MethodPost, "/v1/rates", body))
	} else {
		once := parts.NewPurchaseKey()
		body["orderId"] = "FAULT-" + strings.ToUpper(once[:6])
		created := ask(v, http.MethodPost, "/v1/shipments", body, "Idempotency-Key", "sandbox-"+once)
		page.Asked = append(page.Asked, created)
		if slices.Contains(voidFaults, fault) && created.Shipment != "" {
			page.Asked = append(page.Asked, ask(v, http.MethodPost, "/v1/shipments/"+string(created.Shipment)+"/void", nil))
		}
		v.Record("sandbox.fault", string(created.Shipment), map[string]string{"fault": string(fault)})
	}

	frame := v.Frame("Sandbox", "sandbox")
	var err error
	if page.Moving, err = moving(v); err != nil {
		return err
	}
	if v.IsPart() {
		return v.Show(http.StatusOK, faultPart(frame, page))
	}
	return v.Show(http.StatusOK, sandboxPage(frame, page))
}

// ask sends a request to the API of this process, as the person who is signed
// in. Headers are names and values.
func ask(v *site.Visit, method, path string, body any, headers ...string) apiCall {
	call := apiCall{Method: method, Path: path}
	var sent []byte
	if body != nil {
		sent, _ = json.MarshalIndent(body, "", "  ") // maps of text and numbers always encode
		call.Sent = string(sent)
	}

	// The principal replaces the API key, which the dashboard does not have.
	principal := account.Principal{Tenant: v.Tenant(), Account: v.Who.Account, Scopes: []string{"*"}}
	ctx := httpkit.WithPrincipal(v.Audited("", "", nil), principal)
	request, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(sent))
	if err != nil {
		call.Status = http.StatusInternalServerError
		call.Body = "the request could not be created"
		return call
	}
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}

	response := &answer{header: http.Header{}}
	v.API.ServeHTTP(response, request)
	call.Status = response.status
	call.Body = response.body.String()
	for _, name := range []string{"Content-Type", "Location", "Retry-After", "Request-Id"} {
		if value := response.header.Get(name); value != "" {
			call.Head = append(call.Head, name+": "+value)
		}
	}

	var pretty bytes.Buffer
	if json.Indent(&pretty, response.body.Bytes(), "", "  ") == nil {
		call.Body = pretty.String()
	}
	var created struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(response.body.Bytes(), &created) == nil {
		if id, ok := ship.ParseShipmentID(created.ID); ok {
			call.Shipment = id
		}
	}
	return call
}

// An answer is a ResponseWriter that keeps what a handler writes.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header returns the response headers.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader keeps the first status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write appends to the body.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data)
}

// Curl returns the request as a curl command.
func (a apiCall) Curl(base string) string {
	lines := []string{"curl -X " + a.Method + " " + base + a.Path, `-H "Authorization: Bearer sk_test_..."`}
	if a.Sent != "" {
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+a.Sent+"'")
	}
	return strings.Join(lines, " \\\n  ")
}

func (a apiCall) statusLine() string { return strconv.Itoa(a.Status) + " " + http.StatusText(a.Status) }
