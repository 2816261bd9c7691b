package storetest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"sync"
	"testing"
)

// Unfiltered returns an address of the database at url that goes through a proxy:
// it takes the conditions on the tenant out of every statement of the role
// waybill_app, so that row-level security alone keeps tenants apart. With
// waybill_sys as the role, which row-level security lets see everything, tenants
// are not kept apart at all: so a test shows that it would notice.
func Unfiltered(t testing.TB, address, role string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &filterProxy{server: parsed.Host, role: role, strip: true, report: func(Trial) {}}
	parsed.Host = p.listen(t)
	return parsed.String()
}

// Probed returns an address of the database at url that goes through a proxy. It
// passes statements on as they are, and tries each without its conditions on the
// tenant first: see Prober. Each outcome is reported.
func Probed(t testing.TB, address string, report func(Trial)) string {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &filterProxy{
		server: parsed.Host,
		role:   "waybill_app",
		report: report,
		prober: newProber(*parsed),
	}
	parsed.Host = p.listen(t)
	return parsed.String()
}

var (
	sharedOnce sync.Once
	sharedHost string
)

// sharedProxy returns the host and port of one proxy for all tests of the process.
// It takes the conditions out of every statement of a tenant, tries each statement
// in turn, and adds what it sees to the file: a Trial a line.
func sharedProxy(t testing.TB, server *url.URL, file string) string {
	t.Helper()
	sharedOnce.Do(func() {
		out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}

		var mu sync.Mutex
		seen := map[Trial]bool{}
		p := &filterProxy{server: server.Host, role: "waybill_app", strip: true, prober: newProber(*server), report: func(trial Trial) {
			mu.Lock()
			defer mu.Unlock()
			if seen[trial] {
				return
			}
			seen[trial] = true
			line, _ := json.Marshal(trial)
			_, _ = out.Write(append(line, '\n')) // if it fails, the count is too low
		}}
		sharedHost = p.listen(nil)
	})
	return sharedHost
}

// A filterProxy passes on what a client and Postgres say to each other, except for
// the text of statements.
type filterProxy struct {
	server string // host and port
	role   string // that tenants' connections get
	strip  bool   // the conditions, from every statement of a tenant
	report func(Trial)
	prober *prober // nil tries nothing
}

// listen accepts connections until the test ends, or for good if t is nil.
func (p *filterProxy) listen(t testing.TB) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	if t != nil {
		t.Cleanup(func() { _ = listener.Close() })
	}

	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(client)
		}
	}()
	return listener.Addr().String()
}

func (p *filterProxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()

	go func() {
		_, _ = io.Copy(client, server)
		_ = client.Close() // ends the loop below
	}()
	_ = p.pass(bufio.NewReader(client), server)
}

// pass sends the messages of the client on, the statements of tenants changed.
func (p *filterProxy) pass(client io.Reader, server io.Writer) error {
	start, err := readMessage(client, nil)
	if err != nil {
		return err
	}
	connection := readStart(start)
	const role = "\x00role\x00waybill_app\x00"
	isTenant := connection.role == "waybill_app"
	if isTenant {
		start = bytes.Replace(start, []byte(role), []byte("\x00role\x00"+p.role+"\x00"), 1)
		binary.BigEndian.PutUint32(start, uint32(len(start)))
	}
	if _, err := server.Write(start); err != nil {
		return err
	}

	kind := make([]byte, 1)
	for {
		if _, err := io.ReadFull(client, kind); err != nil {
			return err
		}
		message, err := readMessage(client, kind)
		if err != nil {
			return err
		}

		switch kind[0] {
		case 'P':
			statement := connection.parse(message)
			p.see(connection.role, statement)
			if isTenant && p.strip {
				message = strippedParse(message)
			}
		case 'B':
			if p.prober != nil {
				p.prober.try(connection, message, p.report)
			}
		}
		if _, err := server.Write(message); err != nil {
			return err
		}
	}
}

// see reports a statement with a condition on the tenant before it runs.
func (p *filterProxy) see(role, statement string) {
	if stripAll(statement) != statement {
		p.report(Trial{Statement: statement, Role: role, Outcome: Seen})
	}
}

// readMessage reads a message after its kind, which the first one does not have.
func readMessage(from io.Reader, kind []byte) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	length := binary.BigEndian.Uint32(size[:])
	if length < 4 || length > 1<<28 {
		return nil, fmt.Errorf("a message of %d bytes", length)
	}

	message := append(bytes.Clone(kind), size[:]...)
	rest := make([]byte, length-4)
	_, err := io.ReadFull(from, rest)
	return append(message, rest...), err
}

// The conditions on the tenant. Their arguments must stay in the statement, with
// their types.
var (
	accountFilter = regexp.MustCompile(`\b(?:[a-z_]+\.)?account_id = (\$[0-9]+)(?:::uuid)?`)
	modeFilter    = regexp.MustCompile(`\b(?:[a-z_]+\.)?livemode = (\$[0-9]+)(?:::boolean)?`)
)

// StripFilters returns a statement without the conditions on the tenant.
func StripFilters(statement string) string {
	statement = accountFilter.ReplaceAllString(statement, "($1::uuid IS NOT NULL)")
	return modeFilter.ReplaceAllString(statement, "($1::boolean IS NOT NULL)")
}

// strippedParse returns a Parse message with the conditions taken out of its
// statement.
func strippedParse(message []byte) []byte {
	name, rest, _ := bytes.Cut(message[5:], []byte{0})
	statement, types, _ := bytes.Cut(rest, []byte{0})
	stripped := StripFilters(string(statement))
	if stripped == string(statement) {
		return message
	}

	changed := append([]byte{'P', 0, 0, 0, 0}, name...)
	changed = append(changed, 0)
	changed = append(changed, stripped...)
	changed = append(changed, 0)
	changed = append(changed, types...)
	binary.BigEndian.PutUint32(changed[1:], uint32(len(changed)-1))
	return changed
}
