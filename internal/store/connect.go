package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/waybillhq/waybill/internal/ship"
)

// How connections are opened. An address may list the servers of a cell, a primary
// and its standbys; every connection then goes to the one that is the primary at
// the time. While there is none, reads that allow it go to a standby.

// Limits of connections to a server that has gone without a word, such as a machine
// that has lost its power. Without them a statement would wait for minutes.
const (
	connectTimeout = 5 * time.Second
	pingTimeout    = 5 * time.Second
	silenceTimeout = 10 * time.Second // data that the server's machine does not acknowledge
)

// connect opens one connection to the primary at the address.
func connect(ctx context.Context, address string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		return nil, fmt.Errorf("database address: %w", err)
	}
	usePrimary(cfg)
	return pgx.ConnectConfig(ctx, cfg)
}

// usePrimary has connections go to the primary, if the address has several servers
// or asks for a kind of server, and notice soon if its machine is gone.
//
// "read-write" of target_session_attrs would refuse the look-ups' connections,
// which are read-only wherever they go. Whether the server is a standby is the
// question here, for all of them.
func usePrimary(cfg *pgx.ConnConfig) {
	if len(servers(cfg)) > 1 || cfg.ValidateConnect != nil {
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	noticeSilence(cfg)
}

// useAnyServer has connections go to the first server that answers.
func useAnyServer(cfg *pgx.ConnConfig) {
	cfg.ValidateConnect = nil
	noticeSilence(cfg)
}

// noticeSilence ends connections to a machine that no longer answers.
func noticeSilence(cfg *pgx.ConnConfig) {
	cfg.ConnectTimeout = connectTimeout
	dialer := &net.Dialer{
		KeepAliveConfig: net.KeepAliveConfig{
			Enable:   true,
			Idle:     5 * time.Second,
			Interval: 2 * time.Second,
			Count:    3,
		},
		Control: func(network, _ string, conn syscall.RawConn) error {
			return limitSilence(network, conn, silenceTimeout)
		},
	}
	cfg.DialFunc = dialer.DialContext
}

// servers returns the distinct servers of an address.
func servers(cfg *pgx.ConnConfig) map[string]bool {
	list := map[string]bool{net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))): true}
	for _, further := range cfg.Fallbacks {
		list[net.JoinHostPort(further.Host, strconv.Itoa(int(further.Port)))] = true
	}
	return list
}

// pool is a pool of connections to the primary. Statements of a context that allows
// stale data go to a standby while there is no primary.
type pool struct {
	*pgxpool.Pool
	standby *pgxpool.Pool // nil if the address has one server
	primary *presence     // of all pools of the store
}

// close ends all connections.
func (p pool) close() {
	for _, pool := range []*pgxpool.Pool{p.Pool, p.standby} {
		if pool != nil {
			pool.Close()
		}
	}
}

// SendBatch, Query and QueryRow are those of the pool that the context reads from.

func (p pool) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	return p.reading(ctx).SendBatch(ctx, batch)
}

func (p pool) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.reading(ctx).Query(ctx, sql, args...)
}

func (p pool) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return p.reading(ctx).QueryRow(ctx, sql, args...)
}

// reading returns the pool that statements of the context go to: the primary's,
// except while there is no primary and the context allows stale data. Connections
// to standbys are read-only, also once the standby has become the primary.
func (p pool) reading(ctx context.Context) *pgxpool.Pool {
	allowed, _ := ctx.Value(staleKey{}).(*staleReads)
	if allowed == nil || p.standby == nil {
		return p.Pool
	}

	if p.primary.mayTry() {
		conn, err := p.Acquire(ctx)
		if err == nil {
			conn.Release()
			p.primary.note(true)
			return p.Pool
		}
		if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok {
			return p.Pool
		}
		p.primary.note(false)
	}

	// What cannot say how old its data is, is not read.
	if !allowed.noted.Load() {
		var asOf time.Time
		if err := p.standby.QueryRow(ctx, sqlDataAsOf).Scan(&asOf); err != nil {
			return p.Pool
		}
		allowed.note(asOf)
		allowed.noted.Store(true)
	}
	return p.standby
}

// sqlDataAsOf returns when the last transaction ended that the server has.
const sqlDataAsOf = `SELECT CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_xact_replay_timestamp(), now()) ELSE now() END`

type staleKey struct{}

type staleReads struct {
	note  func(asOf time.Time)
	noted atomic.Bool
}

// AllowStale returns a context whose reads may come from a standby while there is
// no primary. Note is called before the first of them, with the time of the last
// transaction that the standby has.
func AllowStale(ctx context.Context, note func(asOf time.Time)) context.Context {
	return context.WithValue(ctx, staleKey{}, &staleReads{note: note})
}

// presence is what is known about the primary: the time from which on it may be
// tried again, in nanoseconds; zero while it is there.
type presence struct{ tryAt atomic.Int64 }

// tryAgainAfter is how long reads do not look for a primary that was not there.
const tryAgainAfter = time.Second

// mayTry reports whether to look for the primary. One reader at a time finds out
// whether it is back: on a machine that does not answer that takes seconds.
func (p *presence) mayTry() bool {
	at := p.tryAt.Load()
	if at == 0 {
		return true
	}
	now := time.Now()
	return at <= now.UnixNano() && p.tryAt.CompareAndSwap(at, now.Add(2*connectTimeout).UnixNano())
}

// note remembers whether the primary was there.
func (p *presence) note(found bool) {
	if found {
		p.tryAt.Store(0)
		return
	}
	p.tryAt.Store(time.Now().Add(tryAgainAfter).UnixNano())
}

// isLost reports whether the connection broke while a statement was under way: the
// transaction may have been committed. The driver reports a time-out of the
// connection itself when the deadline was not that of the statement's context.
func isLost(err error) bool {
	for _, cause := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, syscall.ETIMEDOUT, os.ErrDeadlineExceeded} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// lost is the error of a connection that broke.
func lost(err error) error {
	return &ship.Error{
		Kind:       ship.Uncertain,
		Message:    "the connection to the database was lost before it confirmed the change; send the same request again with the same Idempotency-Key",
		RetryAfter: noPrimaryRetry,
		Err:        err,
	}
}

// noPrimaryRetry is after how long a request may succeed that found no primary. A
// standby takes over within seconds, or within half a minute if the machine of the
// primary has died.
const noPrimaryRetry = 5 * time.Second
