package httpkit

import (
	"net/http"
	"net/netip"
	"strings"
)

// These headers are shared by all answers. A handler replaces a header and never
// appends to it.
var (
	neverSniffed = []string{"nosniff"}
	neverStored  = []string{"no-store"}
	tlsOnly      = []string{"max-age=31536000"} // a year, for this host alone
	neverRuns    = []string{"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"}
	noReferrer   = []string{"no-referrer"}
)

// Secure sets the headers that every answer has, whatever next does: browsers
// must not guess its type, caches must not keep it, nothing in it runs or is shown
// within another page, its address is not sent to other sites, and a browser that
// came over TLS must come back over TLS. An answer that is not personal may be kept
// if its handler says so, and pages have a policy of their own.
//
// baseURL is the public address of the service. A proxy that terminates TLS
// counts if it is trusted.
func Secure(next http.Handler, baseURL string, trusted []netip.Prefix) http.Handler {
	alwaysTLS := strings.HasPrefix(baseURL, "https://")

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The names are in canonical form, so the map can be set directly.
		header := w.Header()
		header["X-Content-Type-Options"] = neverSniffed
		header["Cache-Control"] = neverStored
		header["Content-Security-Policy"] = neverRuns
		header["Referrer-Policy"] = noReferrer
		if alwaysTLS || cameOverTLS(r, trusted) {
			header["Strict-Transport-Security"] = tlsOnly
		}
		next.ServeHTTP(w, r)
	})
}

// cameOverTLS reports whether the client's own connection was encrypted.
func cameOverTLS(r *http.Request, trusted []netip.Prefix) bool {
	if r.TLS != nil {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !containsAddr(trusted, peer.Addr().Unmap().WithZone("")) {
		return false
	}

	// The proxy nearest to the client comes first.
	scheme, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
	return strings.EqualFold(strings.TrimSpace(scheme), "https")
}
