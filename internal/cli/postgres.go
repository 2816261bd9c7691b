package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A cluster is a private Postgres of this user, for development. It listens on
// 127.0.0.1 alone and asks for a password that only this user can read.
// Commands that run beside each other share it, and the last one stops it.
type cluster struct {
	dir   string // holds data, log, password and locks
	bin   string
	owner *syscall.Credential // whom the server runs as; nil is this user
	users *os.File            // held while the cluster is in use
}

// leastVersion is the oldest Postgres that the schema works with.
const leastVersion = 15

const howToInstall = `install it (Debian, Ubuntu: apt install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql), or give the address of a database with --database-url or DATABASE_URL`

// startCluster starts the cluster in dir, made on first use, and returns it
// with the address of its database.
func startCluster(ctx context.Context, dir string) (c *cluster, address string, err error) {
	c = &cluster{dir: dir}
	if c.owner, err = clusterOwner(); err != nil {
		return nil, "", err
	}
	if err := c.mkdir(); err != nil {
		return nil, "", err
	}
	if c.bin, err = findBinaries(c.version()); err != nil {
		return nil, "", err
	}
	starting, err := c.lock("starting", syscall.LOCK_EX)
	if err != nil {
		return nil, "", err
	}
	defer starting.Close()
	if c.users, err = c.lock("users", syscall.LOCK_SH); err != nil {
		return nil, "", err
	}
	if err = c.ensure(ctx); err == nil {
		address, err = c.address()
	}
	if err != nil {
		c.users.Close()
		return nil, "", err
	}

	// Whoever was told to stop while the server started stops it too.
	if ctx.Err() != nil {
		starting.Close()
		return nil, "", errors.Join(ctx.Err(), c.stopSoon(ctx))
	}
	return c, address, nil
}

// stopSoon is stop for somebody whose context may have ended.
func (c *cluster) stopSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()

	return c.stop(ctx)
}

// stop ends the server unless another command still uses it.
func (c *cluster) stop(ctx context.Context) error {
	starting, err := c.lock("starting", syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer starting.Close()
	c.users.Close()
	users, err := c.lock("users", syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return nil //nolint:nilerr // somebody else holds it
	}
	defer users.Close()
	return c.run(ctx, "pg_ctl", "stop", "-s", "-w", "-m", "fast", "-D", c.data())
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// ensure makes the cluster and starts it, as far as that is not done.
func (c *cluster) ensure(ctx context.Context) error {
	if _, err := os.Stat(c.data()); err != nil {
		if err := c.create(ctx); err != nil {
			return fmt.Errorf("make a private Postgres in %s: %w", c.dir, err)
		}
	}
	if c.run(ctx, "pg_ctl", "status", "-D", c.data()) == nil {
		return nil
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	log := filepath.Join(c.dir, "log")
	options := fmt.Sprintf("-c port=%d -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_locks_per_transaction=256", port)

	// A start that is cut short would leave a server that nobody stops: it is
	// waited for, and startCluster stops it.
	if err := c.run(context.WithoutCancel(ctx), "pg_ctl", "start", "-s", "-w", "-t", "60", "-D", c.data(), "-l", log, "-o", options); err != nil {
		return fmt.Errorf("the private Postgres does not start; its log is %s: %w", log, err)
	}
	return nil
}

// create makes the cluster beside its final place: one that was cut short is
// made again.
func (c *cluster) create(ctx context.Context) error {
	draft := c.data() + ".new"
	if err := os.RemoveAll(draft); err != nil {
		return err
	}
	password := filepath.Join(c.dir, "password")
	if err := os.WriteFile(password, []byte(rand.Text()), 0o600); err != nil {
		return err
	}
	if err := c.own(password); err != nil {
		return err
	}
	if err := c.run(ctx, "initdb", "-D", draft, "-U", "postgres", "--pwfile="+password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--no-instructions"); err != nil {
		return err
	}
	single := c.command(ctx, "postgres", "--single", "-D", draft, "postgres")
	single.Stdin = strings.NewReader("CREATE DATABASE waybill;\n")
	if err := finish(single); err != nil {
		return err
	}
	return os.Rename(draft, c.data())
}

// address is where the running server's database is: the fourth line of its
// pid file is the port.
func (c *cluster) address() (string, error) {
	pid, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return "", fmt.Errorf("the private Postgres is gone again: %w", err)
	}
	password, err := os.ReadFile(filepath.Join(c.dir, "password"))
	if err != nil {
		return "", fmt.Errorf("password of the private Postgres: %w", err)
	}
	lines := strings.Split(string(pid), "\n")
	if len(lines) < 4 {
		return "", errors.New("the private Postgres is still starting: try again")
	}
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword("postgres", strings.TrimSpace(string(password))),
		Host: net.JoinHostPort("127.0.0.1", strings.TrimSpace(lines[3])), Path: "/waybill", RawQuery: "sslmode=disable",
	}
	return u.String(), nil
}

// version is the major version that made the data, 0 if there is none yet.
func (c *cluster) version() int {
	text, _ := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// mkdir makes the directory, and sees that the server's user can reach it.
func (c *cluster) mkdir() error {
	if err := os.MkdirAll(filepath.Dir(c.dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(c.dir, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	if err := c.own(c.dir); err != nil {
		return err
	}
	probe := exec.Command("test", "-w", c.dir)
	probe.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner}
	probe.Dir = "/"
	if probe.Run() != nil {
		return fmt.Errorf("the user that Postgres runs as cannot write to %s: choose another directory with --data-dir", c.dir)
	}
	return nil
}

// own gives a file to the server's user.
func (c *cluster) own(path string) error {
	if c.owner == nil {
		return nil
	}
	return os.Chown(path, int(c.owner.Uid), int(c.owner.Gid))
}

// lock takes a lock that ends with this process, or with the file.
func (c *cluster) lock(name string, how int) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.dir, name+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock of the private Postgres: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (c *cluster) run(ctx context.Context, program string, args ...string) error {
	return finish(c.command(ctx, program, args...))
}

// command is a program of Postgres, run as the server's user, out of reach of
// the terminal's signals.
func (c *cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, program), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setpgid: true}
	cmd.Dir = "/" // the server's user may not be allowed where the caller stands
	cmd.Env = []string{"PATH=" + c.bin + ":/usr/bin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = 5 * time.Second
	// initdb has children, which end with it.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// finish runs cmd; its error shows what it printed.
func finish(cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(out.String()))
	}
	return nil
}

// freePort is a port of 127.0.0.1 that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
