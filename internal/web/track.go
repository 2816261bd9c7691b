package web

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/waybillhq/waybill/internal/account"
	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/ship"
)

// trackRoutes are what recipients see. They sign in nowhere: the address is
// all they have, so it shows no more than they know.
func (s *Web) trackRoutes() []route {
	return []route{
		open(route{method: http.MethodGet, path: "/track/{token}", handle: s.track}),
		open(route{method: http.MethodGet, path: "/track/{token}/logo/{hash}", handle: s.trackLogo}),
		open(route{method: http.MethodGet, path: "/track/", handle: func(v *visit) error { return v.noParcel(http.StatusNotFound, "missing") }}),
	}
}

// How often one address may ask for tracking pages, a second and at once. A
// page asks again by itself every minute; a family or an office shares one
// address.
const (
	trackRate  = 5
	trackBurst = 100
)

// trackView is the public page of one parcel. It holds nothing that the page
// may not show: no name, no street, no postal code, no order, no price.
type trackView struct {
	tongue
	Path     string
	Sender   string
	Logo     account.Logo
	Test     bool
	Status   string // a text's name
	Bad      bool
	Reason   string
	Estimate string
	Done     string // when it was delivered
	To       string
	Carrier  string
	Numbers  []string
	Steps    []milestone
	Scans    []trackScan
	Checked  trackMoment
}

// A trackScan is one line of the timeline.
type trackScan struct {
	Class                 string // of the dot
	Status, Reason, Place string
	At                    trackMoment
	Parcel                string // "Parcel 2" where there are several
}

// T is a text of the page's language.
func (l tongue) T(name string) string { return l.Texts[name] }

// why is what a reason means to the recipient, "" if that is not told.
func (l tongue) why(reason string) string { return l.Texts[whys[reason]] }

// tongueOf is the language of the address, else the first that the browser
// asks for and that is here, else English.
func tongueOf(r *http.Request) tongue {
	wanted := []string{r.URL.Query().Get("lang")}
	type asked struct {
		tag  string
		rank float64
	}
	var list []asked
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		rank := 1.0
		if n, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(q), "q="), 64); err == nil {
			rank = n
		}
		if len(list) < 20 && rank > 0 {
			list = append(list, asked{tag, rank})
		}
	}
	slices.SortStableFunc(list, func(a, b asked) int { return cmp.Compare(b.rank, a.rank) })
	for _, a := range list {
		wanted = append(wanted, a.tag)
	}
	for _, tag := range wanted {
		if l, ok := tongueFor(tag); ok {
			return l
		}
	}
	return tongues[0]
}

// tongueFor is the language of a tag. English is written in the American way
// there, and in the British way everywhere else that says where.
func tongueFor(tag string) (tongue, bool) {
	base, region, _ := strings.Cut(strings.ToLower(tag), "-")
	if base == "en" && region != "" && region != "us" && region != "ca" {
		base = "en-gb"
	}
	for _, l := range tongues {
		if strings.ToLower(l.Code) == base {
			return l, true
		}
	}
	return tongue{}, false
}

// recipientHeaders are those of pages that strangers see.
func (v *visit) recipientHeaders() {
	h := v.w.Header()
	h.Set("Referrer-Policy", "no-referrer") // the address is the secret
	h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	h.Set("Cache-Control", "private, no-cache")
	h.Set("Vary", "Accept-Language")
}

// trackSource is what requests are counted by: the address; of IPv6, the
// network that one subscriber has.
func (v *visit) trackSource() string {
	a := httpkit.ClientAddr(v.r, v.TrustedProxies)
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			a = p.Addr()
		}
	}
	if a == (netip.Addr{}) {
		return ""
	}
	return a.String()
}

// parcelOf reads the parcel of the address.
func (v *visit) parcelOf() (shipmentView, ship.Account, error) {
	v.recipientHeaders()
	var p shipmentView
	if err := v.tracks.Admit(v.w.Header(), v.trackSource()); err != nil {
		return p, ship.Account{}, err
	}
	t, id, err := v.Tracking.PageOf(v.r.PathValue("token"))
	if err != nil {
		return p, ship.Account{}, err
	}
	if p.Shipment, err = v.Shipping.Shipment(v.ctx(), t, id); err != nil {
		return p, ship.Account{}, err
	}
	if p.Tracked, err = v.Tracking.Track(v.ctx(), t, string(id), ""); err != nil {
		return p, ship.Account{}, err
	}
	owner, err := v.Account.Account(v.ctx(), t.Account)
	return p, owner, err
}

// track handles GET /track/{token}.
func (s *Web) track(v *visit) error {
	p, owner, err := v.parcelOf()
	if err != nil {
		return v.noParcelFor(err)
	}
	logo, err := s.Account.Logo(v.ctx(), owner.ID)
	if err != nil {
		return v.noParcelFor(err)
	}
	return v.showTagged(trackPage(trackViewOf(tongueOf(v.r), v.r.URL.Path, p, owner.Name, logo)))
}

// showTagged answers with a page, or says that the reader has it already.
func (v *visit) showTagged(c templ.Component) error {
	var b strings.Builder
	if err := c.Render(v.ctx(), &b); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(b.String()))
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	h := v.w.Header()
	h.Set("ETag", tag)
	if v.r.Header.Get("If-None-Match") == tag {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	v.w.Write([]byte(b.String())) // the reader may have left
	return nil
}

// noParcelFor says in the reader's language why there is nothing to see. What
// is not there and what never was look the same.
func (v *visit) noParcelFor(err error) error {
	switch ship.KindOf(err) {
	case ship.NotFound:
		return v.noParcel(http.StatusNotFound, "missing")
	case ship.Limited:
		v.w.Header().Set("Retry-After", "60")
		return v.noParcel(http.StatusTooManyRequests, "busy")
	}
	// What failed here is no concern of the recipient, and the page of the
	// dashboard would show it.
	v.Log.ErrorContext(v.ctx(), "tracking page", "error", err)
	v.w.Header().Set("Retry-After", "60")
	return v.noParcel(http.StatusServiceUnavailable, "later")
}

func (v *visit) noParcel(status int, text string) error {
	v.recipientHeaders()
	return v.show(status, noParcelPage(tongueOf(v.r), text))
}

// trackLogo handles GET /track/{token}/logo/{hash}.
func (s *Web) trackLogo(v *visit) error {
	_, owner, err := v.parcelOf()
	if err != nil {
		return v.noParcelFor(err)
	}
	if err := v.showLogo(owner.ID); err != nil {
		return v.noParcelFor(err)
	}
	return nil
}

// showLogo answers with the picture whose hash is in the address.
func (v *visit) showLogo(id ship.AccountID) error {
	l, err := v.Account.LogoPicture(v.ctx(), id, v.r.PathValue("hash"))
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", "image/png")
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("Content-Length", strconv.Itoa(len(l.Picture)))
	v.w.Write(l.Picture) // the reader may have left
	return nil
}
