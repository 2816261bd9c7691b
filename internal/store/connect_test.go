package store

import (
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// TestALostConnectionIsUncertain breaks connections: what was sent may have been
// committed, so a client is told to send the same request again.
func TestALostConnectionIsUncertain(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(client, server net.Conn) error{
		"the server ended it": func(_, server net.Conn) error { return server.Close() },
		"its deadline passed": func(client, _ net.Conn) error { return client.SetReadDeadline(time.Now().Add(-time.Second)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, server := connectedPair(t)
			if err := breakIt(client, server); err != nil {
				t.Fatal(err)
			}
			_, err := io.ReadFull(client, make([]byte, 1))
			if explained := explain(fmt.Errorf("record the purchase: %w", err)); ship.KindOf(explained) != ship.Uncertain {
				t.Errorf("%v is explained as %v", err, explained)
			}
		})
	}
}

// connectedPair returns the two ends of a TCP connection.
func connectedPair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return client, server
}
