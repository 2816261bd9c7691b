package httpkit

import (
	"net/http"
	"net/netip"
	"strings"
)

// ClientAddr returns the address that a request came from. A forwarding header
// counts only if a trusted proxy sent it: the list is read from its end, and the
// first address that is no trusted proxy is the client's.
func ClientAddr(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr := peer.Addr().Unmap().WithZone("")
	if !containsAddr(trusted, addr) {
		return addr
	}

	// Each proxy appends the address that it was called from. Everything before
	// an entry that no trusted proxy wrote may be forged.
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			return addr // from here on anyone may have written it
		}
		addr = hop.Unmap().WithZone("")
		if !containsAddr(trusted, addr) {
			return addr
		}
	}
	return addr
}

// ClientNetwork returns what requests without a key are counted by: the client's
// address, or for IPv6 the /64 network that one subscriber has. It is "" if the
// address is not known.
func ClientNetwork(r *http.Request, trusted []netip.Prefix) string {
	address := ClientAddr(r, trusted)
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

// containsAddr reports whether one of the prefixes contains the address.
func containsAddr(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// BearerKey returns the key of the Authorization header, "" if there is none.
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
