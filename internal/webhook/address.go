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

// checkURL returns the address of an endpoint as it is stored, or what is
// invalid about it. It is the first of two checks: the addresses behind a name
// are checked when they are connected to.
func (p *Policy) checkURL(raw string) (string, []ship.FieldError) {
	invalid := func(code, detail string) (string, []ship.FieldError) {
		return "", []ship.FieldError{{Pointer: "/url", Code: code, Detail: detail}}
	}

	if len(raw) > maxURL {
		return invalid("too_long", "must have at most 2048 characters")
	}
	for i := range len(raw) {
		if raw[i] <= ' ' || raw[i] >= 0x7f || raw[i] == '\\' {
			return invalid("invalid_format", "must be printable ASCII: use punycode for the host and percent-encode the rest")
		}
	}

	parsed, err := url.Parse(raw)
	switch {
	case err != nil || parsed.Host == "" || parsed.Opaque != "":
		return invalid("invalid_format", "must be a URL such as https://example.com/webhooks")
	case parsed.Scheme != "https" && (parsed.Scheme != "http" || !p.opensNetworks()):
		return invalid("not_allowed", "must begin with https://")
	case parsed.User != nil:
		return invalid("not_allowed", "must not contain a user name or password; use a header instead")
	case strings.Contains(raw, "#"):
		return invalid("not_allowed", "must not contain a fragment")
	}

	port, ok := allowedPort(parsed)
	if !ok {
		return invalid("not_allowed", "the port must be the default port, or 1024 or higher")
	}

	host := strings.ToLower(parsed.Hostname())
	if addr, isLiteral := parseLiteral(host); isLiteral {
		to := netip.AddrPortFrom(addr, port)
		if !p.allows(to) || parsed.Scheme == "http" && !p.allowsPlain(to) {
			return invalid("destination_not_allowed", errNotAllowed.Error())
		}
	} else if !p.isDomainName(host) || strings.HasPrefix(parsed.Host, "[") {
		return invalid("invalid_format", "the host must be a fully qualified domain name")
	}

	parsed.Host = strings.ToLower(parsed.Host)
	return parsed.String(), nil
}

// allowedPort returns the port of an address, and whether events may be sent to
// it: the scheme's own, or 1024 and above.
func allowedPort(u *url.URL) (uint16, bool) {
	usual := uint16(443)
	if u.Scheme == "http" {
		usual = 80
	}

	text := u.Port()
	if text == "" {
		return usual, !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return uint16(n), err == nil && text[0] != '0' && (uint16(n) == usual || n >= 1024)
}

// parseLiteral reads a host that is an address. One that only some programs
// take for an address (a single number, hexadecimal, octal, three parts) is
// returned as the invalid address, which no policy allows.
func parseLiteral(host string) (addr netip.Addr, isLiteral bool) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr, true
	}

	host = strings.TrimRight(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	isNumber := strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") && strings.Trim(last[2:], "0123456789abcdef") == ""
	return netip.Addr{}, isNumber || strings.ContainsAny(host, ":%")
}

// isDomainName reports whether the host is written as a domain name: labels of
// letters, digits and inner hyphens, at least two of them unless the operator
// allows more than the internet.
func (p *Policy) isDomainName(host string) bool {
	if len(host) > maxHost || !strings.Contains(host, ".") && !p.opensNetworks() {
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
