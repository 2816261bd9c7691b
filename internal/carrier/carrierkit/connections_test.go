package carrierkit

import (
	"net/http"
	"testing"
)

// The environment of the process cannot put a proxy between it and a carrier:
// a proxy may send a purchase twice.
func TestConnectionsIgnoreTheProxyOfTheEnvironment(t *testing.T) {
	for _, effects := range []bool{true, false} {
		connections, ok := newConnections(DefaultTrafficOptions(), "", effects).(*http.Transport)
		if !ok || connections.Proxy != nil {
			t.Errorf("effects %v: the environment can put a proxy before a carrier", effects)
		}
	}
}
