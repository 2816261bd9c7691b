package carriers

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/journal"
	"github.com/waybillhq/waybill/internal/web/parts"
)

// A callBar is the bar of one part of the day in a chart of calls.
type callBar struct {
	X, Y, Height          string
	FailedY, FailedHeight string // the part of it that failed
	Failed                bool
	Title                 string
}

// The chart of calls is drawn on a grid of this size.
const (
	callChartHeight = 60
	callBarStep     = 10
)

// callBars returns the bars of a chart of calls, scaled to the highest.
func callBars(health *journal.Health) []callBar {
	most := 1
	for _, part := range health.Parts {
		most = max(most, part.Calls)
	}
	scale := float64(callChartHeight) / float64(most)
	format := func(value float64) string { return strconv.FormatFloat(value, 'f', 1, 64) }

	list := make([]callBar, len(health.Parts))
	for i, part := range health.Parts {
		height := float64(part.Calls) * scale
		failed := float64(part.Failed) * scale
		if part.Failed > 0 {
			failed = max(failed, 3) // one failure among thousands must stay visible
		}

		start := health.Begin.Add(time.Duration(i) * health.Part)
		list[i] = callBar{
			X:            strconv.Itoa(i * callBarStep),
			Y:            format(callChartHeight - height),
			Height:       format(height),
			FailedY:      format(callChartHeight - failed),
			FailedHeight: format(failed),
			Failed:       part.Failed > 0,
			Title:        start.UTC().Format("15:04") + " UTC: " + strconv.Itoa(part.Calls) + " calls, " + strconv.Itoa(part.Failed) + " failed",
		}
	}
	return list
}

// portion formats a part of a whole in percent.
func portion(part, whole int) string {
	switch {
	case whole == 0 || part == 0:
		return "0 %"
	case part*1000 < whole:
		return "< 0.1 %"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

// breakerWord names the state of a connection's circuit breaker, with the class
// of its badge.
func breakerWord(state string) (word, class string) {
	switch state {
	case "open":
		return "Paused", "badge badge-fail"
	case "half-open":
		return "Testing", "badge badge-warn"
	case "closed":
		return "Normal", "badge badge-ok"
	}
	return "Not called by this process", "badge"
}

// actionable returns the findings that somebody must act on, worded for a page.
func actionable(findings []account.Finding) []account.Finding {
	list := slices.DeleteFunc(slices.Clone(findings), func(finding account.Finding) bool {
		return finding.Level == account.LevelOK
	})
	for i := range list {
		list[i].Advice = advice(list[i].Advice)
	}
	return list
}

// commands matches the commands that the advice of a check names for users of
// the command line.
var commands = regexp.MustCompile(`:? ?\(?waybill connection [a-z]+( con_[0-9A-Za-z]+)?\)?`)

// advice rewords the advice of a check, which is written for the command line,
// for a page.
func advice(text string) string {
	text = commands.ReplaceAllString(text, "")
	text = strings.NewReplacer(
		"add it without --live", "connect it in test mode",
		"add it with --live", "connect it in live mode",
	).Replace(text)
	return parts.Sentence(strings.TrimSpace(text))
}
