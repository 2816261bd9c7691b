package webhook

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// maxAddresses is how many addresses of a name are tried.
const maxAddresses = 4

// A dialer connects to addresses that the policy allows, and to no others. A
// name is looked up once: every address of the answer is checked, then one of
// them is dialled as it is, and the socket's own address is checked again just
// before it connects. So nothing can change between the check and the
// connection, and an answer that mixes good addresses with bad ones is bad.
type dialer struct {
	allows   func(netip.AddrPort) bool
	resolver *net.Resolver
	timeout  time.Duration
	checked  func(netip.AddrPort) error // told of each address that is about to be connected to; for tests
}

// conn is a connection that knows how it came about.
type conn struct {
	net.Conn
	dns, connect time.Duration
	address      netip.Addr
}

// dial connects to a host and port.
func (d *dialer) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	start := time.Now()
	addresses, err := d.lookUp(ctx, hostPort)
	if err != nil {
		return nil, err
	}
	found := time.Now()
	c, at, err := d.first(ctx, network, addresses)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, dns: found.Sub(start), connect: time.Since(found), address: at.Addr()}, nil
}

// lookUp returns the addresses behind a host, all of them allowed.
func (d *dialer) lookUp(ctx context.Context, hostPort string) ([]netip.AddrPort, error) {
	host, portText, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotAllowed, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotAllowed, err)
	}
	var found []netip.Addr
	if addr, literal := literalOf(host); literal && addr.Is4In6() {
		return nil, errNotAllowed
	} else if literal {
		found = []netip.Addr{addr}
	} else if found, err = d.resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}
	var list []netip.AddrPort
	for _, addr := range found {
		// What is checked is what is dialled; a hosts file gives IPv4 in the form
		// of IPv6.
		to := netip.AddrPortFrom(addr.Unmap(), uint16(port))
		if !d.allows(to) {
			return nil, errNotAllowed
		}
		list = append(list, to)
	}
	return list[:min(len(list), maxAddresses)], nil
}

// first connects to the first address that answers. Each has its share of the
// time that is left.
func (d *dialer) first(ctx context.Context, network string, addresses []netip.AddrPort) (net.Conn, netip.AddrPort, error) {
	err := error(&net.DNSError{Err: "no address", IsNotFound: true})
	for i, to := range addresses {
		deadline, _ := ctx.Deadline()
		share, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(addresses)-i))
		nd := net.Dialer{ControlContext: d.control, KeepAlive: 15 * time.Second}
		var c net.Conn
		c, err = nd.DialContext(share, network, to.String())
		cancel()
		if err == nil {
			return c, to, nil
		}
	}
	return nil, netip.AddrPort{}, err
}

// control is the last fence: it sees the address of the socket itself.
func (d *dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !d.allows(to) {
		return errNotAllowed
	}
	if d.checked != nil {
		return d.checked(to)
	}
	return nil
}
