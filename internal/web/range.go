package web

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/shipping"
)

// ranges are the usual ones, in days.
var ranges = []int{7, 30, 90, 365}

// longestRange bounds what a person asks for.
const longestRange = 731

// A dayRange is some whole days, UTC.
type dayRange struct {
	From, Until time.Time // both are in it
	Preset      int       // one of ranges; zero for days that a person chose
	Wrong       string    // what is wrong with those, if anything
}

func (r dayRange) end() time.Time { return r.Until.AddDate(0, 0, 1) }

// Days is how many there are.
func (r dayRange) Days() int { return int(r.end().Sub(r.From).Hours()) / 24 }

// rangeOf reads a range as an address holds it. Without one it is the last 30
// days.
func rangeOf(days, from, until string, now time.Time) dayRange {
	today := now.UTC().Truncate(24 * time.Hour)
	r := dayRange{Until: today, Preset: 30}
	if n, err := strconv.Atoi(days); err == nil && slices.Contains(ranges, n) {
		r.Preset = n
	}
	r.From = today.AddDate(0, 0, 1-r.Preset)
	if from == "" && until == "" {
		return r
	}
	first, errFrom := time.Parse(time.DateOnly, from)
	last, errUntil := time.Parse(time.DateOnly, until)
	switch {
	case errFrom != nil || errUntil != nil:
		r.Wrong = "Give both days."
	case last.Before(first):
		r.Wrong = "The last day is before the first."
	case last.Sub(first) >= longestRange*24*time.Hour:
		r.Wrong = "At most two years at once."
	default:
		return dayRange{From: first, Until: last}
	}
	return r
}

// query is the range as an address holds it.
func (r dayRange) query() string {
	if r.Preset > 0 {
		return "?days=" + strconv.Itoa(r.Preset)
	}
	return "?" + url.Values{"from": {r.From.Format(time.DateOnly)}, "until": {r.Until.Format(time.DateOnly)}}.Encode()
}

// list is the filter of a list to the range, with more.
func (r dayRange) list(more ...string) string { return daysQuery(r.From, r.Until, more...) }

func daysQuery(from, until time.Time, more ...string) string {
	q := url.Values{"from": {from.Format(time.DateOnly)}, "until": {until.Format(time.DateOnly)}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return "?" + q.Encode()
}

// Words is the range for people.
func (r dayRange) Words() string {
	if r.Preset > 0 {
		return "in the last " + strconv.Itoa(r.Preset) + " days"
	}
	return r.From.Format("2 Jan 2006") + " to " + r.Until.Format("2 Jan 2006")
}

// chosen reports whether a person gave the days, or tried to.
func (r dayRange) chosen() bool { return r.Preset == 0 || r.Wrong != "" }

// beside says what the numbers of the range are compared with.
func (r dayRange) beside() string {
	n := strconv.Itoa(r.Days()) + " days"
	if r.Days() == 1 {
		n = "day"
	}
	if r.Preset > 0 {
		return "The last " + n + ", beside the " + n + " before."
	}
	return r.Words() + ", beside the " + n + " before."
}

// nothing says that there is nothing.
func (r dayRange) nothing() string {
	if r.Preset > 0 {
		return "Nothing was shipped yet"
	}
	return "Nothing was shipped on these days"
}

// A chart is shipments and spend over the days of a range.
type chart struct {
	Title string
	Bars  []dayBar
	Most  string // the highest bar's number
}

// A dayBar is one day or week of the chart, in its own measure.
type dayBar struct {
	X, Y, Height, Width string
	Title, Class        string
	List                string // filter of the list behind it
}

// The chart's own measure.
const chartWidth, chartHeight = 600.0, 120.0

// weekly is from how many days on a bar is a week.
const weekly = 93

func draw(r dayRange, days []shipping.DayCount) chart {
	c, span := chart{Title: "Shipments per day"}, 1
	if r.Days() > weekly {
		c.Title, span = "Shipments per week", 7
	}
	bars := make([]int, (r.Days()+span-1)/span)
	most := 1
	for _, a := range days {
		i := int(a.Day.Sub(r.From).Hours()) / 24 / span
		bars[i] += a.Count
		most = max(most, bars[i])
	}
	c.Most = grouped(most)
	step := chartWidth / float64(len(bars))
	f := func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }
	for i, n := range bars {
		first := r.From.AddDate(0, 0, i*span)
		last := first.AddDate(0, 0, span-1)
		if last.After(r.Until) {
			last = r.Until
		}
		h, class := float64(n)/float64(most)*(chartHeight-10), ""
		if n == 0 {
			h, class = 1.5, "under"
		}
		title := first.Format("2 Jan")
		if last.After(first) {
			title += " to " + last.Format("2 Jan")
		}
		c.Bars = append(c.Bars, dayBar{
			X: f(float64(i)*step + step*0.12), Y: f(chartHeight - h), Height: f(h), Width: f(step * 0.76),
			Title: title + ": " + grouped(n), Class: class, List: daysQuery(first, last, "status", activeFilter),
		})
	}
	return c
}

// grouped is a number with its thousands apart.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// rangeTitle is the name of a usual range.
func rangeTitle(days int) string {
	if days == 365 {
		return "Year"
	}
	return strconv.Itoa(days) + " days"
}

// tabIndex keeps long charts out of the way of the keyboard: the days beside
// them lead to the same lists.
func (c chart) tabIndex() string {
	if len(c.Bars) > 31 {
		return "-1"
	}
	return "0"
}

// paceWords is a time that something took.
func paceWords(d time.Duration) string {
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}
