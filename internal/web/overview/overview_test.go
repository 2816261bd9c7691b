package overview

import (
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/shipping"
)

func TestAToneIsThatOfTheChange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		high, low int64
		want      string
	}{{89, 88, "better"}, {88, 89, "worse"}, {1402, 1401, ""}, {1402, 1300, "better"}, {0, 100, ""}, {100, 0, ""}, {7, 7, ""}} {
		if got := better(tc.high, tc.low); got != tc.want {
			t.Errorf("better(%d, %d) = %q, want %q", tc.high, tc.low, got, tc.want)
		}
	}
}

func TestNumbersAreComparedWithTheDaysBefore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		now, then int64
		want      string
	}{{10, 0, "none previously"}, {0, 0, "no change"}, {110, 100, "up 10 %"}, {50, 100, "down 50 %"}, {100, 100, "no change"}} {
		if got := against(tc.now, tc.then); got != tc.want {
			t.Errorf("against(%d, %d) = %q, want %q", tc.now, tc.then, got, tc.want)
		}
	}
	r := rangeOf("", "2026-01-01", "2026-06-30", time.Now())
	c := draw(r, []shipping.DayCount{{Day: r.From, Count: 3}, {Day: r.Until, Count: 1200}})
	if len(c.Bars) != 26 || c.Most != "1,200" || !strings.Contains(c.Bars[25].List, "until=2026-06-30") {
		t.Errorf("%d bars, most %s, the last %+v", len(c.Bars), c.Most, c.Bars[len(c.Bars)-1])
	}
}
