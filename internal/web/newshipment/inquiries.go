package newshipment

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/inquiry"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/web/parts"
	"github.com/waybillhq/waybill/internal/web/site"
)

// inquiryTime is how long the form waits for service points or duties.
const inquiryTime = 10 * time.Second

// shownPoints is how many service points the form offers.
const shownPoints = 8

// getPoints handles POST /app/{account}/{mode}/shipments/points: the service points
// near the recipient, to choose from.
func getPoints(v *site.Visit) error {
	page := ReadForm(v)
	ctx, cancel := context.WithTimeout(v.Context(), inquiryTime)
	defer cancel()

	to := page.Order.Destination
	found, err := v.Inquiry.Points(ctx, inquiry.PointsInput{
		Tenant: v.Tenant(),
		Query:  ship.PointQuery{Country: to.Country, Zip: to.Zip, City: to.City, Limit: shownPoints},
	})
	reason, fixable := site.ProblemsOf(err)
	if err != nil && !fixable {
		return err
	}
	switch {
	case len(reason.Fields) > 0:
		page.PointProblem = "Enter the recipient's postal code or city first."
	case err != nil:
		page.PointProblem = reason.All
	case len(found.Points) == 0:
		page.PointProblem = "No service points were found near the recipient. Check the postal code, or enter the carrier's id of a service point."
	}
	page.Points = found.Points
	return v.Show(http.StatusOK, servicePointField(v.Frame("", ""), page))
}

// hasPoint reports whether one of the points that were found has the id.
func (p Form) hasPoint(id string) bool {
	return slices.ContainsFunc(p.Points, func(point inquiry.Point) bool { return point.ID == id })
}

// pointFacts say where a service point is.
func pointFacts(point inquiry.Point, unit ship.LengthUnit) string {
	facts := []string{parts.CarrierTitle(point.Carrier), strings.TrimSpace(point.Address.Address1 + ", " + point.Address.City)}
	if point.DistanceM >= 0 {
		facts = append(facts, distance(point.DistanceM, unit))
	}
	return strings.Join(facts, " · ")
}

// distance writes metres in miles for those who measure in inches.
func distance(metres int64, unit ship.LengthUnit) string {
	if unit == ship.Inch {
		return fmt.Sprintf("%.1f mi", float64(metres)/1609.344)
	}
	return fmt.Sprintf("%.1f km", float64(metres)/1000)
}

// pointHours are the opening hours of a service point, days with the same hours
// together: "Mon-Fri 09:00-18:00, Sat 09:00-13:00".
func pointHours(hours []ship.PointHours) string {
	var spans []string
	for i := 0; i < len(hours); {
		last := i
		for last+1 < len(hours) && hours[last+1].Open == hours[i].Open && hours[last+1].Close == hours[i].Close {
			last++
		}
		days := shortDay(hours[i].Day)
		if last > i {
			days += "–" + shortDay(hours[last].Day)
		}
		spans = append(spans, days+" "+hours[i].Open+"–"+hours[i].Close)
		i = last + 1
	}
	return strings.Join(spans, ", ")
}

func shortDay(day string) string {
	if len(day) < 3 {
		return day
	}
	return strings.ToUpper(day[:1]) + day[1:3]
}

// getDuties handles POST /app/{account}/{mode}/shipments/duties: what customs will
// ask for. It says nothing while the form is incomplete.
func getDuties(v *site.Visit) error {
	page := ReadForm(v)
	if !page.Abroad || page.Order.Customs == nil || len(page.Unread) > 0 {
		return v.Show(http.StatusOK, dutyList(inquiry.Duties{}, ""))
	}

	ctx, cancel := context.WithTimeout(v.Context(), inquiryTime)
	defer cancel()
	duties, err := v.Inquiry.Duties(ctx, inquiry.DutiesInput{
		Tenant:    v.Tenant(),
		Account:   v.Who.Account,
		Order:     page.Order,
		OneParcel: len(page.Order.Parcels) == 1,
	})
	reason, fixable := site.ProblemsOf(err)
	if err != nil && !fixable {
		return err
	}

	// Problems of the form are beside its fields already; that no carrier
	// estimates duties is no problem.
	problem := ""
	if ship.CodeOf(err) == "carrier_unavailable" {
		problem = reason.All
	}
	return v.Show(http.StatusOK, dutyList(duties, problem))
}

// chargeName names a charge: in the carrier's words, or ours.
func chargeName(charge ship.LandedCharge) string {
	return cmp.Or(charge.Name, parts.Plain(charge.Type))
}
