package proving

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Patroni is a cell's database: nodes of Postgres that Patroni keeps, of which one
// is the primary and one its synchronous standby, and an etcd. It runs
// deploy/patroni/patroni.yml.
type Patroni struct {
	URL   string // of its database, with all nodes
	Nodes []*Node

	t            *testing.T
	dir          string
	certificates string // directory of those for this machine
	etcd         *Process
	http         *http.Client // that the REST API lets in
}

// A Node is a Postgres with its Patroni.
type Node struct {
	*Process // Patroni; its address is that of the REST API
	Postgres string
	Data     string

	env []string
}

// patroniPassword is that of all logins, on loopback alone.
const patroniPassword = "patroni-proof"

// NewPatroni starts a cell's database that ends with the test. The programs are those
// of Debian's packages patroni and etcd-server.
func NewPatroni(t *testing.T, nodes int) *Patroni {
	t.Helper()
	for _, program := range []string{"patroni", "etcd"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v: install the packages patroni and etcd-server", err)
		}
	}

	dir, err := os.MkdirTemp("", "waybill-patroni")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &Patroni{t: t, dir: dir}
	c.certify()
	c.own(dir)

	c.startEtcd()
	addresses := make([]string, nodes)
	for i := range nodes {
		node := c.newNode(fmt.Sprintf("node%d", i+1))
		c.Nodes = append(c.Nodes, node)
		addresses[i] = node.Postgres
	}
	c.URL = (&url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword("postgres", patroniPassword),
		Host:     strings.Join(addresses, ","),
		Path:     "/waybill",
		RawQuery: "sslmode=disable",
	}).String()

	// The first node makes the cluster; the others copy it.
	for _, node := range c.Nodes {
		node.Start(t)
		t.Cleanup(func() { c.end(node) })
		Await(t, "there is a primary", 2*time.Minute, func() bool { return c.Primary() != nil })
	}
	c.AwaitStandby(2 * time.Minute)
	c.createDatabase()
	return c
}

// certify makes certificates as docs/failover.md says. All nodes are on one machine here.
func (c *Patroni) certify() {
	c.t.Helper()
	const address = "127.0.0.1"
	Output(c.t, exec.Command("../../deploy/patroni/certificates", filepath.Join(c.dir, "certificates"), address))
	c.certificates = filepath.Join(c.dir, "certificates", address)

	own, err := tls.LoadX509KeyPair(c.certificate("node.crt"), c.certificate("node.key"))
	if err != nil {
		c.t.Fatal(err)
	}
	authority, err := os.ReadFile(c.certificate("ca.crt"))
	if err != nil {
		c.t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	c.http = &http.Client{
		Timeout:   2 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: trusted}},
	}
}

func (c *Patroni) certificate(name string) string { return filepath.Join(c.certificates, name) }

// environment are the settings of a file of deploy/patroni with other values for this
// machine. Each of them must be in the file: what is tried is what operators copy.
func (c *Patroni) environment(file string, values map[string]string) (env []string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy/patroni", file))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, isSetting := strings.Cut(strings.TrimSpace(line), "=")
		if !isSetting || strings.HasPrefix(name, "#") {
			continue
		}
		if ours, isGiven := values[name]; isGiven {
			value = ours
			delete(values, name)
		}
		if strings.HasSuffix(value, ".crt") || strings.HasSuffix(value, ".key") {
			value = c.certificate(filepath.Base(value))
		}
		env = append(env, name+"="+value)
	}
	for name := range values {
		c.t.Errorf("deploy/patroni/%s does not have %s", file, name)
	}
	return env
}

// own gives a directory and all that is in it to the user that the programs run as.
func (c *Patroni) own(dir string) {
	c.t.Helper()
	credential := c.credential()
	if credential == nil {
		return
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, int(credential.Uid), int(credential.Gid))
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// credential is the user postgres if the test runs as root: Postgres refuses to.
func (c *Patroni) credential() *syscall.Credential {
	if os.Geteuid() != 0 {
		return nil
	}
	owner, err := user.Lookup("postgres")
	if err != nil {
		c.t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(owner.Uid, 10, 32)
	gid, _ := strconv.ParseUint(owner.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// command is a program in the cell's directory with an environment of its own.
func (c *Patroni) command(env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = c.dir
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", "HOME=" + c.dir}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.credential()}
	return cmd
}

func (c *Patroni) startEtcd() {
	c.etcd = &Process{Name: "etcd", Addr: FreeAddr(c.t), Log: filepath.Join(c.dir, "etcd.log")}
	peer := "https://" + FreeAddr(c.t)
	client := "https://" + c.etcd.Addr
	env := c.environment("etcd.env", map[string]string{
		"ETCD_DATA_DIR":                    filepath.Join(c.dir, "etcd"),
		"ETCD_LISTEN_CLIENT_URLS":          client,
		"ETCD_ADVERTISE_CLIENT_URLS":       client,
		"ETCD_LISTEN_PEER_URLS":            peer,
		"ETCD_INITIAL_ADVERTISE_PEER_URLS": peer,
		"ETCD_INITIAL_CLUSTER":             "node1=" + peer,
	})
	c.etcd.Command = func() *exec.Cmd { return c.command(append(env, "ETCD_LOGGER=zap"), "etcd") }
	c.etcd.Start(c.t)
	c.t.Cleanup(func() { c.etcd.End(c.t) })
	Await(c.t, "etcd answers", time.Minute, func() bool { return c.answers(c.etcd, "/health") })
}

func (c *Patroni) newNode(name string) *Node {
	config, err := filepath.Abs("../../deploy/patroni/patroni.yml")
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		c.t.Fatal(err)
	}

	// The user postgres may have no access to the checkout.
	config = filepath.Join(c.dir, "patroni.yml")
	if err := os.WriteFile(config, text, 0o644); err != nil {
		c.t.Fatal(err)
	}

	node := &Node{
		Process:  &Process{Name: name, Addr: FreeAddr(c.t), Log: filepath.Join(c.dir, name+".log")},
		Postgres: FreeAddr(c.t),
		Data:     filepath.Join(c.dir, name),
	}
	node.env = c.environment("node.env", map[string]string{
		"PATRONI_NAME":                       name,
		"PATRONI_RESTAPI_LISTEN":             node.Addr,
		"PATRONI_RESTAPI_CONNECT_ADDRESS":    node.Addr,
		"PATRONI_POSTGRESQL_LISTEN":          node.Postgres,
		"PATRONI_POSTGRESQL_CONNECT_ADDRESS": node.Postgres,
		"PATRONI_POSTGRESQL_DATA_DIR":        node.Data,
		"PATRONI_ETCD3_HOSTS":                c.etcd.Addr,
		"PATRONI_SUPERUSER_PASSWORD":         patroniPassword,
		"PATRONI_REPLICATION_PASSWORD":       patroniPassword,
		"PATRONI_REWIND_PASSWORD":            patroniPassword,
		"PATRONICTL_CONFIG_FILE":             config,
	})
	node.Command = func() *exec.Cmd { return c.command(node.env, "/usr/bin/patroni", config) }
	return node
}

// createDatabase creates the database and what an administrator would.
func (c *Patroni) createDatabase() {
	c.t.Helper()
	conn, err := pgx.Connect(c.t.Context(), strings.Replace(c.URL, "/waybill?", "/postgres?target_session_attrs=primary&", 1))
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = conn.Close(c.t.Context()) }()
	if _, err := conn.Exec(c.t.Context(), "CREATE DATABASE waybill"); err != nil {
		c.t.Fatal(err)
	}
}

// answers reports whether a program answers with 200 to whoever has a certificate.
func (c *Patroni) answers(p *Process, path string) bool {
	response, err := c.http.Get("https://" + p.Addr + path)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// AdmitStrangers returns the addresses that answer a client which has no certificate.
func (c *Patroni) AdmitStrangers() (admitted []string) {
	c.t.Helper()
	ours := c.http.Transport.(*http.Transport).TLSClientConfig
	stranger := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ours.RootCAs}}}
	for _, address := range []string{c.etcd.Addr + "/version", c.Nodes[0].Addr + "/cluster"} {
		response, err := stranger.Get("https://" + address)
		if err == nil {
			response.Body.Close()
			admitted = append(admitted, address)
		}
	}
	return admitted
}

// Control runs patronictl on the first node, with the settings of the node alone.
func (c *Patroni) Control(args ...string) string {
	c.t.Helper()
	return Output(c.t, c.command(c.Nodes[0].env, "patronictl", args...))
}

// member is a node as Patroni's REST API lists it.
type member struct{ Name, Role, State string }

// members asks any node that answers; nil if none does.
func (c *Patroni) members() []member {
	for _, node := range c.Nodes {
		response, err := c.http.Get("https://" + node.Addr + "/cluster")
		if err != nil {
			continue
		}
		var cluster struct{ Members []member }
		err = json.NewDecoder(response.Body).Decode(&cluster)
		response.Body.Close()
		if err == nil {
			return cluster.Members
		}
	}
	return nil
}

// Primary returns the node that is the primary now and says so itself; nil if there
// is none.
func (c *Patroni) Primary() *Node {
	for _, node := range c.Nodes {
		if c.answers(node.Process, "/primary") {
			return node
		}
	}
	return nil
}

// AwaitStandby waits until the primary has a synchronous standby.
func (c *Patroni) AwaitStandby(limit time.Duration) {
	c.t.Helper()
	Await(c.t, "there is a synchronous standby", limit, func() bool {
		for _, m := range c.members() {
			if m.Role == "sync_standby" && (m.State == "running" || m.State == "streaming") {
				return c.Primary() != nil
			}
		}
		return false
	})
}

// KillPostgres kills the Postgres of a node with all its processes. Patroni stays.
func (c *Patroni) KillPostgres(node *Node) {
	c.t.Helper()
	file, err := os.ReadFile(filepath.Join(node.Data, "postmaster.pid"))
	if err != nil {
		c.t.Errorf("find the postmaster of %s: %v", node.Name, err)
		return
	}
	var pid int
	if _, err := fmt.Sscan(string(file), &pid); err != nil {
		c.t.Errorf("find the postmaster of %s: %v", node.Name, err)
		return
	}

	// The file stays when Postgres is killed, and its number may be somebody else's.
	if at, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || at != node.Data {
		return
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	_ = syscall.Kill(pid, syscall.SIGKILL)
	for child := range strings.FieldsSeq(string(children)) {
		if n, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
}

// KillMachine kills Patroni and Postgres of a node at once, as if its machine had
// lost its power. ReviveMachine starts them again.
func (c *Patroni) KillMachine(node *Node) {
	c.t.Helper()
	node.kill()
	c.KillPostgres(node)
}

// ReviveMachine starts a node that KillMachine has ended.
func (c *Patroni) ReviveMachine(node *Node) { node.Start(c.t) }

// end stops a node for good.
func (c *Patroni) end(node *Node) {
	node.End(c.t)
	if _, err := os.Stat(filepath.Join(node.Data, "postmaster.pid")); err == nil {
		c.KillPostgres(node)
	}
}
