package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestMain starts a service for the examples, which are then real calls. Without
// a database, or where the binary is not built, the examples are only compiled.
func TestMain(m *testing.M) {
	flag.Parse()

	binary := filepath.Join("..", "bin", "waybill")
	_, err := os.Stat(binary)
	if os.Getenv("DATABASE_URL") == "" || err != nil {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "the examples need DATABASE_URL and bin/waybill")
			os.Exit(1)
		}
		_ = flag.Set("test.skip", "^Example")
		os.Exit(m.Run())
	}

	stop, err := serveExamples(binary)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// serveExamples starts "waybill dev" on a database of its own, and sets the
// variables that the examples read.
func serveExamples(binary string) (stop func(), err error) {
	database, drop, err := createDatabase()
	if err != nil {
		return nil, err
	}
	state, err := os.MkdirTemp("", "waybill-examples")
	if err != nil {
		return nil, err
	}

	service := exec.Command(binary, "dev", "--json", "--listen", "127.0.0.1:0")
	service.Env = append(os.Environ(), "DATABASE_URL="+database, "LOG_LEVEL=ERROR", "METRICS_LISTEN=off", "XDG_DATA_HOME="+state)
	service.Stderr = os.Stderr
	output, err := service.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := service.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = service.Process.Signal(syscall.SIGTERM)
		_ = service.Wait()
		_ = os.RemoveAll(state)
		drop()
	}

	var ready struct{ URL, APIKey string }
	line, err := bufio.NewReader(output).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("waybill dev: %w", err)
	}

	_ = os.Setenv("WAYBILL_URL", ready.URL)
	_ = os.Setenv("WAYBILL_API_KEY", ready.APIKey)
	return stop, nil
}

// createDatabase creates an empty database on the server of DATABASE_URL.
func createDatabase() (address string, drop func(), err error) {
	server, err := url.Parse(os.Getenv("DATABASE_URL"))
	if err != nil {
		return "", nil, err
	}
	name := fmt.Sprintf("waybill_examples_%d", os.Getpid())

	run := func(statement string) error {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, server.String())
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(ctx) }()
		_, err = conn.Exec(ctx, statement)
		return err
	}
	if err := run("CREATE DATABASE " + name); err != nil {
		return "", nil, err
	}

	own := *server
	own.Path = "/" + name
	return own.String(), func() { _ = run("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)") }, nil
}
