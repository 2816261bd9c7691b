package ship

import "slices"

// A CodeMeaning says what a carrier's code means by its status table; known is
// false if the table does not list it. A known code may have no status: it
// changes nothing.
type CodeMeaning func(code string) (status Status, reason string, known bool)

// Remap returns the scan by what its code means now, and whether that differs. A
// code that the table does not know keeps the meaning it has: a table that lost
// a code is not a better one.
func (s Scan) Remap(meaning CodeMeaning) (Scan, bool) {
	if s.isOwn() {
		return s, false
	}
	status, reason, known := meaning(s.Code)
	if !known || status == s.Status && reason == s.Reason {
		return s, false
	}

	s.Notified = s.Notified || s.Status != ""
	s.Status = status
	s.Reason = reason
	return s, true
}

// Remap applies a better table to all that is known of a parcel. It returns
// the scans whose meaning changes, and one log event for each that has a status
// for the first time. Scans that clients got an event for are corrected without
// another. The progress after it is what the table would have led to from the
// start.
func (j *TrackingState) Remap(known []Scan, meaning CodeMeaning, t EventContext) (changed []Scan, events []Event) {
	all := slices.Clone(known)
	var unannounced []Scan
	for i, scan := range known {
		now, differs := scan.Remap(meaning)
		switch {
		case !differs:
		case now.Status != "" && !now.Notified:
			unannounced = append(unannounced, now)
		default:
			all[i] = now
			changed = append(changed, now)
		}
	}

	// The corrections come first, so that the events below show the corrected
	// progress.
	if len(changed) > 0 {
		j.Progress = advance(j.Progress, all, j.Pieces, j.IsReturn)
	}
	fresh, events := j.Apply(all, unannounced, t)
	return append(changed, fresh...), events
}
