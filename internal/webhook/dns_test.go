package webhook

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers the DNS queries of a test.
type nameServer struct {
	mu      sync.Mutex
	answers map[string][]netip.Addr // by name
	aliases map[string]string
	flips   func(name string, n int) []netip.Addr // for other names: the n-th answer
	asked   int
}

// resolver asks the server, and nobody else.
func (n *nameServer) resolver(t testing.TB) *net.Resolver {
	t.Helper()
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	go n.serve(socket)
	address := socket.LocalAddr().String()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", address)
	}}
}

func (n *nameServer) serve(socket net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		size, from, err := socket.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := n.reply(buf[:size]); reply != nil {
			_, _ = socket.WriteTo(reply, from)
		}
	}
}

func (n *nameServer) reply(question []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
	name := strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked++
	for hops := 0; n.aliases[name] != "" && hops < 10; hops++ {
		to := n.aliases[name]
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name + "."), Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(to + ".")},
		})
		name = to
	}
	addresses, known := n.answers[name]
	if !known && n.flips != nil {
		addresses, known = n.flips(name, n.asked), true
	}
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addresses {
		h := dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name + "."), Class: dnsmessage.ClassINET} // with a TTL of zero
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}
