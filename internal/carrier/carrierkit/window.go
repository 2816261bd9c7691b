package carrierkit

import "time"

// window counts events in a sliding period with the precision of a slot: never
// less than the exact period, and at most one slot more.
type window struct {
	start  time.Time
	width  time.Duration // of a slot
	counts []int         // by number of the slot, modulo their count
	last   int64         // the newest slot
	total  int
}

// newWindow counts over the given span in so many slots, and one more for the
// slot that has only begun.
func newWindow(span time.Duration, slots int, now time.Time) *window {
	return &window{start: now, width: max(span/time.Duration(slots), 1), counts: make([]int, slots+1)}
}

// slot forgets what is past and returns the number of the present slot.
func (w *window) slot(now time.Time) int64 {
	n := max(int64(now.Sub(w.start)/w.width), w.last)
	for i := max(w.last+1, n-int64(len(w.counts))+1); i <= n; i++ {
		w.total -= *w.count(i)
		*w.count(i) = 0
	}
	w.last = n
	return n
}

func (w *window) count(slot int64) *int { return &w.counts[slot%int64(len(w.counts))] }

// add counts n now, and returns the slot for undo.
func (w *window) add(now time.Time, n int) int64 {
	slot := w.slot(now)
	*w.count(slot) += n
	w.total += n
	return slot
}

// undo removes one event that was counted in the slot.
func (w *window) undo(now time.Time, slot int64) {
	if w.slot(now)-slot < int64(len(w.counts)) {
		*w.count(slot)--
		w.total--
	}
}

func (w *window) sum(now time.Time) int {
	w.slot(now)
	return w.total
}

// fallsTo returns when the sum will have fallen to n if nothing is added.
func (w *window) fallsTo(now time.Time, n int) time.Time {
	newest := w.slot(now)
	left := w.total
	if left <= n {
		return now
	}

	size := int64(len(w.counts))
	for i := max(newest-size+1, 0); i <= newest; i++ {
		if left -= *w.count(i); left <= n {
			return w.start.Add(time.Duration(i+size) * w.width)
		}
	}
	return w.start.Add(time.Duration(newest+size) * w.width)
}
