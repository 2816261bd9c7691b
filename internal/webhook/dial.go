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
// connection. An answer that mixes allowed addresses with others is refused.
type dialer struct {
	allows    func(netip.AddrPort) bool
	resolver  *net.Resolver
	timeout   time.Duration
	onConnect func(netip.AddrPort) error // called with each address that is about to be connected to; for tests
}

// conn is a connection, with the time it took to establish.
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

	lookedUp := time.Now()
	connection, to, err := d.dialFirst(ctx, network, addresses)
	if err != nil {
		return nil, err
	}
	return &conn{
		Conn:    connection,
		dns:     lookedUp.Sub(start),
		connect: time.Since(lookedUp),
		address: to.Addr(),
	}, nil
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
	if addr, isLiteral := parseLiteral(host); isLiteral && addr.Is4In6() {
		return nil, errNotAllowed
	} else if isLiteral {
		found = []netip.Addr{addr}
	} else if found, err = d.resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}

	var allowed []netip.AddrPort
	for _, addr := range found {
		// The address is checked in the form in which it is dialled: a hosts
		// file gives IPv4 in the form of IPv6.
		to := netip.AddrPortFrom(addr.Unmap(), uint16(port))
		if !d.allows(to) {
			return nil, errNotAllowed
		}
		allowed = append(allowed, to)
	}
	return allowed[:min(len(allowed), maxAddresses)], nil
}

// dialFirst connects to the first address that answers. Each has its share of
// the time that is left.
func (d *dialer) dialFirst(ctx context.Context, network string, addresses []netip.AddrPort) (net.Conn, netip.AddrPort, error) {
	err := error(&net.DNSError{Err: "no address", IsNotFound: true})
	for i, to := range addresses {
		deadline, _ := ctx.Deadline()
		share, cancel := context.WithTimeout(ctx, time.Until(deadline)/time.Duration(len(addresses)-i))
		inner := net.Dialer{ControlContext: d.control, KeepAlive: 15 * time.Second}

		var connection net.Conn
		connection, err = inner.DialContext(share, network, to.String())
		cancel()
		if err == nil {
			return connection, to, nil
		}
	}
	return nil, netip.AddrPort{}, err
}

// control is the last check: it sees the address of the socket itself.
func (d *dialer) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !d.allows(to) {
		return errNotAllowed
	}
	if d.onConnect != nil {
		return d.onConnect(to)
	}
	return nil
}
