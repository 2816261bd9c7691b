package site

import (
	"cmp"
	"net/http"
	"path"
	"strings"

	"github.com/waybillhq/waybill/internal/httpkit"
	"github.com/waybillhq/waybill/internal/member"
	"github.com/waybillhq/waybill/internal/ship"
)

// A Route is one page, or one action on a page. The table is the whole
// dashboard: a path that is not in it does not exist.
type Route struct {
	Method, Path string
	Action       member.Action // that the person's role must allow
	Open         bool          // no sign-in is needed
	Unlimited    bool          // requests are not counted, or by the handler itself
	MaxBytes     int64         // largest request in bytes; 0 for MaxForm
	Memory       int64         // bytes that are reserved before the request is read; 0 for none
	Moved        bool          // the page has another address now, which this one leads to
	Keeps        bool          // what was typed is kept if the request cannot be served: see keepForm
	Handle       func(*Visit) error
}

// isOfAccount reports whether the route is of a page of an account, whose path
// names the account and the mode.
func (rt Route) isOfAccount() bool { return strings.HasPrefix(rt.Path, accountPath) }

// accountPath is where the pages of an account begin.
const accountPath = "/app/{account}/{mode}"

// Get returns the route of a page.
func Get(path string, action member.Action, handle func(*Visit) error) Route {
	return Route{Method: http.MethodGet, Path: path, Action: action, Handle: handle}
}

// Post returns the route of a form.
func Post(path string, action member.Action, handle func(*Visit) error) Route {
	return Route{Method: http.MethodPost, Path: path, Action: action, Handle: handle}
}

// Keeping marks a route whose form is kept if it cannot be served.
func Keeping(rt Route) Route {
	rt.Keeps = true
	return rt
}

// bookmarkRoutes are addresses of pages without an account, from before accounts
// were part of them. Forms are not accepted there: which account they are for
// would be a guess.
func bookmarkRoutes() []Route {
	var list []Route
	for _, mode := range []string{"test", "live"} {
		for _, rest := range []string{"", "/{section}", "/{section}/{rest...}"} {
			page := Get("/app/"+mode+rest, member.ViewSelf, redirectBookmark)
			page.Moved = true
			list = append(list, page)
		}
	}
	return list
}

// PurchasePath is where a label is bought.
const PurchasePath = accountPath + "/shipments"

// Open marks a route that needs no sign-in.
func Open(rt Route) Route {
	rt.Open = true
	return rt
}

// Unlimited marks a route whose requests are not counted, or by its handler.
func Unlimited(rt Route) Route {
	rt.Unlimited = true
	return rt
}

// MaxForm is the largest form in bytes that a route accepts by default.
const MaxForm = 1 << 20

// serve answers one route: headers, the person, the mode, then the handler.
func (s *Dashboard) serve(rt Route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		httpkit.From(r.Context()).Route = rt.Path
		secure(w.Header())

		v := &Visit{Dashboard: s, Writer: w, Request: r, rt: rt}
		err := v.admit()
		if err == nil {
			err = v.handle()
		} else {
			v.noteRefusal(err)
		}

		// keepForm comes first: a redirect to the sign-in page would lose what
		// was typed.
		if err != nil && !v.keepForm(err) && !s.pages.SignIn(v, err) {
			v.fail(err)
		}
	}
}

// handle reads the request and carries it out.
func (v *Visit) handle() error {
	// The memory is reserved when the form has arrived and before it is parsed: a
	// browser that sends slowly keeps nobody else from it, and large files that
	// arrive at the same time do not fill it.
	if v.rt.Memory > 0 {
		owner := v.Who.Account.ID
		drop, err := v.Uploads.Receive(v.Writer, v.Request, owner, cmp.Or(v.rt.MaxBytes, MaxForm))
		if err != nil {
			return err
		}
		defer drop()

		release, err := v.Heavy.Reserve(v.Context(), owner, v.rt.Memory)
		if err != nil {
			return err
		}
		defer release()
	}

	if err := v.checkText(); err != nil {
		return err
	}
	if err := v.recordExport(); err != nil {
		return err
	}
	v.admitted = true
	return v.rt.Handle(v)
}

// noteRefusal records in the audit log that the person's role does not allow
// what they asked for.
func (v *Visit) noteRefusal(err error) {
	if ship.CodeOf(err) != "not_allowed" || v.Who.Account.ID == "" {
		return
	}
	v.Member.NoteRefusal(v.Who.Actor, member.Entry{
		Action:  "member.denied",
		Target:  string(v.Who.Actor.Person.ID),
		Details: map[string]string{"route": v.rt.Method + " " + v.rt.Path},
	})
}

// exportOf returns what a route downloads, such as "shipments", and the name of
// the file; empty for a page. Everything that has the name of a file is a
// download of many things at once, except for templates.
func (rt Route) exportOf() (what, file string) {
	file = path.Base(rt.Path)
	what, extension, _ := strings.Cut(file, ".")
	if !rt.isOfAccount() || extension == "" || strings.Contains(file, "{") || strings.HasSuffix(what, "template") {
		return "", ""
	}
	return strings.ReplaceAll(what, "-", "_"), file
}

// recordExport writes a download of many things to the audit log, before
// anything of it is sent: what cannot be recorded is not sent. The entry has
// neither the filter nor anything of the content, which are about people.
func (v *Visit) recordExport() error {
	what, file := v.rt.exportOf()
	if what == "" {
		return nil
	}
	return v.Member.Record(v.Context(), v.Who.Actor, member.Entry{
		Action:  "export." + what,
		Target:  cmp.Or(v.Request.PathValue("id"), file),
		Mode:    v.Mode(),
		Details: map[string]string{"file": file},
	})
}

// admit finds out who asks, in which account and mode, and whether they may.
func (v *Visit) admit() error {
	if code, _ := textProblem("", v.Request.URL.Path); code != "" {
		return ErrNoPage
	}
	v.Request.Body = http.MaxBytesReader(v.Writer, v.Request.Body, cmp.Or(v.rt.MaxBytes, MaxForm))

	// The address is counted before anything is looked up, so a flood of
	// requests without a session costs the database nothing.
	if err := v.limitAddress(); err != nil {
		return err
	}
	if v.rt.isOfAccount() {
		mode := v.Request.PathValue("mode")
		if mode != "test" && mode != "live" {
			return ErrNoPage
		}
		v.Live = mode == "live"
	}
	if v.rt.Open {
		return nil
	}

	if err := v.SignIn(); err != nil {
		return err
	}
	if err := v.limitSession(); err != nil {
		return err
	}

	// Pages of the account show something of it, whatever they are about.
	if v.rt.isOfAccount() {
		if err := v.Who.Actor.Admitted(); err != nil {
			return err
		}
	}
	return v.Who.Actor.Allow(v.rt.Action)
}

// Routes lists the routes that belong to no area.
func Routes() []Route {
	return append(bookmarkRoutes(),
		Route{Method: http.MethodGet, Path: staticPath, Open: true, Unlimited: true, Handle: serveStatic},
		Get("/{$}", member.ViewSelf, getIndex),
		Get("/app", member.ViewSelf, getIndex),
	)
}
