package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybillhq/waybill/internal/carrier/carrierkit"
	"github.com/waybillhq/waybill/internal/config"
)

// healthTimeout is shorter than the time-out that supervisors usually set.
const healthTimeout = 4 * time.Second

func (c *cli) healthCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Check whether the service on this host is ready, for health checks",
		Long: "Request /readyz from the service on this host, on METRICS_LISTEN or else on LISTEN. The exit code\n" +
			"is 0 if it is ready. The container, which has no other program, uses it as its health check.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.settings()
			if err != nil {
				return err
			}

			answer, err := askReady(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.Out, answer)
			return err
		},
	}
}

// askReady asks the copy of the program on this host whether it is ready.
func askReady(ctx context.Context, cfg config.Config) (string, error) {
	address := cfg.MetricsListen
	if address == "" {
		address = cfg.Listen
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}

	// A service that listens on every address is asked at localhost.
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}

	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return "", err
	}

	request.Close = true
	response, err := carrierkit.NewTransport().RoundTrip(request)
	if err != nil {
		return "", fmt.Errorf("the service does not respond: %w", err)
	}
	defer func() { _ = response.Body.Close() }()

	body, _ := io.ReadAll(io.LimitReader(response.Body, 1024))
	answer := strings.TrimSpace(string(body))
	if response.StatusCode != http.StatusOK {
		return "", errors.New("the service is not ready: " + answer)
	}
	return answer, nil
}
