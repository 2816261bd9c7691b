package webhook

import (
	"errors"
	"net/netip"
	"slices"

	"code.dny.dev/ssrf"
)

// A Policy says to which addresses events may be sent. The zero Policy allows
// public addresses alone: those of the internet that no registry sets aside.
type Policy struct {
	Networks []netip.Prefix   // private networks that the operator allows
	Loopback bool             // this machine is allowed too, for development
	Deny     []netip.AddrPort // addresses of the service itself: never allowed
}

// errNotAllowed is returned for every address that is refused, in the same
// words, so that the error reveals nothing about the network.
var errNotAllowed = errors.New("the destination is not allowed")

// neverAllowed are the networks that no setting opens: this host, the link, and
// the addresses that stand for other addresses.
var neverAllowed = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"), // link-local; cloud metadata
	netip.MustParsePrefix("224.0.0.0/3"),
	netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fec0::/10"),
	netip.MustParsePrefix("ff00::/8"),
	netip.MustParsePrefix("fd00:ec2::/32"), // cloud metadata
	netip.MustParsePrefix("::/127"),        // unspecified; loopback is handled separately
	netip.MustParsePrefix("::ffff:0:0/96"),
	netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("2002::/16"),
	netip.MustParsePrefix("100.100.100.200/32"), // cloud metadata
	netip.MustParsePrefix("168.63.129.16/32"),   // cloud metadata
	netip.MustParsePrefix("192.0.0.192/32"),     // cloud metadata
}

// publicGuard knows the networks that registries set aside.
var publicGuard = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork())

// allows reports whether an address may be connected to.
func (p *Policy) allows(to netip.AddrPort) bool {
	addr := to.Addr()
	if !addr.IsValid() || addr.Zone() != "" || slices.Contains(p.Deny, to) {
		return false
	}

	// Loopback is decided first, because ::1 is within a network that is never
	// allowed.
	if addr.IsLoopback() && !addr.Is4In6() {
		return p.Loopback
	}
	if contains(neverAllowed, addr) {
		return false
	}
	return contains(p.Networks, addr) || addr.IsGlobalUnicast() && publicGuard.SafeAddr(addr) == nil
}

// allowsPlain reports whether an address may be connected to without TLS: only
// where the operator has allowed it.
func (p *Policy) allowsPlain(to netip.AddrPort) bool {
	return p.allows(to) && (to.Addr().IsLoopback() || contains(p.Networks, to.Addr()))
}

// opensNetworks reports whether the operator allows anything beside the
// internet.
func (p *Policy) opensNetworks() bool { return p.Loopback || len(p.Networks) > 0 }

func contains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}
