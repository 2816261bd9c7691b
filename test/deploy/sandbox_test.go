// Package deploy runs the program as deploy/ and the Dockerfile say: as a user
// without rights, with a root that cannot be written, as the plain owner of a
// database, with the settings of those files.
package deploy

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/store/storetest"
)

// user is the one that the image names. systemd's DynamicUser is like it: no
// home, no name, no rights.
const user = 65532

// secretKey encrypts what these tests store.
var secretKey = base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root(t)}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// need skips a test whose program is missing. The gate installs it.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%v: scripts/install", err)
		}
		t.Skipf("%v: scripts/install", err)
	}
}

// plainDatabase prepares a database with deploy/init-database.sh and returns
// its address as the owner and as the login that serves. Neither may create
// roles or databases.
func plainDatabase(t *testing.T) (owner, serving string) {
	t.Helper()
	need(t, "psql")
	server, err := url.Parse(storetest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("waybill_plain_%d_%d", os.Getpid(), time.Now().UnixNano())
	const password = "it's a secret"
	admin, _ := server.User.Password()

	script := exec.Command(filepath.Join(root(t), "deploy", "init-database.sh"))
	script.Env = append(os.Environ(),
		"PGHOST="+server.Hostname(), "PGPORT="+server.Port(), "PGUSER="+server.User.Username(), "PGPASSWORD="+admin,
		"WAYBILL_DB_NAME="+name, "WAYBILL_DB_USER="+name, "WAYBILL_DB_PASSWORD="+password,
		"WAYBILL_SERVE_USER="+name+"_serve", "WAYBILL_SERVE_PASSWORD="+password)
	if out, err := script.CombinedOutput(); err != nil {
		t.Fatalf("init-database.sh: %v\n%s", err, out)
	}
	// Nothing may depend on its running once.
	again := exec.Command(script.Path)
	again.Env = script.Env
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("init-database.sh a second time: %v\n%s", err, out)
	}

	conn := storetest.Conn(t, server.String())
	t.Cleanup(func() {
		for _, sql := range []string{"DROP DATABASE " + name + " WITH (FORCE)", "DROP ROLE " + name, "DROP ROLE " + name + "_serve"} {
			if _, err := conn.Exec(context.Background(), sql); err != nil {
				t.Error(err)
			}
		}
	})
	for _, login := range []string{name, name + "_serve"} {
		var powers bool
		err = conn.QueryRow(t.Context(), "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolbypassrls FROM pg_roles WHERE rolname = $1", login).Scan(&powers)
		if err != nil || powers {
			t.Fatalf("the login %s has powers: %t, %v", login, powers, err)
		}

		// Logins of other installations on the server share the roles.
		var mayConnect, othersMay, seesStats bool
		err = conn.QueryRow(t.Context(), `SELECT has_database_privilege($1, $2, 'CONNECT'), has_database_privilege('public', $2, 'CONNECT'),
			pg_has_role($3, 'pg_read_all_stats', 'USAGE')`, login, name, name).Scan(&mayConnect, &othersMay, &seesStats)
		if err != nil || !mayConnect || othersMay || !seesStats {
			t.Errorf("the login %s may connect: %t, others may: %t, the owner sees statistics: %t, %v", login, mayConnect, othersMay, seesStats, err)
		}
	}

	server.Path = "/" + name
	server.User = url.UserPassword(name, password)
	owner = server.String()
	server.User = url.UserPassword(name+"_serve", password)
	return owner, server.String()
}

// A box is what a process may see and write. Its paths are those inside.
type box struct {
	root   string            // directory that is its root; it cannot be written
	files  map[string]string // single files, by their path inside
	states map[string]string // directories that can be written, by their path inside
	hidden []string          // directories that are empty inside
	env    []string
	noExec bool // memory that was written is never executed
}

// command runs a program inside, as the user without rights.
func (b box) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	need(t, "bwrap")
	flags := []string{
		"--unshare-all", "--share-net", "--die-with-parent", "--cap-drop", "ALL",
		"--uid", fmt.Sprint(user), "--gid", fmt.Sprint(user), "--clearenv", "--chdir", "/",
		"--ro-bind", b.root, "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
	}
	var sealed []string
	for _, dir := range b.hidden {
		flags = append(flags, "--tmpfs", dir)
		sealed = append(sealed, "--remount-ro", dir)
	}
	for inside, outside := range b.states {
		flags = append(flags, "--bind", outside, inside)
	}
	for inside, outside := range b.files {
		flags = append(flags, "--ro-bind", outside, inside)
	}
	flags = append(flags, sealed...)
	for _, one := range b.env {
		name, value, _ := strings.Cut(one, "=")
		flags = append(flags, "--setenv", name, value)
	}
	if b.noExec {
		// What systemd's MemoryDenyWriteExecute asks of the kernel.
		args = append([]string{"python3", "-c", `
import ctypes, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) != 0: sys.exit("prctl(PR_SET_MDWE) failed")
os.execv(sys.argv[1], sys.argv[1:])`}, args...)
	}

	cmd := exec.Command("bwrap", append(append(flags, "--"), args...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: user, Gid: user}
	}
	return cmd
}

// run runs a program inside to its end and returns what it prints.
func (b box) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := b.command(t, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", args, err, out, stderr.String())
	}
	return string(out)
}

// serve starts a service inside, and stops it in the end as a supervisor does.
func (b box) serve(t *testing.T, args ...string) {
	t.Helper()
	cmd := b.command(t, args...)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// bwrap passes no signals on; the program is its only child's child.
		for _, pid := range descendants(cmd.Process.Pid) {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v ended with %v\n%s", args, err, log.String())
		}
		if t.Failed() {
			t.Logf("%v said\n%s", args, log.String())
		}
	})
}

// descendants are the processes below one, the nearest last, without bwrap's
// own.
func descendants(pid int) (list []int) {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for text := range strings.FieldsSeq(string(children)) {
		var child int
		if _, err := fmt.Sscan(text, &child); err != nil {
			continue
		}
		list = append(list, descendants(child)...)
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", child)); strings.TrimSpace(string(name)) != "bwrap" {
			list = append(list, child)
		}
	}
	return list
}

// openDir is a new directory that the user without rights may enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "waybill-deploy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// stateDir is a new directory of that user.
func stateDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(openDir(t), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, user, user); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// binary is a copy of the program where everybody may run it.
func binary(t *testing.T) string {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(root(t), "bin", "waybill"))
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("bin/waybill is not built")
		}
		t.Skip("bin/waybill is not built: make build")
	}
	file := filepath.Join(openDir(t), "waybill")
	if err := os.WriteFile(file, program, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// get waits until an address answers with 200, and returns the body.
func get(t *testing.T, address string) string {
	t.Helper()
	last := "no answer"
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		resp, err := http.Get(address)
		if err != nil {
			last = err.Error()
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return string(body)
		}
		last = resp.Status + " " + string(body)
	}
	t.Fatalf("%s: %s", address, last)
	return ""
}

// useIt does what a new installation does first: an account, a key, a label,
// and a look at the metrics and the checks.
func useIt(t *testing.T, b box, program, api, metrics string) {
	t.Helper()
	if got := get(t, "http://"+metrics+"/healthz"); got != "ok\n" {
		t.Errorf("/healthz answers %q", got)
	}
	get(t, "http://"+api+"/readyz")
	if got := b.run(t, program, "health"); got != "ready\n" {
		t.Errorf("waybill health prints %q", got)
	}
	b.run(t, program, "account", "create", "--name", "Shop")
	key := strings.TrimSpace(b.run(t, program, "key", "create", "--name", "test"))

	const order = `{"orderId":"1001","destination":{"name":"山田太郎","address1":"350 5th Avenue","city":"New York","state":"NY","zip":"10118","country":"US"},"parcel":{"weight":2.5}}`
	req, err := http.NewRequest(http.MethodPost, "http://"+api+"/v1/shipments", strings.NewReader(order))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	var made struct{ LabelStatus string }
	if err := json.Unmarshal(body, &made); err != nil || resp.StatusCode != http.StatusCreated || made.LabelStatus != "ready" {
		t.Fatalf("a label: %s %s", resp.Status, body)
	}

	if got := get(t, "http://"+metrics+"/metrics"); !strings.Contains(got, "waybill_database_up 1") || !strings.Contains(got, "waybill_spool_files 0") {
		t.Errorf("/metrics shows\n%s", got)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(b.run(t, program, "doctor", "--json")), "\n") {
		var check struct{ Level, Subject, Message string }
		if err := json.Unmarshal([]byte(line), &check); err != nil || check.Level != "ok" {
			t.Errorf("doctor: %v %s", err, line)
		}
	}
}
