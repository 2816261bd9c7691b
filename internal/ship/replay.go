package ship

import "slices"

// A Meaning says what a carrier's code means by its status table; known is
// false if the table does not list it. A known code may have no status: it
// changes nothing.
type Meaning func(code string) (status Status, reason string, known bool)

// Reread is the scan by what its code means now, and whether that differs. A
// code that the table does not know keeps the meaning it has: a table that
// forgets is not a better one.
func (s Scan) Reread(meaning Meaning) (Scan, bool) {
	if s.own() {
		return s, false
	}
	status, reason, known := meaning(s.Code)
	if !known || status == s.Status && reason == s.Reason {
		return s, false
	}
	s.Told = s.Told || s.Status != ""
	s.Status, s.Reason = status, reason
	return s, true
}

// Reread runs a better table over all that is known of a parcel. It returns
// the scans whose meaning changes, and one log event for each that has a status
// for the first time. What the client was told of before is put right without
// another event. The progress after it is what the table would have led to from
// the start.
func (j *Journey) Reread(known []Scan, meaning Meaning, t Telling) (changed []Scan, events []Event) {
	all := slices.Clone(known)
	var untold []Scan
	for i, s := range known {
		switch now, differs := s.Reread(meaning); {
		case !differs:
		case now.Status != "" && !now.Told:
			untold = append(untold, now)
		default:
			all[i] = now
			changed = append(changed, now)
		}
	}
	if len(changed) > 0 {
		// First, so that the events below tell of the progress put right.
		j.Progress = Advance(j.Progress, all, j.Pieces)
	}
	fresh, events := j.Hear(all, untold, t)
	return append(changed, fresh...), events
}
