package overview

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/shipping"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// ranges are the presets, in days.
var ranges = []int{7, 30, 90, 365}

// longestRange is the longest range that can be asked for, in days.
const longestRange = 731

// A dayRange is a number of whole days in UTC.
type dayRange struct {
	From, Until time.Time // both inclusive
	Preset      int       // one of ranges; zero for a custom range
	Wrong       string    // what is wrong with a custom range, if anything
}

func (r dayRange) end() time.Time { return r.Until.AddDate(0, 0, 1) }

// Days returns the number of days.
func (r dayRange) Days() int { return int(r.end().Sub(r.From).Hours()) / 24 }

// rangeOf parses a range from the query. Without one it is the last 30 days.
func rangeOf(days, from, until string, now time.Time) dayRange {
	today := now.UTC().Truncate(24 * time.Hour)
	preset := dayRange{Until: today, Preset: 30}
	if n, err := strconv.Atoi(days); err == nil && slices.Contains(ranges, n) {
		preset.Preset = n
	}
	preset.From = today.AddDate(0, 0, 1-preset.Preset)
	if from == "" && until == "" {
		return preset
	}

	// A custom range that is invalid shows the preset, with the reason.
	first, errFrom := time.Parse(time.DateOnly, from)
	last, errUntil := time.Parse(time.DateOnly, until)
	switch {
	case errFrom != nil || errUntil != nil:
		preset.Wrong = "Enter both dates."
	case last.Before(first):
		preset.Wrong = "The end date must not be before the start date."
	case last.Sub(first) >= longestRange*24*time.Hour:
		preset.Wrong = "The range must not exceed two years."
	default:
		return dayRange{From: first, Until: last}
	}
	return preset
}

// query returns the range as a query of the page's address.
func (r dayRange) query() string {
	if r.Preset > 0 {
		return "?days=" + strconv.Itoa(r.Preset)
	}
	return "?" + url.Values{"from": {r.From.Format(time.DateOnly)}, "until": {r.Until.Format(time.DateOnly)}}.Encode()
}

// list returns the query that filters a list to the range, with further names
// and values.
func (r dayRange) list(more ...string) string { return daysQuery(r.From, r.Until, more...) }

func daysQuery(from, until time.Time, more ...string) string {
	query := url.Values{"from": {from.Format(time.DateOnly)}, "until": {until.Format(time.DateOnly)}}
	for i := 0; i+1 < len(more); i += 2 {
		query.Set(more[i], more[i+1])
	}
	return "?" + query.Encode()
}

// Words returns the range as text.
func (r dayRange) Words() string {
	if r.Preset > 0 {
		return "in the last " + strconv.Itoa(r.Preset) + " days"
	}
	return r.From.Format("2 Jan 2006") + " to " + r.Until.Format("2 Jan 2006")
}

// chosen reports whether the person entered a custom range, valid or not.
func (r dayRange) chosen() bool { return r.Preset == 0 || r.Wrong != "" }

// beside says what the numbers of the range are compared with.
func (r dayRange) beside() string {
	length := strconv.Itoa(r.Days()) + " days"
	if r.Days() == 1 {
		length = "day"
	}

	if r.Preset > 0 {
		return "The last " + length + ", compared with the previous " + length + "."
	}
	return r.Words() + ", compared with the previous " + length + "."
}

// nothing returns the heading of a page without shipments.
func (r dayRange) nothing() string {
	if r.Preset > 0 {
		return "No shipments yet"
	}
	return "No shipments in this period"
}

// A chart shows the shipments of a range by day or week.
type chart struct {
	Title string
	Bars  []dayBar
	Most  string // the highest bar's number
}

// A dayBar is one day or week of the chart, in the chart's own units.
type dayBar struct {
	X, Y, Height, Width string
	Title, Class        string
	List                string // query of the list that it links to
}

// The size of the chart in its own units.
const (
	chartWidth  = 600.0
	chartHeight = 120.0
)

// weekly is the number of days above which a bar is a week.
const weekly = 93

func draw(r dayRange, days []shipping.DayCount) chart {
	drawn := chart{Title: "Shipments per day"}
	span := 1
	if r.Days() > weekly {
		drawn.Title = "Shipments per week"
		span = 7
	}

	counts := make([]int, (r.Days()+span-1)/span)
	most := 1
	for _, day := range days {
		i := int(day.Day.Sub(r.From).Hours()) / 24 / span
		counts[i] += day.Count
		most = max(most, counts[i])
	}
	drawn.Most = parts.Grouped(most)

	step := chartWidth / float64(len(counts))
	units := func(n float64) string { return strconv.FormatFloat(n, 'f', 2, 64) }
	for i, count := range counts {
		// The last week can be shorter than seven days.
		first := r.From.AddDate(0, 0, i*span)
		last := first.AddDate(0, 0, span-1)
		if last.After(r.Until) {
			last = r.Until
		}
		title := first.Format("2 Jan")
		if last.After(first) {
			title += " to " + last.Format("2 Jan")
		}

		// A day without shipments keeps a thin bar.
		height := float64(count) / float64(most) * (chartHeight - 10)
		class := ""
		if count == 0 {
			height = 1.5
			class = "under"
		}

		drawn.Bars = append(drawn.Bars, dayBar{
			X:      units(float64(i)*step + step*0.12),
			Y:      units(chartHeight - height),
			Height: units(height),
			Width:  units(step * 0.76),
			Title:  title + ": " + parts.Grouped(count),
			Class:  class,
			List:   daysQuery(first, last, "status", parts.ActiveFilter),
		})
	}
	return drawn
}

// rangeTitle returns the name of a preset.
func rangeTitle(days int) string {
	if days == 365 {
		return "Year"
	}
	return strconv.Itoa(days) + " days"
}

// tabIndex keeps long charts out of the keyboard's tab order: the date filter
// beside them leads to the same lists.
func (c chart) tabIndex() string {
	if len(c.Bars) > 31 {
		return "-1"
	}
	return "0"
}

// paceWords returns a duration as text.
func paceWords(took time.Duration) string {
	if took < time.Second {
		return strconv.FormatInt(took.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(took.Seconds(), 'f', 1, 64) + " s"
}
