package httpkit

import (
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddr is the address that a request came from. A proxy's word counts
// only if the proxy is trusted: the list is read from its end, and the first
// address that is no trusted proxy is the client's.
func ClientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap().WithZone("")
	if !within(addr, trusted) {
		return addr
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			return addr // from here on anyone may have written it
		}
		addr = hop.Unmap().WithZone("")
		if !within(addr, trusted) {
			return addr
		}
	}
	return addr
}

func within(addr netip.Addr, prefixes []netip.Prefix) bool {
	for _, p := range prefixes {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// BearerKey is the key of the Authorization header, "" if there is none.
func BearerKey(r *http.Request) string {
	values := r.Header["Authorization"]
	if len(values) != 1 {
		return "" // two headers could mean two callers
	}
	scheme, key, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}
