package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
)

// notifySupervisor tells systemd about a change of state. Without a supervisor
// that asks for it, it does nothing.
//
// The protocol is one datagram to the socket of NOTIFY_SOCKET; see
// sd_notify(3).
func notifySupervisor(log *slog.Logger, state string) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return
	}

	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close()
	}
	if err != nil {
		log.Warn("cannot notify the supervisor", "state", state, "error", err)
	}
}

// feedWatchdog tells the supervisor twice in each of its periods that this copy
// answers, until ctx ends. A copy that no longer answers sends nothing, and is
// restarted.
func (a *App) feedWatchdog(ctx context.Context) {
	period, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || period <= 0 {
		return
	}
	half := time.Duration(period) * time.Microsecond / 2
	tick := time.NewTicker(half)
	defer tick.Stop()

	for {
		if a.answers(ctx, half) {
			notifySupervisor(a.log, "WATCHDOG=1")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// answers reports whether the API's listener answers within the time. A copy
// without one is alive if this runs.
func (a *App) answers(ctx context.Context, within time.Duration) bool {
	if a.api == nil || a.stopping.Load() {
		return true
	}

	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.LocalURL()+"/healthz", nil)
	if err != nil {
		return false
	}
	// The transport is used once, so its connection must not be kept open.
	request.Close = true

	response, err := carrierkit.NewTransport().RoundTrip(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}
