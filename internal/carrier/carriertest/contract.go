package carriertest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/getkin/kin-openapi/openapi2"
	"github.com/getkin/kin-openapi/openapi2conv"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"github.com/waybillhq/waybill/internal/carrier"
)

// A Departure is a place where the carrier's own OpenAPI file is knowingly not
// followed: the file is wrong, or the carrier's real answers differ from it.
type Departure struct {
	Operation string // "POST /shipments/{version}/ship", as the file writes it
	Answer    bool   // the response departs, not the request
	Contains  string // part of the error message
	Reason    string
}

// A Contract is a carrier's OpenAPI files: every exchange is checked against
// them.
type Contract struct {
	t          testing.TB
	base       string // path of the carrier's API, before the paths of the files
	routers    []routers.Router
	departures []Departure

	mu       sync.Mutex
	checked  int
	departed []int // how often each departure was met
}

// NewContract reads the files, which lie below the directory that CARRIER_SPECS
// names: "ups/openapi-json/Shipping.json". Without CARRIER_SPECS it checks
// nothing, and says so. baseURL is the address that the driver is opened with.
func NewContract(t testing.TB, baseURL string, departures []Departure, files ...string) *Contract {
	t.Helper()
	dir := os.Getenv("CARRIER_SPECS")
	if dir == "" {
		t.Log("CARRIER_SPECS is not set: exchanges are not checked against the carrier's own OpenAPI files")
		return nil
	}

	base, err := url.Parse(baseURL)
	if err != nil {
		t.Fatal(err)
	}
	contract := &Contract{
		t:          t,
		base:       base.Path,
		departures: departures,
		departed:   make([]int, len(departures)),
	}
	for _, file := range files {
		contract.routers = append(contract.routers, readContract(t, filepath.Join(dir, file))...)
	}
	t.Cleanup(contract.conclude)
	return contract
}

// readContract returns routers of a file, to be tried in order: one of all its
// paths, and one of each path. Some files have a path twice, for other methods and
// with other names of its parameters, of which the first router knows only one.
func readContract(t testing.TB, file string) []routers.Router {
	t.Helper()
	document, err := loadContract(file)
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}

	// Requests are matched by their path, whichever host they go to. How they sign
	// in is not checked: some files require schemes that they do not declare.
	document.Servers = nil
	document.Security = nil
	paths := document.Paths.Map()
	for _, item := range paths {
		item.Servers = nil
		for _, operation := range item.Operations() {
			operation.Security = nil
		}
	}

	whole, err := gorillamux.NewRouter(document)
	if err != nil {
		t.Fatalf("routes of %s: %v", file, err)
	}
	list := []routers.Router{whole}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		alone := *document
		alone.Paths = openapi3.NewPaths(openapi3.WithPath(path, paths[path]))
		router, err := gorillamux.NewRouter(&alone)
		if err != nil {
			t.Fatalf("route %s of %s: %v", path, file, err)
		}
		list = append(list, router)
	}
	return list
}

// loadContract reads a file of OpenAPI 3, or of Swagger 2 as some carriers still
// publish it.
func loadContract(file string) (*openapi3.T, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var version struct {
		Swagger string `json:"swagger"`
	}
	if json.Unmarshal(data, &version) != nil || version.Swagger == "" {
		return openapi3.NewLoader().LoadFromFile(file)
	}

	var old openapi2.T
	if err := json.Unmarshal(data, &old); err != nil {
		return nil, err
	}
	return openapi2conv.ToV3(&old)
}

// Checked passes requests on and checks them and their answers. A nil Contract
// only passes them on.
func (c *Contract) Checked(via carrier.Doer) carrier.Doer {
	if c == nil {
		return via
	}
	return checkedDoer{c, via}
}

type checkedDoer struct {
	contract *Contract
	via      carrier.Doer
}

// Do is carrier.Doer.
func (d checkedDoer) Do(request *http.Request) (*http.Response, error) {
	sent, err := copyBody(&request.Body)
	if err != nil {
		return nil, err
	}
	response, err := d.via.Do(request)
	if err != nil {
		return response, err
	}

	received, err := copyBody(&response.Body)
	if err != nil {
		return response, nil // the emulator cut it on purpose
	}
	d.contract.check(request, sent, response, received)
	return response, nil
}

// copyBody reads a body and leaves it to be read again.
func copyBody(body *io.ReadCloser) ([]byte, error) {
	if *body == nil {
		return nil, nil
	}

	data, err := io.ReadAll(*body)
	err = errors.Join(err, (*body).Close())
	*body = io.NopCloser(bytes.NewReader(data))
	if err != nil {
		*body = io.NopCloser(io.MultiReader(bytes.NewReader(data), iotest.ErrReader(err)))
	}
	return data, err
}

func (c *Contract) check(original *http.Request, sent []byte, response *http.Response, received []byte) {
	request := original.Clone(original.Context())
	request.Body = io.NopCloser(bytes.NewReader(sent))
	request.URL.Scheme = ""
	request.URL.Host = ""
	request.URL.Path = strings.TrimPrefix(request.URL.Path, c.base)
	request.URL.RawPath = strings.TrimPrefix(request.URL.RawPath, c.base)

	instead := contractComplaint(request.Context())
	route, params, err := c.route(request)
	if err != nil && instead != nil {
		instead(err.Error())
		return
	}
	if err != nil {
		c.complain(Departure{Operation: request.Method + " " + request.URL.Path}, err)
		return
	}

	operation := request.Method + " " + route.Path
	options := &openapi3filter.Options{
		MultiError:            true,
		SkipSettingDefaults:   true,
		IncludeResponseStatus: true,
	}
	in := &openapi3filter.RequestValidationInput{
		Request:    request,
		PathParams: params,
		Route:      route,
		Options:    options,
	}
	err = openapi3filter.ValidateRequest(request.Context(), in)
	if instead != nil {
		for _, violation := range flatten(err) {
			instead(violation.Error())
		}
		return
	}
	c.complain(Departure{Operation: operation}, err)

	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in,
		Status:                 response.StatusCode,
		Header:                 response.Header,
		Options:                options,
	}
	out.SetBodyBytes(received)
	c.complain(Departure{Operation: operation, Answer: true}, openapi3filter.ValidateResponse(request.Context(), out))
}

// route finds the operation in the first file that has it.
func (c *Contract) route(r *http.Request) (*routers.Route, map[string]string, error) {
	for _, router := range c.routers {
		if route, params, err := router.FindRoute(r); err == nil {
			return route, params, nil
		}
	}
	return nil, nil, errors.New("is in none of the carrier's files")
}

// complain fails the test for every violation that is not a departure.
func (c *Contract) complain(where Departure, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.checked++
	for _, violation := range flatten(err) {
		if c.isDeparture(where, violation.Error()) {
			continue
		}
		side := "request"
		if where.Answer {
			side = "answer"
		}
		c.t.Errorf("%s: the %s does not keep to the carrier's OpenAPI file: %v", where.Operation, side, violation)
	}
}

func (c *Contract) isDeparture(where Departure, complaint string) bool {
	for i, known := range c.departures {
		if known.Operation == where.Operation && known.Answer == where.Answer && strings.Contains(complaint, known.Contains) {
			c.departed[i]++
			return true
		}
	}
	return false
}

// flatten splits joined errors.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if many, ok := err.(openapi3.MultiError); ok {
		var list []error
		for _, one := range many {
			list = append(list, flatten(one)...)
		}
		return list
	}

	switch wrapped := err.(type) {
	case *openapi3filter.RequestError:
		if many, ok := wrapped.Err.(openapi3.MultiError); ok {
			return flatten(many)
		}
	case *openapi3filter.ResponseError:
		if many, ok := wrapped.Err.(openapi3.MultiError); ok {
			return flatten(many)
		}
	}
	return []error{err}
}

// conclude logs how much was checked, and fails the test for a departure that
// was never met, so that the list stays short.
func (c *Contract) conclude() {
	c.mu.Lock()
	defer c.mu.Unlock()

	for i, n := range c.departed {
		if n == 0 && !c.t.Failed() {
			c.t.Errorf("the departure %+v is not needed", c.departures[i])
		}
	}
	c.t.Logf("%d requests and answers checked against the carrier's OpenAPI files, %d departures", c.checked, len(c.departures))
}
