package ship

import (
	"cmp"
	"slices"
	"time"
)

// A Scan is one tracking event of one piece: what a carrier reported, or what the
// service itself knows (created, label generated, purchase failed).
type Scan struct {
	Piece       int // from 0
	Code        string
	At          time.Time
	Status      Status // empty while the mapping does not know the code
	Reason      string
	Description string
	Location    string // empty when no place is known
	ZoneUnknown bool   // At is the place's own clock read as UTC: the carrier named no zone
	Notified    bool   // clients got an event for it under another status, and get no second one
}

// A ScanKey identifies a scan: repeats have the same key.
type ScanKey struct {
	Piece int
	Code  string
	At    int64 // Unix seconds
}

// Key is the scan's key.
func (s Scan) Key() ScanKey { return ScanKey{s.Piece, s.Code, s.At.Unix()} }

// Codes of the scans that the service itself makes. A carrier's code never
// begins with a dot. Their times are whole seconds like a carrier's, so that
// within a second the further status is the newer one.
const (
	codeCreated = ".created"
	codeLabel   = ".label_generated"
	codeFailed  = ".purchase_failed"
)

// toSecond returns t in UTC to the second, as ScanKey has it.
func toSecond(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// isOwn reports whether the service itself made the scan.
func (s Scan) isOwn() bool { return len(s.Code) > 0 && s.Code[0] == '.' }

// CreatedScan is the first event of a shipment's timeline.
func CreatedScan(at time.Time) Scan {
	return Scan{
		Code:        codeCreated,
		At:          toSecond(at),
		Status:      Created,
		Description: "Shipment created",
	}
}

// LabelScan is the event of a label that was stored.
func LabelScan(at time.Time) Scan {
	return Scan{
		Code:        codeLabel,
		At:          toSecond(at),
		Status:      LabelGenerated,
		Description: "Label generated",
	}
}

// FailedScan is the event of a purchase that did not, or may not, succeed.
func FailedScan(at time.Time, reason string) Scan {
	text := "The label could not be purchased"
	if reason == ReasonPurchaseUnconfirmed {
		text = "The carrier could not confirm the purchase; it is under review"
	}
	return Scan{
		Code:        codeFailed,
		At:          toSecond(at),
		Status:      Exception,
		Reason:      reason,
		Description: text,
	}
}

// OwnScans returns the events that follow from the shipment itself. They are not
// stored: they are a function of it.
func (s Shipment) OwnScans() []Scan {
	if s.Sequence == 0 {
		return nil
	}
	scans := []Scan{CreatedScan(s.CreatedAt())}
	if !s.Purchase.BoughtAt.IsZero() {
		scans = append(scans, LabelScan(s.Purchase.BoughtAt))
	}
	return scans
}

// Timeline sorts scans newest first, ties by the further status, drops
// repeats (the first reported stays), and gives each scan that the mapping does
// not know the status of the next older one that it does.
func Timeline(scans []Scan) []Scan {
	line := distinct(scans)
	slices.SortFunc(line, newestFirst)

	for i := len(line) - 2; i >= 0; i-- {
		if line[i].Status == "" {
			line[i].Status = line[i+1].Status
		}
	}

	// Nothing older is known of the oldest ones: the parcel merely exists.
	for i := len(line) - 1; i >= 0 && line[i].Status == ""; i-- {
		line[i].Status = Created
	}
	return line
}

// distinct drops repeats: the first reported stays, with the status of the first
// that has one.
func distinct(scans []Scan) []Scan {
	list := make([]Scan, 0, len(scans))
	seen := make(map[ScanKey]int, len(scans)) // where each is in the list
	for _, scan := range scans {
		scan.At = toSecond(scan.At)
		i, isRepeat := seen[scan.Key()]
		switch {
		case !isRepeat:
			seen[scan.Key()] = len(list)
			list = append(list, scan)
		case list[i].Status == "":
			list[i].Status = scan.Status
			list[i].Reason = scan.Reason
		}
	}
	return list
}

// newestFirst orders scans for the timeline; it is total over distinct keys,
// so that any order of arrival gives the same timeline.
func newestFirst(a, b Scan) int {
	return cmp.Or(
		cmp.Compare(b.At.Unix(), a.At.Unix()),
		cmp.Compare(b.Status.Rank(), a.Status.Rank()),
		cmp.Compare(a.Piece, b.Piece),
		cmp.Compare(a.Code, b.Code),
	)
}

// Advance returns the progress of a parcel of n pieces after all its scans: a
// function of their set, whatever their order and however often repeated. The
// parcel has the status of the piece that is least far, but an exception of any
// piece is the parcel's. The parcel is not a return shipment; see TrackingState.
func Advance(p Progress, scans []Scan, n int) Progress { return advance(p, scans, n, false) }

// advance is Advance for any parcel.
func advance(p Progress, scans []Scan, n int, isReturn bool) Progress {
	p.Pieces = make([]Status, max(n, 1))
	p.Status = ""
	p.Reason = ""
	for i := range p.Pieces {
		status, reason := pieceStatus(scans, i, isReturn)
		p.Pieces[i] = status

		isFirst := p.Status == ""
		isWorse := p.Status != Exception && (status == Exception || status.Rank() < p.Status.Rank())
		if isFirst || isWorse {
			p.Status = status
			p.Reason = reason
		}
	}

	if n <= 1 {
		p.Pieces = nil
	}
	return p
}

// pieceStatus returns the status of one piece: delivered if it reached its
// recipient; else an exception if it was sent back; else that of the newest mapped
// carrier scan; else what the service itself knows.
func pieceStatus(scans []Scan, piece int, isReturn bool) (Status, string) {
	var newest, delivery, own Scan
	sentBack := sentBackAt(scans, isReturn)
	for _, scan := range scans {
		switch {
		case scan.Status == "":

		case scan.isOwn():
			// The service's own scans are about all pieces. A label outranks a
			// failed purchase, which outranks the mere creation.
			if order := cmp.Or(cmp.Compare(ownRank(scan), ownRank(own)), newestFirst(own, scan)); order > 0 {
				own = scan
			}

		case scan.Piece != piece:

		default:
			if newest.Status == "" || newestFirst(scan, newest) < 0 {
				newest = scan
			}
			if scan.isDelivery(sentBack) && (delivery.Status == "" || newestFirst(scan, delivery) < 0) {
				delivery = scan
			}
		}
	}

	_, isSentBack := sentBack[piece]
	switch {
	case delivery.Status != "":
		return delivery.Status, delivery.Reason
	case isSentBack:
		return Exception, ReasonReturnToSender
	case newest.Status != "":
		return newest.Status, newest.Reason
	case own.Status != "":
		return own.Status, own.Reason
	}
	return Created, ""
}

// sentBackAt returns by piece the second of the first scan that says that the
// piece goes back to its sender. A return shipment has none: its recipient is
// the sender, whatever the carrier calls that.
func sentBackAt(scans []Scan, isReturn bool) map[int]int64 {
	if isReturn {
		return nil
	}

	var first map[int]int64
	for _, scan := range scans {
		if scan.Status == "" || scan.Reason != ReasonReturnToSender {
			continue
		}
		at, isKnown := first[scan.Piece]
		if !isKnown {
			at = scan.At.Unix()
		}
		if first == nil {
			first = map[int]int64{}
		}
		first[scan.Piece] = min(at, scan.At.Unix())
	}
	return first
}

// isDelivery reports whether a piece reached its recipient by the scan. After it
// was sent back, a delivery is the one to its sender.
func (s Scan) isDelivery(sentBack map[int]int64) bool {
	at, isSentBack := sentBack[s.Piece]
	return s.Status == Delivered && s.Reason != ReasonReturnToSender && (!isSentBack || s.At.Unix() <= at)
}

// Deliveries returns the scans by which the pieces of a parcel reached its
// recipient, in the order given. A delivery to the sender after a return is none.
func Deliveries(scans []Scan, isReturn bool) []Scan {
	sentBack := sentBackAt(scans, isReturn)
	return slices.DeleteFunc(slices.Clone(scans), func(scan Scan) bool { return !scan.isDelivery(sentBack) })
}

func ownRank(s Scan) int {
	switch s.Status {
	case Created:
		return 1
	case Exception:
		return 2
	case LabelGenerated:
		return 3
	}
	return 0
}
