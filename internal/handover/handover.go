// Package handover is the end of a shipping day: drivers are asked to come, labels
// are handed over on manifests, and documents for customs are sent. The rules of what is asked, repeated and
// looked up are package effect's; this package carries them out.
package handover

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/effect"
	"github.com/waybillhq/waybill/internal/failpoint"
	"github.com/waybillhq/waybill/internal/job"
	"github.com/waybillhq/waybill/internal/label"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store"
)

// Waits are how long the service waits for what. Tests shorten them.
type Waits struct {
	Answer time.Duration // a request is answered, at the latest: as pending if the carrier is not done
	Ask    time.Duration // at most for a carrier to book or close, whatever its own timeout
	Settle time.Duration // from an attempt to the first look by the job, longer where a call can take longer
	Look   time.Duration // between two looks
	Review time.Duration // from the creation: after it, a person decides
}

// DefaultWaits are those of the contract.
var DefaultWaits = Waits{
	Answer: 20 * time.Second,
	Ask:    2 * time.Minute,
	Settle: time.Minute,
	Look:   time.Minute,
	Review: 24 * time.Hour,
}

// Config is what a Service needs.
type Config struct {
	Store    *store.Store
	Accounts carrier.Accounts
	Labels   *label.Renderer // prints hand-over sheets
	Waits    Waits
	Log      *slog.Logger

	// Observe is called after every step; nil calls nobody.
	Observe func(what string, act effect.Act, result effect.Result)
	// Exchanged is called with what was said to a carrier about a pickup, a
	// manifest or a shipment's document, without secrets. It may not wait. Nil keeps nothing.
	Exchanged func(ship.Tenant, ship.RawID, ship.ConnectionID, carrier.Exchange)
}

// Service books pickups, closes manifests and sends documents.
type Service struct {
	Config
	now     func() time.Time
	running sync.WaitGroup // what is under way, answered or not
}

// New returns a service.
func New(c Config) *Service {
	if c.Observe == nil {
		c.Observe = func(string, effect.Act, effect.Result) {}
	}
	return &Service{Config: c, now: time.Now}
}

// Drain waits until what is under way has ended, or ctx has. What a carrier has
// not answered then is settled by a job, as after a crash.
func (s *Service) Drain(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		s.running.Wait()
		close(ended)
	}()

	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// A Seller says which carrier account is meant: a connection, or the only one of
// a carrier.
type Seller struct {
	Connection ship.ConnectionID
	Carrier    string
}

// location returns a location that a request names; the zero location if it names
// none.
func (s *Service) location(ctx context.Context, t ship.Tenant, id ship.LocationID) (ship.Location, error) {
	if id == "" {
		return ship.Location{}, nil
	}
	location, err := s.Store.Location(ctx, t, id)
	if ship.KindOf(err) == ship.NotFound {
		return location, ship.UnknownLocation("/address/locationId")
	}
	return location, err
}

// seller returns the carrier account that a request means. Of several accounts of a
// carrier, it is the one that the location uses.
func (s *Service) seller(ctx context.Context, t ship.Tenant, named Seller, from ship.Location) (*carrier.Carrier, error) {
	list, err := s.Accounts.List(ctx, t)
	if err != nil {
		return nil, err
	}

	var found []*carrier.Carrier
	for _, c := range list {
		isNamed := named.Carrier == "" || c.Spec().Name == named.Carrier
		if isNamed && (named.Connection == "" || c.Connection == named.Connection) {
			found = append(found, c)
		}
	}

	if len(found) > 1 && len(from.Connections) > 0 {
		found = slices.DeleteFunc(found, func(c *carrier.Carrier) bool { return !slices.Contains(from.Connections, c.Connection) })
	}

	switch {
	case named.Connection == "" && named.Carrier == "":
		return nil, invalid("/carrier", "required", "name a carrier or a connectionId")
	case len(found) == 1:
		return found[0], nil
	case named.Connection != "":
		return nil, invalid("/connectionId", "unknown_connection", "is not a connection of this account")
	case len(found) == 0:
		return nil, ship.Coded(ship.Invalid, "unknown_carrier", "this carrier is not connected")
	}
	return nil, invalid("/connectionId", "required", "the account has several connections to this carrier; name one")
}

// sellerOf returns the carrier account that something was begun with, even if it
// has been removed since.
func (s *Service) sellerOf(ctx context.Context, t ship.Tenant, connection ship.ConnectionID, name string) (*carrier.Carrier, error) {
	return s.Accounts.Seller(ctx, t, ship.Purchase{Carrier: name, Connection: connection})
}

func invalid(pointer, code, detail string) error {
	return ship.InvalidFields([]ship.FieldError{{Pointer: pointer, Code: code, Detail: detail}})
}

// settleAfter is how long after an attempt a job may look at it: by then the call
// has ended, whichever process made it.
func (s *Service) settleAfter(c *carrier.Carrier, deadline time.Duration) time.Duration {
	if c.Simulated() {
		return s.Waits.Settle
	}
	return max(s.Waits.Settle, 2*min(deadline, s.Waits.Ask))
}

// A run is one run of the machine, about a pickup, a manifest or a document.
type run struct {
	*Service
	what      string // "pickup", "manifest" or "document", in logs and metrics
	id        string
	carrier   *carrier.Carrier
	settle    time.Duration
	certainty effect.Certainty
	startedAt time.Time // of the present attempt

	intend func() error
	again  func(attempt int) error
	turn   func(store.Turn) error
	record func() error
	send   func() (existed bool, err error)
	find   func() error

	refused error // why the carrier did not do it
}

func (r *run) machine() effect.Machine {
	return effect.Machine{
		Do:        r.do,
		Now:       r.now,
		Certainty: r.certainty,
		Waits:     effect.Waits{Settle: r.settle, Look: r.Waits.Look, Review: r.Waits.Review},
	}
}

// around takes a step between two points at which a test can end the process.
func around(step string, do func() error) error {
	failpoint.Hit("before handover " + step)
	defer failpoint.Hit("after handover " + step)
	return do()
}

// do carries out an act, between two points at which a test can kill the process.
func (r *run) do(a effect.Act) (report effect.Report) {
	_ = around(r.what+"_"+string(a.Kind), func() error {
		report = r.act(a)
		return nil
	})
	r.Observe(r.what, a, report.Result)
	return report
}

func (r *run) act(a effect.Act) effect.Report {
	switch a.Kind {
	case effect.Intend:
		r.startedAt = r.now()
		return written(r.intend())

	case effect.Again:
		r.startedAt = r.now()
		return written(r.again(a.Attempt))

	case effect.Send:
		return r.ask()

	case effect.Look:
		return r.look()

	case effect.Record:
		return r.keep()

	case effect.Refuse:
		turn := store.Turn{To: effect.Failed, Attempt: a.Attempt, Code: "not_done", Message: "the carrier does not have it"}
		if r.refused != nil {
			turn.Code = ship.CodeOf(r.refused)
			turn.Message = ship.ErrorOf(r.refused).Message
		}
		return written(r.turn(turn))

	case effect.MarkUncertain:
		return written(r.turn(store.Turn{To: effect.Uncertain, Attempt: a.Attempt}))

	case effect.Miss:
		return written(r.turn(store.Turn{To: effect.Uncertain, Attempt: a.Attempt, Missed: true}))

	case effect.Review:
		title := r.carrier.Spec().Title
		return written(r.turn(store.Turn{
			To:      effect.NeedsReview,
			Attempt: a.Attempt,
			Code:    "outcome_unknown",
			Message: title + " did not respond, and its API cannot tell whether it succeeded. Contact " + title + " before you try again.",
		}))
	}
	panic("handover: unknown act " + string(a.Kind))
}

// written turns an error of our own side into a report.
func written(err error) effect.Report {
	switch {
	case err == nil:
		return effect.Report{Result: effect.Done}
	case ship.KindOf(err) == ship.Conflict && ship.CodeOf(err) == "":
		return effect.Report{Result: effect.Conflict}
	}
	return effect.Report{Result: effect.Broken, Err: err}
}

// ask asks the carrier once. A process that slept since it wrote the attempt down
// does not: a job may be looking already.
func (r *run) ask() effect.Report {
	if r.now().Sub(r.startedAt) > r.settle/3 {
		r.refused = ship.Coded(ship.Unavailable, "carrier_unavailable", "the carrier was not asked in time")
		return effect.Report{Result: effect.NotSent}
	}

	existed, err := r.send()
	switch ship.KindOf(err) {
	case "":
		if existed {
			return effect.Report{Result: effect.Existed}
		}
		return effect.Report{Result: effect.Confirmed}

	case ship.Uncertain, ship.Internal:
		r.Log.Warn("outcome unknown", "what", r.what, "id", r.id, "carrier", r.carrier.Spec().Name, "error", err)
		return effect.Report{Result: effect.Lost}
	}

	r.refused = r.explain(err)
	if kind := ship.KindOf(err); kind == ship.Invalid || kind == ship.Unsupported || kind == ship.Conflict {
		return effect.Report{Result: effect.Refused}
	}
	return effect.Report{Result: effect.NotSent}
}

// explain returns a carrier's refusal as clients get it. One with a code of its
// own, such as that of a window that is too late, stays as it is.
func (r *run) explain(err error) error {
	if ship.CodeOf(err) != "" && len(ship.ErrorOf(err).Fields) == 0 {
		return err
	}
	return r.Accounts.Refusal([]carrier.Failure{{Carrier: r.carrier.Spec().Name, Err: asRequested(err)}}, false)
}

// asRequested points at the window of a pickup as requests have it: readyAt and closeAt
// are members of their own there.
func asRequested(err error) error {
	failure := *ship.ErrorOf(err)
	failure.Fields = slices.Clone(failure.Fields)
	for i := range failure.Fields {
		failure.Fields[i].Pointer = strings.TrimPrefix(failure.Fields[i].Pointer, "/window")
	}
	return &failure
}

// look looks it up.
func (r *run) look() effect.Report {
	err := r.find()
	switch ship.KindOf(err) {
	case "":
		return effect.Report{Result: effect.Found}
	case ship.NotFound:
		return effect.Report{Result: effect.Absent}
	case ship.Unsupported:
		return effect.Report{Result: effect.Cannot}
	}
	r.Log.Warn("look-up failed", "what", r.what, "id", r.id, "carrier", r.carrier.Spec().Name, "error", err)
	return effect.Report{Result: effect.Unsure}
}

// recordTries is how often an answer is written while the database does not
// respond: for some carriers it is the only one.
const recordTries = 5

// keep records what the carrier confirmed.
func (r *run) keep() (report effect.Report) {
	for try := range recordTries {
		if try > 0 {
			time.Sleep(time.Duration(try) * 200 * time.Millisecond)
		}
		if report = written(r.record()); report.Result != effect.Broken {
			return report
		}
	}
	r.Log.Error("a carrier's answer could not be recorded", "what", r.what, "id", r.id, "carrier", r.carrier.Spec().Name, "error", report.Err)
	return report
}

// withExchanges is ctx whose exchanges with the carrier are kept beside what they
// are about. Simulated carriers have none.
func (s *Service) withExchanges(ctx context.Context, t ship.Tenant, id ship.RawID, c *carrier.Carrier) context.Context {
	if s.Exchanged == nil || c.Simulated() {
		return ctx
	}
	return carrier.WithExchanges(ctx, func(x carrier.Exchange) { s.Exchanged(t, id, c.Connection, x) })
}

// answerInTime runs the machine, and reports false if it takes longer than a
// client should wait. The run goes on then.
func (s *Service) answerInTime(do func() effect.Verdict) (effect.Verdict, bool) {
	ended := make(chan effect.Verdict, 1)
	s.running.Go(func() { ended <- s.safely(do) })

	timer := time.NewTimer(s.Waits.Answer)
	defer timer.Stop()
	select {
	case v := <-ended:
		return v, true
	case <-timer.C:
		return effect.Verdict{Kind: effect.Waiting}, false
	}
}

// safely makes a panic a failure of our own side: the run's goroutine is not one of
// the HTTP server's, and must not end the process. A job goes on from what is written
// down.
func (s *Service) safely(do func() effect.Verdict) (verdict effect.Verdict) {
	defer func() {
		if cause := recover(); cause != nil {
			s.Log.Error("panic in a pickup or a manifest", "cause", cause, "stack", string(debug.Stack()))
			verdict = effect.Verdict{Kind: effect.Broke, Err: fmt.Errorf("panic: %v", cause)}
		}
	}()
	return do()
}

// FindOpen enqueues the job of every pickup, manifest and document that is still
// open when the job may look at it. Nearly all pickups and manifests end in the
// request that makes them, so none enqueues a job for itself.
func (s *Service) FindOpen(ctx context.Context) error {
	before := s.now().Add(-s.Waits.Settle)
	pickups, err := s.Store.OpenPickups(ctx, before)
	if err != nil {
		return err
	}
	manifests, err := s.Store.OpenManifests(ctx, before)
	if err != nil {
		return err
	}
	documents, err := s.Store.OpenSubmissions(ctx, before)
	if err != nil {
		return err
	}

	var jobs []store.Job
	for _, p := range pickups {
		jobs = append(jobs, job.SettlePickup{Account: p.Tenant.Account, Livemode: p.Tenant.Livemode, Pickup: p.ID})
	}
	for _, d := range documents {
		jobs = append(jobs, job.SendDocuments{Account: d.Tenant.Account, Livemode: d.Tenant.Livemode, Shipment: d.ID})
	}
	for _, m := range manifests {
		jobs = append(jobs, job.SettleManifest{Account: m.Tenant.Account, Livemode: m.Tenant.Livemode, Manifest: m.ID})
	}

	for some := range slices.Chunk(jobs, enqueuedAtOnce) {
		if err := around("find_open", func() error { return s.Store.EnqueueOnce(ctx, some) }); err != nil {
			return err
		}
	}
	return nil
}

// enqueuedAtOnce is how many jobs one statement stores.
const enqueuedAtOnce = 1000

// outcome turns the verdict of a job's run into after how long it runs again.
func (s *Service) outcome(v effect.Verdict) (time.Duration, error) {
	if v.Kind == effect.Broke {
		return s.Waits.Look, v.Err
	}
	return v.Again, nil
}

// unopened is the result of a job whose carrier account cannot be opened. After a
// day a person must decide.
func (s *Service) unopened(err error, e store.EffectState, createdAt time.Time, turn func(store.Turn) error) (time.Duration, error) {
	if s.now().Sub(createdAt) < s.Waits.Review {
		return s.Waits.Look, err
	}
	return s.Waits.Look, around("review_unopened", func() error {
		return turn(store.Turn{
			To:      effect.NeedsReview,
			Attempt: e.Attempt,
			Code:    "outcome_unknown",
			Message: "the carrier did not answer, and its account cannot be used any more: " + ship.ErrorOf(err).Message,
		})
	})
}

// openOf is an effect as the machine takes it.
func openOf(e store.EffectState, createdAt time.Time) effect.Open {
	return effect.Open{
		State:     e.State,
		Attempt:   e.Attempt,
		CreatedAt: createdAt,
		StartedAt: e.StartedAt,
		MissedAt:  e.MissedAt,
	}
}

// placeOf returns what makes two addresses the same place for a driver: not who
// the contact is.
func placeOf(a ship.Address) string {
	fields := []string{a.Country, a.Zip, a.State, a.City, a.Address1, a.Address2, a.Address3}
	return strings.ToUpper(strings.Join(fields, "\n"))
}
