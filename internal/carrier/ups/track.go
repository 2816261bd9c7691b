package ups

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/carrier"
	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// UPS tells of one number a call; so many are asked at once, and so many one
// after the other still end in time.
const (
	tracksAtOnce = 5
	trackBatch   = 10
)

// Track asks for each number. One that fails costs the others nothing: it has
// nothing in the answer, and is asked for again with the next poll. Only if no
// number at all is answered is there an error.
func (d *driver) Track(ctx context.Context, numbers []string) ([]carrier.Heard, error) {
	// UPS's test environment answers about its placeholder with samples of
	// other parcels.
	numbers = slices.DeleteFunc(slices.Clone(numbers), isPlaceholder)
	if len(numbers) == 0 {
		return nil, nil
	}

	answers := make([][]carrier.Heard, len(numbers))
	errs := make([]error, len(numbers))
	slots := make(chan struct{}, tracksAtOnce)
	var group sync.WaitGroup
	for i, number := range numbers {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			answers[i], errs[i] = d.trackOne(ctx, number)
		})
	}
	group.Wait()
	var heard []carrier.Heard
	var failed error
	answered := false
	for i := range numbers {
		heard = append(heard, answers[i]...)
		answered = answered || errs[i] == nil
		if failed == nil {
			failed = errs[i]
		}
	}
	if !answered {
		return nil, failed
	}
	return heard, nil
}

// trackOne asks for one number. UPS says in several ways that it does not know
// it (yet).
func (d *driver) trackOne(ctx context.Context, number string) ([]carrier.Heard, error) {
	a, known, err := d.trackNumber(ctx, "details", number)
	if err != nil || !known {
		return nil, err
	}
	return heardIn(a, number, time.Now()), nil
}

// trackNumber asks for a number: with "details" for its parcel, with
// "shipment/details" for all parcels of its shipment.
func (d *driver) trackNumber(ctx context.Context, what, number string) (a trackAnswer, known bool, _ error) {
	query := "?locale=en_US&returnSignature=false&returnMilestones=false&returnPOD=false"
	if what == "shipment/details" {
		query = "?locale=en_US&returnSignature=false&offset=0&count=50"
	}
	err := d.call(ctx, carrierkit.Call{
		Method: http.MethodGet,
		URL:    d.base + "/track/v1/" + what + "/" + url.PathEscape(number) + query,
	}, &a)
	known, err = trackingAnswer(a, err)
	return a, known, err
}

// trackingAnswer judges an answer of tracking: whether it knows what it was
// asked for, or why that is open.
func trackingAnswer(a trackAnswer, err error) (known bool, _ error) {
	switch {
	case refusedWith(err, codeNoTracking, codeBadNumber):
		return false, nil
	case ship.KindOf(err) == ship.NotFound && refusedWith(err, ""):
		// A bare 404 is of the address, and says nothing about the parcel.
		return false, as(ship.Unavailable, "UPS does not track at this address", err)
	case ship.KindOf(err) == ship.NotFound:
		return false, nil
	case err != nil:
		return false, err
	case !a.TrackResponse.there:
		return false, ship.Errorf(ship.Unavailable, "UPS sent no tracking answer")
	}
	return true, nil
}

// heardIn reads the answer about a number, which may hold the other parcels of
// its shipment.
func heardIn(a trackAnswer, asked string, now time.Time) (heard []carrier.Heard) {
	parcels := a.packages()
	for _, p := range parcels {
		number := strings.ToUpper(string(p.TrackingNumber))
		if len(parcels) == 1 || number == strings.ToUpper(asked) {
			number = asked // the only one has it under whichever of its numbers
		} else if !isNumber(number) {
			continue
		}
		heard = append(heard, p.heard(number, now)...)
	}
	return heard
}

// heard is what UPS tells of one parcel. An activity that cannot be read is
// left out.
func (p trackedPackage) heard(number string, now time.Time) (heard []carrier.Heard) {
	estimate := p.estimate()
	mail := strings.Contains(strings.ToLower(string(p.Service.is.Description)), "mail innovations")
	for _, raw := range p.Activity {
		var a activity
		if json.Unmarshal(raw, &a) != nil {
			continue
		}
		s := a.Status.is
		one := told{
			number:      number,
			mark:        mark{mail, cell(string(s.Type)), cell(string(s.Code)), statusCell(string(s.StatusCode))},
			description: string(s.Description),
			place:       a.Location.is.Address.is,
			moment: moment{
				date: string(a.Date), clock: string(a.Time),
				gmtDate: string(a.GMTDate), gmtClock: string(a.GMTTime), offset: string(a.GMTOffset),
			},
			estimate: estimate,
			raw:      raw,
		}
		if h, ok := one.heard(now); ok {
			heard = append(heard, h)
		}
	}
	return heard
}

// estimate is when the parcel is to arrive by the clocks of its destination,
// kept as if in UTC: the new day if there is one, else the first. A parcel that
// has arrived has none.
func (p trackedPackage) estimate() time.Time {
	days := map[word]word{}
	for _, d := range p.DeliveryDate {
		days[d.is.Type] = d.is.Date
	}
	if days["DEL"] != "" {
		return time.Time{}
	}
	for _, kind := range []word{"RDD", "SDD"} {
		if t, _, ok := wallClock(string(days[kind]), string(p.DeliveryTime.is.EndTime)); ok {
			return t
		}
	}
	return time.Time{}
}
