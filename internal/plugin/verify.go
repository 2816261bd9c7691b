package plugin

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/conformance"
	"github.com/waybillhq/waybill/internal/carrier/remote"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Grade says how far a plug-in can be trusted with money.
type Grade string

// The grades.
const (
	GradeA Grade = "A" // everything holds, and every lost answer is found again
	GradeB Grade = "B" // everything holds, and lost answers that cannot be looked up go to a person
	GradeC Grade = "C" // something fails that costs no money
	GradeF Grade = "F" // money, a signature or a claim about look-ups is at stake
)

// A Finding is one requirement and how the plug-in met it.
type Finding struct {
	Name      string `json:"name"`
	Operation string `json:"operation,omitempty"`
	Fault     bool   `json:"fault"`           // something went wrong on the way
	Money     bool   `json:"money"`           // failing it can cost money
	Claim     bool   `json:"claim"`           // the plug-in said so itself
	Error     string `json:"error,omitempty"` // empty if it is met
}

// A LostAnswer says what becomes of an operation whose answer is lost.
type LostAnswer struct {
	Operation string `json:"operation"`
	Outcome   string `json:"outcome"`
	ToAPerson bool   `json:"toAPerson"`
}

// A Report is what Verify found out.
type Report struct {
	URL      string       `json:"url"`
	Title    string       `json:"title"`
	Grade    Grade        `json:"grade"`
	Findings []Finding    `json:"findings"`
	Lost     []LostAnswer `json:"lostAnswers"`
}

// Failures returns the requirements that the plug-in does not meet.
func (r Report) Failures() []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Error == "" })
}

// VerifyOptions say how a plug-in is verified.
type VerifyOptions struct {
	// Credentials are used instead of those of the plug-in's examples.
	Credentials carrier.Credentials
	// AtOnce is how many requirements are tried at the same time; 0 means 4.
	AtOnce int
}

// Verify runs the conformance suite with its faults against a plug-in, in its
// test mode, and what a plug-in must do besides.
func (t Target) Verify(ctx context.Context, options VerifyOptions) (Report, error) {
	v, err := t.verification(ctx, options)
	if err != nil {
		return Report{}, err
	}
	checks := append(v.suite(ctx), v.checks()...)
	return v.report(ctx, checks, cmp.Or(options.AtOnce, 4)), ctx.Err()
}

// verification asks the plug-in what it claims.
func (t Target) verification(ctx context.Context, options VerifyOptions) (*verification, error) {
	description, err := t.Describe(ctx)
	if err != nil {
		return nil, err
	}
	v := &verification{
		target:      t,
		description: description,
		spec:        remote.Plugin{Name: "plugin", URL: t.url, Secret: t.secret, Description: description}.Spec(),
		credentials: options.Credentials,
		run:         rand.Text()[:8],
	}
	if v.credentials == nil {
		v.credentials = maps.Clone(description.Examples.Credentials)
	}
	if v.order, err = exampleOrder(description); err != nil {
		return v, err
	}
	v.abroad, err = exampleAbroad(description)
	return v, err
}

// suite returns the requirements of the conformance suite.
func (v *verification) suite(ctx context.Context) []check {
	subject := v.subject(ctx)
	var checks []check
	for _, demand := range subject.Cases() {
		checks = append(checks, check{
			Finding: Finding{
				Name:      demand.Name,
				Operation: demand.Operation,
				Fault:     demand.HasFault,
				Money:     slices.Contains(moneyOperations, demand.Operation),
			},
			run: func(ctx context.Context) error { return demand.Run(subject, runner{ctx}) },
		})
	}
	return checks
}

// report tries the requirements and grades the plug-in.
func (v *verification) report(ctx context.Context, checks []check, atOnce int) Report {
	report := Report{
		URL:      v.target.url,
		Title:    v.description.Title,
		Findings: runAll(ctx, checks, atOnce),
		Lost:     v.lostAnswers(),
	}
	report.Grade = gradeOf(report)
	return report
}

// moneyOperations are those whose failures can cost money: effects, and the
// look-ups that decide whether they are repeated.
var moneyOperations = []string{
	"buy", "find", "void", "pickups", "find_pickups", "cancel_pickups", "manifests", "find_manifests",
}

func gradeOf(r Report) Grade {
	grade := GradeA
	if slices.ContainsFunc(r.Lost, func(l LostAnswer) bool { return l.ToAPerson }) {
		grade = GradeB
	}
	for _, failure := range r.Failures() {
		if failure.Money {
			return GradeF
		}
		grade = GradeC
	}
	return grade
}

// verification is one run of Verify.
type verification struct {
	target      Target
	description remote.Description
	spec        carrier.Spec
	credentials carrier.Credentials
	order       carrier.BuyOrder
	abroad      carrier.BuyOrder // with a customs declaration
	run         string           // that references of this run begin with
	used        atomic.Int64
}

// check is a requirement that is still to be tried.
type check struct {
	Finding
	run func(context.Context) error
}

// runner is what requirements of the suite are run by.
type runner struct{ ctx context.Context }

// Context is conformance.T.
func (r runner) Context() context.Context { return r.ctx }

// checkTimeout bounds one requirement.
const checkTimeout = time.Minute

// runAll tries the requirements, some at the same time, and returns how each was
// met, in their order.
func runAll(ctx context.Context, checks []check, atOnce int) []Finding {
	findings := make([]Finding, len(checks))
	slots := make(chan struct{}, atOnce)
	var group sync.WaitGroup
	for i, one := range checks {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, checkTimeout)
			defer cancel()
			findings[i] = one.Finding
			if err := one.run(ctx); err != nil {
				findings[i].Error = err.Error()
			}
		})
	}
	group.Wait()
	return findings
}

// reference returns a reference that was not used before.
func (v *verification) reference() string {
	return fmt.Sprintf("S%s%06d", v.run, v.used.Add(1))
}

// buyOrder returns the order under a reference of its own.
func (v *verification) buyOrder() carrier.BuyOrder {
	order := v.order
	order.Reference = v.reference()
	return order
}

// declared returns the order abroad under a reference of its own.
func (v *verification) declared() carrier.BuyOrder {
	order := v.abroad
	order.Reference = v.reference()
	return order
}

// subject returns the plug-in as the suite knows carriers.
func (v *verification) subject(ctx context.Context) conformance.Subject {
	const refusalCode = "E7"
	subject := conformance.Subject{
		Spec:        v.spec,
		Credentials: v.credentials,
		Service:     func(conformance.T) carrier.Doer { return v.target.via },
		Order:       v.buyOrder(),
		Refusal: conformance.Refusal{
			Status: http.StatusUnprocessableEntity,
			Body:   `{"error":{"kind":"invalid","code":"` + refusalCode + `","message":"%s"}}`,
			Code:   refusalCode,
		},
		Pickup:   v.pickup(),
		Declared: v.declared(),
		Duties:   v.abroad.Order,
		Sign: func(request *http.Request, answer *http.Response, body []byte) {
			v.target.secret.Sign(answer.Header, request.Header.Get(remote.HeaderID), time.Now(), body)
		},
		Renew: func(s conformance.Subject) conformance.Subject {
			s.Order = v.buyOrder()
			s.Pickup = v.pickup()
			s.Declared = v.declared()
			return s
		},
	}
	if points := v.description.Examples.Points; points != nil {
		subject.Points = ship.PointQuery(*points)
	}
	if !v.description.Can("buy") {
		subject.TrackingNumber = v.description.Examples.TrackingNumber
	}
	subject.Addresses = v.addresses(ctx)
	return subject
}

// addresses returns the plug-in's examples of addresses. Whether the valid one is
// a home is what the plug-in says when it is asked once.
func (v *verification) addresses(ctx context.Context) []conformance.AddressExample {
	examples := v.description.Examples
	var list []conformance.AddressExample
	if examples.ValidAddress != nil {
		valid := conformance.AddressExample{Address: placeOnly(*examples.ValidAddress), Verdict: ship.AddressValid}
		if opened, err := v.open(v.target.via); err == nil {
			found, err := opened.CheckAddress(ctx, valid.Address)
			if err == nil && found.Residential != nil {
				valid.Kind = map[bool]string{true: "home", false: "business"}[*found.Residential]
			}
		}
		list = append(list, valid)
	}
	if examples.InvalidAddress != nil {
		list = append(list, conformance.AddressExample{Address: placeOnly(*examples.InvalidAddress), Verdict: ship.AddressInvalid})
	}
	return list
}

// placeOnly returns where an address is; the suite adds a person.
func placeOnly(a remote.Address) ship.Address {
	return remote.AddressOf(remote.Address{
		Address1: a.Address1,
		Address2: a.Address2,
		Address3: a.Address3,
		City:     a.City,
		State:    a.State,
		Zip:      a.Zip,
		Country:  a.Country,
	})
}

// pickup returns a pickup at a place of its own, tomorrow.
func (v *verification) pickup() carrier.PickupRequest {
	address := v.order.Order.Origin
	address.Address2 = fmt.Sprintf("Dock %s %d", v.run, v.used.Add(1))
	ready := time.Now().UTC().Truncate(24 * time.Hour).Add(38 * time.Hour)
	return carrier.PickupRequest{
		Reference: v.reference(),
		Order: ship.PickupOrder{
			Address:     address,
			Window:      ship.TimeWindow{ReadyAt: ready, CloseAt: ready.Add(4 * time.Hour)},
			Parcels:     []ship.PickupParcels{{Service: v.order.Service, Country: v.order.Order.Destination.Country, Count: 1}},
			WeightGrams: v.order.Order.Parcels[0].WeightGrams,
		},
	}
}

// open opens the plug-in over a Doer.
func (v *verification) open(via carrier.Doer) (*carrier.Carrier, error) {
	return carrier.Open(v.spec, carrier.Opening{
		Credentials: v.credentials,
		BaseURL:     v.target.url,
		PushSecret:  "0123456789abcdef0123456789abcdef",
		Via:         via,
	})
}

// austin is where orders are sent from if the plug-in has no example.
var austin = remote.Address{
	Name: "Ada Lovelace", Address1: "500 Main St", City: "Austin", State: "TX", Zip: "78701", Country: "US", Phone: "+1 512 555 0100",
}

// exampleOrder returns the order that is bought: the plug-in's example, or one
// within the United States.
func exampleOrder(d remote.Description) (carrier.BuyOrder, error) {
	example := remote.ExampleOrder{
		Grams:  500,
		Origin: austin,
		Destination: remote.Address{
			Name: "Grace Hopper", Address1: "1 Market St", City: "San Francisco", State: "CA", Zip: "94105", Country: "US", Phone: "+1 415 555 0100",
		},
	}
	if d.Examples.Order != nil {
		example = *d.Examples.Order
	}
	return orderOf(d, example, "/examples/order")
}

// exampleAbroad returns the order whose duties are estimated and for which documents
// are sent: the plug-in's example, or one from the United States to Germany.
func exampleAbroad(d remote.Description) (carrier.BuyOrder, error) {
	example := remote.ExampleOrder{
		Grams:  500,
		Origin: austin,
		Destination: remote.Address{
			Name: "Konrad Zuse", Address1: "Friedrichstr. 43", City: "Berlin", Zip: "10969", Country: "DE", Phone: "+49 30 555 0100",
		},
	}
	if d.Examples.Abroad != nil {
		example = *d.Examples.Abroad
	}
	declared, err := orderOf(d, example, "/examples/abroad")
	if err != nil {
		return carrier.BuyOrder{}, err
	}

	declared.Order.Customs = &ship.Customs{
		ContentsType:    "merchandise",
		Incoterm:        "DAP",
		Signer:          declared.Order.Origin.Name,
		InvoiceNumber:   "verify-1",
		DocumentsFollow: d.Documents != nil && d.Documents.Announced,
		Items: []ship.CustomsItem{{
			Description:   "Cotton shirt",
			Quantity:      1,
			Value:         ship.Money{Minor: 2000, Currency: "USD"},
			Weight:        float64(example.Grams),
			WeightGrams:   example.Grams,
			HSCode:        "610910",
			OriginCountry: declared.Order.Origin.Country,
		}},
	}
	return declared, nil
}

// orderOf returns an example as an order. The pointer says where it is described.
func orderOf(d remote.Description, example remote.ExampleOrder, pointer string) (carrier.BuyOrder, error) {
	if example.Service == "" && len(d.Services) > 0 {
		example.Service = d.Services[0].Code
	}

	order := ship.Order{
		OrderID:  "verify-1",
		ShipDate: ship.DateOf(time.Now().Add(24 * time.Hour)),
		Parcels:  []ship.Parcel{{Weight: float64(example.Grams), WeightUnit: "g", WeightGrams: example.Grams}},
	}
	var wrongOrigin, wrongDestination []ship.FieldError
	order.Origin, wrongOrigin = remote.AddressOf(example.Origin).Normalize(pointer + "/origin")
	order.Destination, wrongDestination = remote.AddressOf(example.Destination).Normalize(pointer + "/destination")
	if err := ship.InvalidFields(slices.Concat(wrongOrigin, wrongDestination)); err != nil {
		return carrier.BuyOrder{}, err
	}
	return carrier.BuyOrder{
		Order:    order,
		Service:  example.Service,
		Shipment: ship.NewShipmentID(0, time.Now()),
	}, nil
}

// lostAnswers says what becomes of each effect whose answer is lost, by what the
// plug-in can look up.
func (v *verification) lostAnswers() []LostAnswer {
	d := v.description
	var list []LostAnswer
	add := func(operation, outcome string, toAPerson bool) {
		if d.Can(operation) {
			list = append(list, LostAnswer{Operation: operation, Outcome: outcome, ToAPerson: toAPerson})
		}
	}

	if d.Can("find") {
		add("buy", "looked up by its reference", false)
	} else {
		add("buy", "goes to a person, and is never bought again by itself: the plug-in has no find", true)
	}
	add("void", "asked again, which is safe", false)
	switch {
	case d.Can("find_pickups"):
		add("pickups", "looked up by its reference", false)
	case d.OnePickup:
		add("pickups", "booked again, which makes no second one", false)
	default:
		add("pickups", "goes to a person: the plug-in has no find_pickups", true)
	}
	if d.Can("find_manifests") {
		add("manifests", "looked up", false)
	} else {
		add("manifests", "closed again, which shows that it was closed", false)
	}
	if d.Can("find_documents") {
		add("documents", "looked up by its reference", false)
	} else {
		add("documents", "goes to a person: the plug-in has no find_documents", true)
	}
	return list
}
