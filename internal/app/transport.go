package app

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybillhq/waybill/internal/config"
)

// UnverifiedServers lists the servers of the database on other machines to which
// connections are not encrypted, or that could be somebody else's: their
// certificates are not checked.
func UnverifiedServers(cfg config.Config) ([]string, error) {
	parsed, err := pgconn.ParseConfig(cfg.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}

	entries := []*pgconn.FallbackConfig{{
		Host:      parsed.Host,
		Port:      parsed.Port,
		TLSConfig: parsed.TLSConfig,
	}}
	var hosts []string
	for _, entry := range append(entries, parsed.Fallbacks...) {
		// verify-ca and verify-full check the certificate: the former with a function
		// of its own, because it does not check the name.
		tls := entry.TLSConfig
		isVerified := tls != nil && (!tls.InsecureSkipVerify || tls.VerifyPeerCertificate != nil || tls.VerifyConnection != nil)
		if !isVerified && !isThisMachine(entry.Host) && !slices.Contains(hosts, entry.Host) {
			hosts = append(hosts, entry.Host)
		}
	}
	return hosts, nil
}

// isThisMachine reports whether a host of a database address is this machine: the
// directory of a socket, or a loopback address.
func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || host == "localhost" || ip != nil && ip.IsLoopback()
}
