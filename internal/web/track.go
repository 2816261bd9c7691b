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

// trackRoutes are the pages for recipients. They do not sign in: the address is
// all they have, so a page shows no more than they already know.
func (s *Web) trackRoutes() []route {
	pages := trackPages{limiter: httpkit.NewLimiter(trackRate, trackBurst)}
	missing := func(v *visit) error { return v.noParcel(http.StatusNotFound, "missing") }
	return []route{
		open(get("/track/{token}", "", pages.show)),
		open(get("/track/{token}/logo/{hash}", "", pages.logo)),
		open(get("/track/", "", missing)),
	}
}

// How often one address may ask for tracking pages, a second and at once. A
// page asks again by itself every minute; a family or an office shares one
// address.
const (
	trackRate  = 5
	trackBurst = 100
)

// trackPages are the public pages; one limiter counts for all of them.
type trackPages struct {
	limiter *httpkit.Limiter // by client address
}

// trackView is the public page of one parcel. It holds nothing that the page
// may not show: no name, no street, no postal code, no order, no price.
type trackView struct {
	tongue
	Path     string
	Sender   string
	Logo     account.Logo
	Test     bool
	Status   string // name of a text
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

// T returns a text in the page's language.
func (l tongue) T(name string) string { return l.Texts[name] }

// why explains a reason to the recipient; "" if it is not for them.
func (l tongue) why(reason string) string { return l.Texts[reasonTexts[reason]] }

// tongueOf returns the language that the address names, else the first
// available one that the browser accepts, else English.
func tongueOf(r *http.Request) tongue {
	type preference struct {
		tag  string
		rank float64
	}
	var accepted []preference
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		rank := 1.0
		if n, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(quality), "q="), 64); err == nil {
			rank = n
		}
		if len(accepted) < 20 && rank > 0 { // anybody can send a header of any length
			accepted = append(accepted, preference{tag, rank})
		}
	}
	slices.SortStableFunc(accepted, func(a, b preference) int { return cmp.Compare(b.rank, a.rank) })

	tags := []string{r.URL.Query().Get("lang")}
	for _, language := range accepted {
		tags = append(tags, language.tag)
	}
	for _, tag := range tags {
		if found, ok := tongueFor(tag); ok {
			return found
		}
	}
	return tongues[0]
}

// tongueFor returns the language of a tag. English is American in the United
// States and Canada and where no region is given, and British elsewhere.
func tongueFor(tag string) (tongue, bool) {
	base, region, _ := strings.Cut(strings.ToLower(tag), "-")
	if base == "en" && region != "" && region != "us" && region != "ca" {
		base = "en-gb"
	}

	for _, known := range tongues {
		if strings.ToLower(known.Code) == base {
			return known, true
		}
	}
	return tongue{}, false
}

// recipientHeaders sets the headers of pages that strangers see.
func (v *visit) recipientHeaders() {
	header := v.w.Header()
	header.Set("Referrer-Policy", "no-referrer") // the address is the secret
	header.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	header.Set("Cache-Control", "private, no-cache")
	header.Set("Vary", "Accept-Language")
}

// rateLimitKey returns what requests for tracking pages are counted by: the
// client's address; for IPv6 the /64 network that one subscriber has.
func (v *visit) rateLimitKey() string {
	address := httpkit.ClientAddr(v.r, v.TrustedProxies)
	if address.Is6() {
		if network, err := address.Prefix(64); err == nil {
			address = network.Addr()
		}
	}

	if address == (netip.Addr{}) {
		return ""
	}
	return address.String()
}

// parcelOf reads the parcel that the address names, and the account that sent
// it.
func (p trackPages) parcelOf(v *visit) (page trackedShipment, sender ship.Account, err error) {
	v.recipientHeaders()

	// The limit comes before the token is looked at, so it also slows down
	// somebody who tries tokens.
	if err := p.limiter.Admit(v.w.Header(), v.rateLimitKey()); err != nil {
		return page, sender, err
	}
	tenant, id, err := v.Tracking.PageOf(v.r.PathValue("token"))
	if err != nil {
		return page, sender, err
	}

	if page.Shipment, err = v.Shipping.Shipment(v.ctx(), tenant, id); err != nil {
		return page, sender, err
	}
	if page.Tracked, err = v.Tracking.Track(v.ctx(), tenant, string(id), ""); err != nil {
		return page, sender, err
	}
	sender, err = v.Account.Account(v.ctx(), tenant.Account)
	return page, sender, err
}

// show handles GET /track/{token}.
func (p trackPages) show(v *visit) error {
	shipment, sender, err := p.parcelOf(v)
	if err != nil {
		return v.noParcelFor(err)
	}
	logo, err := v.Account.Logo(v.ctx(), sender.ID)
	if err != nil {
		return v.noParcelFor(err)
	}
	return v.showTagged(trackPage(trackViewOf(tongueOf(v.r), v.r.URL.Path, shipment, sender.Name, logo)))
}

// showTagged answers with a page and its ETag, or with 304 if the reader has it
// already.
func (v *visit) showTagged(page templ.Component) error {
	var body strings.Builder
	if err := page.Render(v.ctx(), &body); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(body.String()))
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`

	// An open page asks again every minute, and most times nothing has changed.
	header := v.w.Header()
	header.Set("ETag", tag)
	if v.r.Header.Get("If-None-Match") == tag {
		v.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	v.w.Write([]byte(body.String())) // the reader may have left
	return nil
}

// noParcelFor explains in the reader's language why there is nothing to see. A
// parcel that is gone and one that never existed look the same.
func (v *visit) noParcelFor(err error) error {
	switch ship.KindOf(err) {
	case ship.NotFound:
		return v.noParcel(http.StatusNotFound, "missing")
	case ship.Limited:
		v.w.Header().Set("Retry-After", "60")
		return v.noParcel(http.StatusTooManyRequests, "busy")
	}

	// The dashboard's error page would show what failed, which is not for
	// recipients.
	v.Log.ErrorContext(v.ctx(), "tracking page", "error", err)
	v.w.Header().Set("Retry-After", "60")
	return v.noParcel(http.StatusServiceUnavailable, "later")
}

func (v *visit) noParcel(status int, text string) error {
	v.recipientHeaders()
	return v.show(status, noParcelPage(tongueOf(v.r), text))
}

// logo handles GET /track/{token}/logo/{hash}.
func (p trackPages) logo(v *visit) error {
	_, sender, err := p.parcelOf(v)
	if err != nil {
		return v.noParcelFor(err)
	}
	if err := v.showLogo(sender.ID); err != nil {
		return v.noParcelFor(err)
	}
	return nil
}

// showLogo answers with the picture whose hash is in the address.
func (v *visit) showLogo(id ship.AccountID) error {
	logo, err := v.Account.LogoPicture(v.ctx(), id, v.r.PathValue("hash"))
	if err != nil {
		return err
	}

	header := v.w.Header()
	header.Set("Content-Type", "image/png")
	header.Set("Cache-Control", "private, max-age=31536000, immutable")
	header.Set("Content-Length", strconv.Itoa(len(logo.Picture)))
	v.w.Write(logo.Picture) // the reader may have left
	return nil
}
