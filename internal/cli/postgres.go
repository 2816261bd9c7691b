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
	owner *syscall.Credential // the user that the server runs as; nil means this user
	users *os.File            // held while the cluster is in use
}

// leastVersion is the oldest Postgres that the schema works with.
const leastVersion = 15

const howToInstall = `install it (Debian, Ubuntu: apt install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql), or pass a database URL with --database-url or DATABASE_URL`

// startCluster starts the cluster in dir, created on first use, and returns it
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

	// "starting" is held while a command starts or stops the server, "users"
	// is shared by all commands that use it. The first lock is taken before the
	// second everywhere, so that no two commands wait for each other.
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

	// A command that is asked to stop while the server starts also stops the
	// server.
	if ctx.Err() != nil {
		starting.Close()
		return nil, "", errors.Join(ctx.Err(), c.stopSoon(ctx))
	}
	return c, address, nil
}

// stopSoon is stop for a caller whose context may have ended.
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

	// With our own share released, an exclusive lock is available only if no
	// other command has one.
	c.users.Close()
	users, err := c.lock("users", syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return nil //nolint:nilerr // another command holds it
	}
	defer users.Close()
	return c.run(ctx, "pg_ctl", "stop", "-s", "-w", "-m", "fast", "-D", c.data())
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

// ensure creates the cluster and starts it, as far as that is not done.
func (c *cluster) ensure(ctx context.Context) error {
	if _, err := os.Stat(c.data()); err != nil {
		if err := c.create(ctx); err != nil {
			return fmt.Errorf("create a private Postgres in %s: %w", c.dir, err)
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
		return fmt.Errorf("the private Postgres failed to start; its log is %s: %w", log, err)
	}
	return nil
}

// create creates the cluster beside its final directory and then renames it:
// one that was cut short is created again.
func (c *cluster) create(ctx context.Context) error {
	draft := c.data() + ".new"
	if err := os.RemoveAll(draft); err != nil {
		return err
	}

	password := filepath.Join(c.dir, "password")
	if err := os.WriteFile(password, []byte(rand.Text()), 0o600); err != nil {
		return err
	}

	// initdb runs as the server's user, and must be able to read the file.
	if err := c.own(password); err != nil {
		return err
	}

	if err := c.run(ctx, "initdb", "-D", draft, "-U", "postgres", "--pwfile="+password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale=C", "--no-instructions"); err != nil {
		return err
	}

	// The single-user mode needs neither a port nor the password.
	single := c.command(ctx, "postgres", "--single", "-D", draft, "postgres")
	single.Stdin = strings.NewReader("CREATE DATABASE waybill;\n")
	if err := finish(single); err != nil {
		return err
	}
	return os.Rename(draft, c.data())
}

// address returns where the running server's database is.
func (c *cluster) address() (string, error) {
	pidFile, err := os.ReadFile(filepath.Join(c.data(), "postmaster.pid"))
	if err != nil {
		return "", fmt.Errorf("the private Postgres has stopped: %w", err)
	}
	password, err := os.ReadFile(filepath.Join(c.dir, "password"))
	if err != nil {
		return "", fmt.Errorf("read the password of the private Postgres: %w", err)
	}

	// The fourth line of the file is the port.
	lines := strings.Split(string(pidFile), "\n")
	if len(lines) < 4 {
		return "", errors.New("the private Postgres is still starting: try again")
	}
	address := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("postgres", strings.TrimSpace(string(password))),
		Host:     net.JoinHostPort("127.0.0.1", strings.TrimSpace(lines[3])),
		Path:     "/waybill",
		RawQuery: "sslmode=disable",
	}
	return address.String(), nil
}

// version returns the major version that created the data, 0 if there is none
// yet.
func (c *cluster) version() int {
	text, _ := os.ReadFile(filepath.Join(c.data(), "PG_VERSION"))
	n, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return n
}

// mkdir creates the directory, and checks that the server's user can write to
// it.
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

	// The user may own the directory and still not reach it, because of a
	// directory above. Only a program that runs as that user finds out.
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

// lock takes a lock that ends with this process, or when the file is closed.
func (c *cluster) lock(name string, how int) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(c.dir, name+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the private Postgres: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), how); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

func (c *cluster) run(ctx context.Context, program string, args ...string) error {
	return finish(c.command(ctx, program, args...))
}

// command returns a program of Postgres, run as the server's user. It has a
// process group of its own: Ctrl-C in the terminal does not reach it.
func (c *cluster) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(c.bin, program), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setpgid: true}
	cmd.Dir = "/" // the server's user may not be allowed in the caller's directory
	cmd.Env = []string{"PATH=" + c.bin + ":/usr/bin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = 5 * time.Second

	// initdb has children, which must end with it.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// finish runs cmd; its error shows what it printed.
func finish(cmd *exec.Cmd) error {
	var output bytes.Buffer
	cmd.Stdout = &output
	cmd.Stderr = &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.TrimSpace(output.String()))
	}
	return nil
}

// freePort returns a port of 127.0.0.1 that nobody listens on.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
