package webhook

import (
	"context"
	"net"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// What else an operator or a client may name as a destination follows the same
// policy as webhooks do.

// CheckURL returns an address as it is stored, or what is invalid about it. The
// addresses behind a name are checked when they are connected to.
func (p *Policy) CheckURL(raw string) (string, error) {
	checked, invalid := p.checkURL(raw)
	return checked, ship.InvalidFields(invalid)
}

// Dialer returns a function that connects to addresses that the policy allows
// and to no others. Without TLS, only networks that the operator opened are
// connected to.
func (p *Policy) Dialer(timeout time.Duration, withTLS bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	allows := p.allowsPlain
	if withTLS {
		allows = p.allows
	}
	dialer := &dialer{
		allows:   allows,
		resolver: &net.Resolver{PreferGo: true}, // the C library takes "127.1" for an address
		timeout:  timeout,
	}
	return dialer.dial
}
