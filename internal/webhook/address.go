package webhook

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/waybillhq/waybill/internal/ship"
)

const (
	maxURL   = 2048
	maxHost  = 253
	maxLabel = 63
)

// checkURL returns the address of an endpoint as it is stored, and what is
// wrong with it. It is the first fence: the addresses behind a name are
// checked when they are connected to.
func (p *Policy) checkURL(raw string) (string, []ship.FieldError) {
	wrong := func(code, detail string) (string, []ship.FieldError) {
		return "", []ship.FieldError{{Pointer: "/url", Code: code, Detail: detail}}
	}
	if len(raw) > maxURL {
		return wrong("too_long", "has more than 2048 characters")
	}
	for i := range len(raw) {
		if raw[i] <= ' ' || raw[i] >= 0x7f || raw[i] == '\\' {
			return wrong("invalid_format", "is written in printable ASCII: a host in punycode, the rest percent-encoded")
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return wrong("invalid_format", "must be an address such as https://example.com/webhooks")
	case u.Scheme != "https" && (u.Scheme != "http" || !p.opened()):
		return wrong("not_allowed", "must begin with https://")
	case u.User != nil:
		return wrong("not_allowed", "may not hold a user name or password; send a header instead")
	case strings.Contains(raw, "#"):
		return wrong("not_allowed", "may not have a fragment")
	}
	port, ok := portOf(u)
	if !ok {
		return wrong("not_allowed", "the port must be the usual one, or 1024 and above")
	}
	host := strings.ToLower(u.Hostname())
	if addr, literal := literalOf(host); literal {
		if to := netip.AddrPortFrom(addr, port); !p.allows(to) || u.Scheme == "http" && !p.allowsPlain(to) {
			return wrong("destination_not_allowed", errNotAllowed.Error())
		}
	} else if !p.hostName(host) || strings.HasPrefix(u.Host, "[") {
		return wrong("invalid_format", "the host must be a full domain name")
	}
	u.Host = strings.ToLower(u.Host)
	return u.String(), nil
}

func portOf(u *url.URL) (uint16, bool) {
	text := u.Port()
	usual := uint16(443)
	if u.Scheme == "http" {
		usual = 80
	}
	if text == "" {
		return usual, !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && text[0] != '0' && (uint16(n) == usual || n >= 1024)
}

// literalOf reads a host that is an address. One that only looks like an
// address to some (a single number, hexadecimal, octal, three parts) comes back
// as no address at all, which no policy allows.
func literalOf(host string) (addr netip.Addr, literal bool) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true
	}
	host = strings.TrimRight(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	digits := strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == ""
	return netip.Addr{}, digits || strings.ContainsAny(host, ":%")
}

// hostName reports whether the host is written as a domain name: labels of
// letters, digits and inner hyphens, at least two of them unless the operator
// allows more than the internet.
func (p *Policy) hostName(host string) bool {
	if len(host) > maxHost || !strings.Contains(host, ".") && !p.opened() {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
				return false
			}
		}
	}
	return true
}
