package webhook

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// reserved are the networks to which nothing is sent unless the operator allows
// it.
var reserved = strings.Fields(`
0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16
198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 ::/127 ::ffff:0:0/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32
2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8`)

// inside picks addresses of a network: its first, its last and some between.
func inside(p netip.Prefix, n int) []netip.Addr {
	first := p.Masked().Addr().AsSlice()
	out := []netip.Addr{p.Masked().Addr()}
	for i := range n + 1 {
		b := append([]byte{}, first...)
		for bit := p.Bits(); bit < len(b)*8; bit++ {
			if i == 0 || rand.IntN(2) == 1 {
				b[bit/8] |= 1 << (7 - bit%8)
			}
		}
		a, _ := netip.AddrFromSlice(b)
		out = append(out, a)
	}
	return out
}

func TestReservedNetworksAreRefused(t *testing.T) {
	t.Parallel()
	tried := 0
	for _, text := range reserved {
		for _, a := range inside(netip.MustParsePrefix(text), 200) {
			tried++
			for _, a := range []netip.Addr{a, netip.AddrFrom16(a.As16()), a.WithZone("eth0")} {
				if (&Policy{}).allows(netip.AddrPortFrom(a, 443)) {
					t.Errorf("%s of %s is allowed", a, text)
				}
			}
		}
	}
	for _, text := range strings.Fields("1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 11.0.0.0 223.255.255.255 2606:4700::1111 2a00:1450:4001::1 2001:4860:4860::8888") {
		a := netip.MustParseAddr(text)
		if !(&Policy{}).allows(netip.AddrPortFrom(a, 443)) {
			t.Errorf("%s is refused", a)
		}
		if (&Policy{}).allows(netip.AddrPortFrom(a.WithZone("eth0"), 443)) && a.Is6() {
			t.Errorf("%s with a zone is allowed", a)
		}
	}
	if tried < 5000 {
		t.Errorf("only %d addresses", tried)
	}
}

func TestTheOperatorOpensNetworksButNotTheHardCore(t *testing.T) {
	t.Parallel()
	own := netip.MustParseAddrPort("10.0.0.5:5432")
	everything := Policy{Networks: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}, Deny: []netip.AddrPort{own}}
	for _, text := range strings.Fields("127.0.0.1 127.9.9.9 ::1 0.0.0.0 :: 169.254.169.254 169.254.170.2 fe80::1 fd00:ec2::254 224.0.0.1 255.255.255.255 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 64:ff9b::7f00:1 2002:7f00:1:: 100.100.100.200 168.63.129.16") {
		if everything.allows(netip.AddrPortFrom(netip.MustParseAddr(text), 443)) {
			t.Errorf("%s is allowed", text)
		}
	}
	if everything.allows(own) || !everything.allows(netip.MustParseAddrPort("10.0.0.5:8080")) {
		t.Error("the service's own address is not kept apart")
	}
	some := Policy{Networks: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd12::/16")}}
	for text, want := range map[string]bool{"10.1.2.3": true, "10.2.0.1": false, "192.168.0.1": false, "fd12::1": true, "fd13::1": false, "127.0.0.1": false, "8.8.8.8": true} {
		if some.allows(netip.AddrPortFrom(netip.MustParseAddr(text), 443)) != want {
			t.Errorf("%s: want %t", text, want)
		}
	}
	local := Policy{Loopback: true}
	for text, want := range map[string]bool{"127.0.0.1": true, "::1": true, "::ffff:127.0.0.1": false, "10.0.0.1": false, "169.254.169.254": false, "0.0.0.0": false} {
		if local.allows(netip.AddrPortFrom(netip.MustParseAddr(text), 443)) != want {
			t.Errorf("with loopback, %s: want %t", text, want)
		}
	}
}

// spellings returns the ways to write an IPv4 address that some program
// somewhere understands.
func spellings(a netip.Addr) []string {
	b := a.As4()
	n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	hex := fmt.Sprintf("%02x%02x:%02x%02x", b[0], b[1], b[2], b[3])
	dotted := func(format string) string { return fmt.Sprintf(format, b[0], b[1], b[2], b[3]) }
	wide := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r - '0' + '０'
		}
		return r
	}, a.String())
	return []string{
		a.String(), a.String() + ".", a.String() + "..", strconv.FormatUint(uint64(n), 10), strconv.FormatUint(uint64(n)+1<<32, 10),
		fmt.Sprintf("0x%x", n), fmt.Sprintf("0X%X", n), fmt.Sprintf("0%o", n), fmt.Sprintf("0x%x.", n),
		dotted("0x%x.0x%x.0x%x.0x%x"), dotted("0%o.0%o.0%o.0%o"), dotted("%03d.%03d.%03d.%03d"), dotted("0x%x.%d.0%o.%d"),
		fmt.Sprintf("%d.%d", b[0], n&0xffffff), fmt.Sprintf("%d.%d.%d", b[0], b[1], n&0xffff), fmt.Sprintf("0x%x.%d", b[0], n&0xffffff),
		"[::ffff:" + a.String() + "]", "[::ffff:" + hex + "]", "[0:0:0:0:0:ffff:" + hex + "]", "[::" + a.String() + "]", "[::" + hex + "]",
		"[64:ff9b::" + hex + "]", "[64:ff9b:1::" + hex + "]", "[2002:" + hex + "::]", "[2002:" + hex + "::1]",
		"[2001:0:" + hex + "::1]", "[fe80::5efe:" + hex + "]", "[::ffff:0:" + hex + "]", "[::ffff:" + a.String() + "%25lo]",
		wide, strings.ReplaceAll(a.String(), ".", "。"), strings.ReplaceAll(a.String(), ".", "%2e"), "%" + fmt.Sprintf("%02x", a.String()[0]) + a.String()[1:],
		"example.com@" + a.String(), "example.com:443@" + a.String(), a.String() + "#@example.com", a.String() + `\@example.com`, a.String() + "?@example.com",
		a.String() + "%00.example.com", a.String() + "%0d%0a.example.com", " " + a.String(),
	}
}

// corpus returns a list of hostile addresses. Names in it are resolved by the
// name server of the test.
func corpus(port string) ([]string, *nameServer) {
	var urls []string
	names := &nameServer{answers: map[string][]netip.Addr{}, aliases: map[string]string{}}
	add := func(host string) {
		urls = append(urls, "https://"+host+":"+port+"/hook", "http://"+host+":"+port+"/hook")
	}
	for _, text := range strings.Fields("127.0.0.1 127.0.1.1 127.255.255.254 0.0.0.0 10.0.0.1 172.16.5.4 192.168.1.1 169.254.169.254 100.64.0.1 198.18.0.1 224.0.0.1 255.255.255.255 100.100.100.200") {
		a := netip.MustParseAddr(text)
		for _, host := range spellings(a) {
			add(host)
		}
		for i, name := range []string{strings.ReplaceAll(text, ".", "-") + ".nip.test", text + ".nip.test", fmt.Sprintf("%x.nip.test", a.AsSlice()), "app." + text + ".nip.test"} {
			names.answers[name] = []netip.Addr{a, publicAddress}[:1+i%2] // alone, or before an allowed one
			add(name)
		}
		after, mapped, alias := "after-"+strings.ReplaceAll(text, ".", "-")+".test", "mapped-"+strings.ReplaceAll(text, ".", "-")+".test", "alias-"+strings.ReplaceAll(text, ".", "-")+".test"
		names.answers[after] = []netip.Addr{publicAddress, publicAddress.Next(), a}
		names.answers[mapped] = []netip.Addr{publicAddress, netip.AddrFrom16(a.As16())}
		for hop := range 5 {
			names.aliases[alias] = fmt.Sprintf("hop%d-%s", hop, alias)
			alias = names.aliases[alias]
		}
		names.answers[alias] = []netip.Addr{a}
		add(after)
		add(mapped)
		add("alias-" + strings.ReplaceAll(text, ".", "-") + ".test")
	}
	for i, text := range strings.Fields("::1 :: fe80::1 fe80::1%25lo ::1%25lo fd00:ec2::254 fc00::1 fec0::1 ff02::1 64:ff9b::7f00:1 2002:7f00:1:: 2001::1 2001:db8::1 3fff::1 5f00::1 100::1 0:0:0:0:0:0:0:1 ::0001 0000:0000:0000:0000:0000:0000:0000:0001 2606:4700::1%25lo") {
		add("[" + text + "]")
		a, err := netip.ParseAddr(text)
		if err != nil || a.Zone() != "" {
			continue
		}
		six, mixed := fmt.Sprintf("six%d.test", i), fmt.Sprintf("mixed%d.test", i)
		names.answers[six], names.answers[mixed] = []netip.Addr{a}, []netip.Addr{publicAddress, a}
		add(six)
		add(mixed)
	}
	for _, host := range []string{"localhost", "LOCALHOST", "localhost.", "foo.localhost", "ip6-localhost", "localhost.localdomain", "metadata.google.internal", "metadata", "kubernetes.default.svc", "-", ".", "a..b", "127.0.0.1.example.com@localhost"} {
		add(host)
	}
	for _, raw := range []string{
		"file:///etc/passwd", "gopher://127.0.0.1:%s/_x", "ftp://127.0.0.1:%s/", "https:127.0.0.1:%s", "https:/127.0.0.1:%s", "https:///127.0.0.1:%s", "//127.0.0.1:%s/", "127.0.0.1:%s", "",
		"https://user:pass@127.0.0.1:%s/", "https://127.0.0.1:0%s/", "https://127.0.0.1:%s:80/", "https://[::1:%s/", "https://[::1]:%s]/", "unix:///var/run/docker.sock", "https://127.0.0.1:%s\t/", "https://127.0.0.1\n:%s/",
	} {
		urls = append(urls, strings.ReplaceAll(raw, "%s", port))
	}
	return urls, names
}

// publicAddress is one that the policy allows; the test never lets a connection
// reach it.
var publicAddress = netip.MustParseAddr("93.184.215.14")

var errNotified = errors.New("the test lets nothing out")

// canary listens on this machine, and counts the connections.
func canary(t testing.TB) (port string, hits *atomic.Int64) {
	t.Helper()
	hits = &atomic.Int64{}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	listeners := []net.Listener{l}
	if six, err := net.Listen("tcp", "[::1]:"+port); err == nil {
		listeners = append(listeners, six)
	}
	for _, l := range listeners {
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				hits.Add(1)
				_ = c.Close()
			}
		}()
	}
	return port, hits
}

// watch records every address that the sender is about to connect to, and
// blocks those on the internet. Anything else that passes the guard really
// connects, and reaches the canary.
func watch(s *Sender, seen func(netip.AddrPort)) {
	for _, d := range s.dialers {
		d.onConnect = func(to netip.AddrPort) error {
			seen(to)
			if to.Addr().IsLoopback() || to.Addr().IsUnspecified() {
				return nil
			}
			return errNotified
		}
	}
}

func TestHostileAddressesReachNothing(t *testing.T) {
	t.Parallel()
	port, hits := canary(t)
	urls, names := corpus(port)
	resolver := names.resolver(t)
	for name, policy := range map[string]Policy{"closed": {}, "opened": {Networks: []netip.Prefix{netip.MustParsePrefix("10.77.0.0/16")}}} {
		s := NewSender(SenderOptions{Policy: policy, Resolver: resolver, Timeout: 2 * time.Second})
		watch(s, func(to netip.AddrPort) { t.Errorf("%s: %s is about to be connected to", name, to) })
		for _, raw := range urls {
			if stored, wrong := policy.checkURL(raw); wrong == nil {
				u, err := url.Parse(stored)
				if _, literal := parseLiteral(u.Hostname()); err != nil || literal || u.User != nil {
					t.Errorf("%s: %q is taken", name, raw)
				}
			}
			// Whether or not the endpoint is accepted, the address must not be
			// reached.
			u, err := url.Parse(raw)
			if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
				continue
			}
			target, _ := testTarget(t, "https://x.test")
			target.url = u
			if a := s.Send(t.Context(), testDelivery(target, "{}")); a.Delivered() || a.Address.IsValid() {
				t.Errorf("%s: %q: %+v", name, raw, a)
			}
		}
	}
	if len(urls) < 400 || hits.Load() != 0 {
		t.Errorf("%d of %d addresses reached the canary", hits.Load(), len(urls))
	}
	t.Logf("%d addresses, %d reached", 2*len(urls), hits.Load())
}

// The canary must notice a connection if there is one.
func TestTheCanaryIsReachedWhenItMayBe(t *testing.T) {
	t.Parallel()
	port, hits := canary(t)
	names := &nameServer{answers: map[string][]netip.Addr{"here.test": {netip.MustParseAddr("127.0.0.1")}}}
	s := NewSender(SenderOptions{Policy: Policy{Loopback: true}, Resolver: names.resolver(t), Timeout: 2 * time.Second})
	for _, host := range []string{"127.0.0.1", "here.test", "localhost"} {
		target, _ := testTarget(t, "http://"+host+":"+port)
		if a := s.Send(t.Context(), testDelivery(target, "{}")); a.Outcome != OutcomeClosed {
			t.Errorf("%s: %s %s", host, a.Outcome, a.Error)
		}
	}
	if hits.Load() != 3 {
		t.Errorf("%d connections, want 3", hits.Load())
	}
}

// A name whose answer changes between the check and the connection has no
// effect: it is looked up once, and the address that was checked is dialled.
func TestRebindingRacesAreLost(t *testing.T) {
	t.Parallel()
	const races = 5000
	port, hits := canary(t)
	bad := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1"), netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("10.0.0.1")}
	names := &nameServer{flips: func(_ string, n int) []netip.Addr {
		if n%3 == 0 {
			return []netip.Addr{bad[n/3%len(bad)]}
		}
		return []netip.Addr{publicAddress}
	}}
	s := NewSender(SenderOptions{Resolver: names.resolver(t), Timeout: 5 * time.Second})
	var good, refused atomic.Int64
	watch(s, func(to netip.AddrPort) {
		if good.Add(1); to.Addr() != publicAddress {
			t.Errorf("%s is about to be connected to", to)
		}
	})
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := g; i < races; i += 16 {
				target, _ := testTarget(t, fmt.Sprintf("https://r%d.rebind.test:%s", i%50, port))
				if a := s.Send(t.Context(), testDelivery(target, "{}")); a.Outcome == OutcomeNotAllowed {
					refused.Add(1)
				}
			}
		})
	}
	all.Wait()
	if hits.Load() != 0 {
		t.Errorf("%d of %d reached the canary", hits.Load(), races)
	}
	if good.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d went on, %d were refused: the answers do not flip", good.Load(), refused.Load())
	}
	t.Logf("%d races: %d went on to the checked address, %d were refused, %d reached", races, good.Load(), refused.Load(), hits.Load())
}

func TestGoodAddressesAreTaken(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://example.com":                              "https://example.com",
		"https://Example.COM/Path?q=1&x=%20":               "https://example.com/Path?q=1&x=%20",
		"https://example.com:443/":                         "https://example.com:443/",
		"https://example.com:8443/hook":                    "https://example.com:8443/hook",
		"https://xn--bcher-kva.example/":                   "https://xn--bcher-kva.example/",
		"https://93.184.215.14/":                           "https://93.184.215.14/",
		"https://[2606:4700::1111]:2053/":                  "https://[2606:4700::1111]:2053/",
		"https://a.b-c.d1.example.co.uk/x/y;z=1#":          "",
		"https://bücher.example/":                          "",
		"https://example.com:80/":                          "",
		"https://example.com:22/":                          "",
		"https://example.com:0443/":                        "",
		"https://example.com:/":                            "",
		"https://example.com/a b":                          "",
		"https://" + strings.Repeat("a", 64) + ".com":      "",
		"https://example.com/" + strings.Repeat("a", 2048): "",
		"https://intranet/":                                "",
		"http://example.com/":                              "",
		"HTTPS://example.com/":                             "https://example.com/",
		"https://exa_mple.com/":                            "",
		"https://-a.example.com":                           "",
		"https://example.com.":                             "",
	} {
		got, wrong := (&Policy{}).checkURL(raw)
		if got != want || (wrong == nil) != (want != "") {
			t.Errorf("%.60q: %q, %v; want %q", raw, got, wrong, want)
		}
	}
	local := Policy{Loopback: true}
	for _, raw := range []string{"http://localhost:3000/hook", "http://127.0.0.1:3000/", "http://[::1]:3000/", "https://localhost:3000/", "http://hook.test/"} {
		if _, wrong := local.checkURL(raw); wrong != nil {
			t.Errorf("in development, %s: %v", raw, wrong)
		}
	}
	for _, raw := range []string{"http://93.184.215.14:8080/", "http://10.0.0.1:8080/", "http://169.254.169.254/", "http://localhost:22/", "http://127.1:3000/"} {
		if _, wrong := local.checkURL(raw); wrong == nil {
			t.Errorf("in development, %s is taken", raw)
		}
	}
}
