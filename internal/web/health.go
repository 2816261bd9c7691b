package web

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/journal"
)

// A callBar is one part of the day in a chart of calls.
type callBar struct {
	X, Y, Height          string
	FailedY, FailedHeight string // the part of it that failed
	Failed                bool
	Title                 string
}

// The chart of calls is drawn on a grid of its own.
const (
	callChartHeight = 60
	callBarStep     = 10
)

// callBars are the bars of a chart: each as high as its calls, the highest as
// the chart.
func callBars(h *journal.Health) []callBar {
	most := 1
	for _, p := range h.Parts {
		most = max(most, p.Calls)
	}
	n := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }
	scale := float64(callChartHeight) / float64(most)
	list := make([]callBar, len(h.Parts))
	for i, p := range h.Parts {
		high, failed := float64(p.Calls)*scale, float64(p.Failed)*scale
		if p.Failed > 0 {
			failed = max(failed, 3) // one failure among thousands is still to be seen
		}
		at := h.Begin.Add(time.Duration(i) * h.Part)
		list[i] = callBar{
			X: strconv.Itoa(i * callBarStep), Y: n(callChartHeight - high), Height: n(high),
			FailedY: n(callChartHeight - failed), FailedHeight: n(failed), Failed: p.Failed > 0,
			Title: at.UTC().Format("15:04") + " UTC: " + strconv.Itoa(p.Calls) + " calls, " + strconv.Itoa(p.Failed) + " failed",
		}
	}
	return list
}

// portion is a part of a whole in words.
func portion(part, whole int) string {
	switch {
	case whole == 0 || part == 0:
		return "0 %"
	case part*1000 < whole:
		return "< 0.1 %"
	}
	return strconv.FormatFloat(100*float64(part)/float64(whole), 'f', 1, 64) + " %"
}

// breakerWord says whether calls are let through.
func breakerWord(state string) (word, class string) {
	switch state {
	case "open":
		return "Left alone", "badge badge-fail"
	case "half-open":
		return "Being tried", "badge badge-warn"
	case "closed":
		return "Let through", "badge badge-ok"
	}
	return "Not asked here", "badge"
}

// amiss are the findings that need somebody, in the words of this page.
func amiss(list []account.Finding) []account.Finding {
	list = slices.DeleteFunc(slices.Clone(list), func(f account.Finding) bool { return f.Level == account.LevelOK })
	for i := range list {
		list[i].Advice = advice(list[i].Advice)
	}
	return list
}

// commands are what the doctor advises people to type where there is no page.
var commands = regexp.MustCompile(`:? ?\(?waybill connection [a-z]+( con_[0-9A-Za-z]+)?\)?`)

// advice is the doctor's, for somebody before the page.
func advice(s string) string {
	s = commands.ReplaceAllString(s, "")
	s = strings.NewReplacer("add it without --live", "connect it in test mode", "add it with --live", "connect it in live mode").Replace(s)
	return sentence(strings.TrimSpace(s))
}
