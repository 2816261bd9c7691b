package deploy

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/config"
)

// unit is the [Service] section of the systemd unit.
type unit map[string][]string

func readUnit(t *testing.T) unit {
	t.Helper()
	u, section := unit{}, ""
	for line := range strings.SplitSeq(read(t, "deploy", "waybill.service"), "\n") {
		name, value, assigned := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "["):
			section = line
		case section == "[Service]" && assigned && !strings.HasPrefix(line, "#"):
			u[name] = append(u[name], value)
		}
	}
	return u
}

func (u unit) one(t *testing.T, name string) string {
	t.Helper()
	if len(u[name]) != 1 {
		t.Fatalf("the unit has %s %d times, want once", name, len(u[name]))
	}
	return u[name][0]
}

// box is what the unit's sandboxing leaves to the program.
func (u unit) box(t *testing.T, env ...string) box {
	t.Helper()
	for _, name := range []string{"DynamicUser", "PrivateTmp", "PrivateDevices", "ProtectHome", "NoNewPrivileges", "MemoryDenyWriteExecute"} {
		if u.one(t, name) != "yes" {
			t.Errorf("%s is not yes", name)
		}
	}
	if u.one(t, "ProtectSystem") != "strict" || u.one(t, "CapabilityBoundingSet") != "" {
		t.Error("the unit may write to the system, or has capabilities")
	}

	program, _, _ := strings.Cut(u.one(t, "ExecStart"), " ")
	b := box{
		root:   "/",
		hidden: []string{"/home", "/root", "/var/lib", filepath.Dir(program)},
		files:  map[string]string{program: binary(t)},
		states: map[string]string{"/var/lib/" + u.one(t, "StateDirectory"): stateDir(t)},
		env:    append([]string{"HOME=/", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"}, env...),
	}
	b.env = append(b.env, u["Environment"]...)
	return b
}

// TestTheUnitStarts runs the unit's own lines under its sandboxing, as far as a
// namespace can be it: the system-call filter is left to systemd.
func TestTheUnitStarts(t *testing.T) {
	t.Parallel()
	u := readUnit(t)
	api, metrics := freeAddress(t), freeAddress(t)
	owner, servingURL := plainDatabase(t)
	b := u.box(t, "DATABASE_URL="+owner, "SECRET_KEY="+secretKey, "BASE_URL=https://ship.example.com",
		"LISTEN="+api, "METRICS_LISTEN="+metrics, "LOG_LEVEL=WARN")
	program := strings.Fields(u.one(t, "ExecStart"))[0]

	if out, err := b.command(t, "sh", "-c", "id -u; touch /etc/x /usr/x /var/lib/x /var/x /home/x /x 2>/dev/null; touch /var/lib/waybill/x /tmp/x && ls /etc/x /usr/x /var/lib/x /var/x /home/x /x 2>/dev/null").Output(); string(out) != fmt.Sprintln(user) {
		t.Fatalf("the sandbox says %q, %v: want the user %d, and nothing written", out, err, user)
	}

	b.run(t, strings.Fields(u.one(t, "ExecStartPre"))...)

	// From here on with the login that owns nothing: the unit's own check and the
	// service work with it.
	b.env = append(b.env, "DATABASE_URL="+servingURL)
	b.run(t, strings.Fields(u.one(t, "ExecStartPre"))...)

	notified := listenNotifications(t, &b)
	serving := b
	serving.noExec = true
	serving.env = append(serving.env, "WATCHDOG_USEC=1000000")
	if u.one(t, "Type") != "notify" || u.one(t, "WatchdogSec") == "" {
		t.Error("systemd neither waits for the service nor watches it")
	}
	serving.serve(t, strings.Fields(u.one(t, "ExecStart"))...)
	expect(t, notified, "READY=1")
	expect(t, notified, "WATCHDOG=1")

	useIt(t, b, program, api, metrics)
	if spool, err := os.Stat(filepath.Join(b.states["/var/lib/waybill"], "spool")); err != nil || !spool.IsDir() {
		t.Errorf("what was bought is not kept in the state directory: %v", err)
	}
}

// listenNotifications is the supervisor's end of NOTIFY_SOCKET. The name is an
// abstract one, which has no file.
func listenNotifications(t *testing.T, b *box) *net.UnixConn {
	t.Helper()
	name := fmt.Sprintf("@waybill-test-%d", os.Getpid())
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	b.env = append(b.env, "NOTIFY_SOCKET="+name)
	return conn
}

func expect(t *testing.T, conn *net.UnixConn, want string) {
	t.Helper()
	buffer := make([]byte, 100)
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			t.Fatalf("the supervisor is not notified of %s: %v", want, err)
		}
		if string(buffer[:n]) == want {
			return
		}
	}
}

// TestTheUnitIsRead has systemd itself read the unit, with a binary where the
// unit looks for it.
func TestTheUnitIsRead(t *testing.T) {
	t.Parallel()
	need(t, "systemd-analyze")
	u := readUnit(t)
	program := strings.Fields(u.one(t, "ExecStart"))[0]
	file := filepath.Join(t.TempDir(), "waybill.service")
	text := strings.ReplaceAll(read(t, "deploy", "waybill.service"), program, "/bin/true")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}

	out, err := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), "waybill.service") {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	out, err = exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager", file).CombinedOutput()
	if err != nil {
		t.Errorf("systemd-analyze security: %v\n%s", err, out)
	}
}

func TestTheUnitSetsWhatTheProgramWrites(t *testing.T) {
	t.Parallel()
	u := readUnit(t)
	values := map[string]string{"DATABASE_URL": "postgres://waybill:x@127.0.0.1/waybill"}
	for _, one := range u["Environment"] {
		name, value, _ := strings.Cut(one, "=")
		values[name] = value
	}
	cfg := loadKnown(t, values)
	if !strings.HasPrefix(cfg.SpoolDir, "/var/lib/"+u.one(t, "StateDirectory")+"/") {
		t.Errorf("SPOOL_DIR is %s, outside the state directory", cfg.SpoolDir)
	}
}

// loadKnown reads settings as the program does. A name that it does not know is
// a mistake.
func loadKnown(t *testing.T, values map[string]string) config.Config {
	t.Helper()
	known := map[string]bool{"PATH": true, "HOME": true}
	for _, s := range config.Settings() {
		known[s.Name] = true
	}
	for name := range values {
		if !known[name] {
			t.Errorf("%s is no setting of the program", name)
		}
	}

	cfg, err := config.Load(func(name string) (string, bool) {
		value, found := values[name]
		return value, found
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
