package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/waybillhq/waybill/internal/seal"
	"github.com/waybillhq/waybill/internal/ship"
	"github.com/waybillhq/waybill/internal/store/storetest"
)

// manyEndpoints is how many webhooks there are: enough to kill a rotation in
// the middle.
const manyEndpoints = 4000

// A rotation is a world whose key is rotated.
type rotation struct {
	*world
	conn    *pgx.Conn
	file    string // of the keys
	account string
	key     string // of the API
}

// command runs a command with the key file, and returns what it prints and
// whether it ended well.
func (r *rotation) command(args ...string) (string, bool) {
	r.t.Helper()
	cmd := exec.Command(binary(r.t), args...)
	cmd.Env = r.env(r.settings()...)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func (r *rotation) must(args ...string) string {
	r.t.Helper()
	out, ok := r.command(args...)
	if !ok {
		r.t.Fatalf("waybill %s:\n%s", strings.Join(args, " "), out)
	}
	return out
}

func (r *rotation) settings() []string {
	return []string{"SECRET_KEY_FILE=" + r.file, "SPOOL_DIR=" + filepath.Join(filepath.Dir(r.file), "spool")}
}

// start starts the service with the key file.
func (r *rotation) start() (url string, end func()) {
	r.t.Helper()
	url, pid := r.serve(r.settings()...)
	process, err := os.FindProcess(pid)
	if err != nil {
		r.t.Fatal(err)
	}
	return url, func() {
		_ = process.Signal(os.Interrupt)
		for range 1000 {
			if _, err := http.Get(url + "/readyz"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		r.t.Error("the service does not stop")
	}
}

// box returns the box of one key of the file.
func (r *rotation) box(i int) *seal.Box {
	r.t.Helper()
	content, err := os.ReadFile(r.file)
	if err != nil {
		r.t.Fatal(err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(strings.Split(string(content), ",")[i]))
	if err != nil {
		r.t.Fatal(err)
	}
	box, err := seal.New(key)
	if err != nil {
		r.t.Fatal(err)
	}
	return box
}

// underKey walks every column of bytes in the schema, and counts the values that
// begin as those of the key do.
func (r *rotation) underKey(box *seal.Box) map[string]int {
	r.t.Helper()
	rows, err := r.conn.Query(r.t.Context(), `
		SELECT c.relname, a.attname
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p') AND NOT c.relispartition
		  AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid = 'bytea'::regtype`)
	if err != nil {
		r.t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Table, Column string }])
	if err != nil {
		r.t.Fatal(err)
	}

	found := map[string]int{}
	for _, c := range columns {
		count := 0
		text := fmt.Sprintf("SELECT count(*) FROM %s WHERE substring(%s FOR 5) = $1",
			pgx.Identifier{c.Table}.Sanitize(), pgx.Identifier{c.Column}.Sanitize())
		if err := r.conn.QueryRow(r.t.Context(), text, box.KeyHeaders()[0]).Scan(&count); err != nil {
			r.t.Fatal(err)
		}
		if count > 0 {
			found[c.Table+"."+c.Column] = count
		}
	}
	return found
}

// fill stores a secret of every kind under the first key.
func (r *rotation) fill(url string) (hook string, answers map[string]string) {
	r.t.Helper()
	r.must("connection", "add", "--carrier", "ups", "--set", "client_id=me", "--set", "client_secret=hunter2", "--set", "account_number=A1B2C3")

	answers = map[string]string{}
	body := `{"url":"https://example.com/hook","headers":{"X-Token":"hunter2"}}`
	resp, created := call(r.t, http.MethodPost, url+"/v1/webhooks", r.key, body, "Idempotency-Key", "hook-1")
	if resp.StatusCode != http.StatusCreated {
		r.t.Fatalf("create a webhook: %d %s", resp.StatusCode, created)
	}
	answers["hook-1"] = string(created)
	var webhook struct{ ID string }
	if err := json.Unmarshal(created, &webhook); err != nil {
		r.t.Fatal(err)
	}
	if resp, text := call(r.t, http.MethodPost, url+"/v1/webhooks/"+webhook.ID+"/rotate-secret", r.key, ""); resp.StatusCode != http.StatusOK {
		r.t.Fatalf("rotate its secret: %d %s", resp.StatusCode, text)
	}

	// Many more webhooks, disabled so that nothing is sent, and authenticators.
	box := r.box(0)
	batch := &pgx.Batch{}
	for range manyEndpoints {
		id := ship.NewRawID(0, time.Now())
		binding := []string{r.account, "test", string(ship.EndpointIDOf(id)), "secret"}
		batch.Queue(`INSERT INTO webhook_endpoints (id, account_id, livemode, slot, url, signature_scheme, encrypted_secret, enabled)
			SELECT $1, account_id, livemode, slot, url, signature_scheme, $2, false FROM webhook_endpoints WHERE encrypted_headers IS NOT NULL LIMIT 1`,
			[16]byte(id), box.Seal(bytes.Repeat([]byte("k"), 64), binding...))
	}
	r.must("member", "add", "--email", "ada@example.com")
	var person [16]byte
	if err := r.conn.QueryRow(r.t.Context(), "SELECT id FROM people").Scan(&person); err != nil {
		r.t.Fatal(err)
	}
	seed := box.Seal([]byte("seed"), "person", string(ship.PersonIDOf(person)), "totp")
	batch.Queue("UPDATE people SET encrypted_totp_seed = $1", seed)
	batch.Queue("INSERT INTO auth_flows (token_hash, kind, person_id, data, expires_at) VALUES ('\\x01', 'totp', $1, $2, now() + interval '1 hour')", person, seed)
	r.fillPrivacy(batch, box)
	if err := r.conn.SendBatch(r.t.Context(), batch).Close(); err != nil {
		r.t.Fatal(err)
	}
	return webhook.ID, answers
}

// fillPrivacy adds an erasure and exports, without the jobs that would finish them.
func (r *rotation) fillPrivacy(batch *pgx.Batch, box *seal.Box) {
	const tenant = "SELECT account_id, livemode, $1::uuid, 'email', '\\x00'::bytea, "
	const from = " FROM webhook_endpoints WHERE encrypted_headers IS NOT NULL LIMIT 1"

	erasure := ship.NewRawID(0, time.Now())
	batch.Queue("INSERT INTO erasures (account_id, livemode, id, subject_kind, subject_hash, encrypted_subject) "+tenant+"$2::bytea"+from,
		[16]byte(erasure), box.Seal([]byte("subject"), r.account, "false", "privacy", string(ship.ErasureIDOf(erasure))))

	for range 3 {
		export := ship.NewRawID(0, time.Now())
		binding := []string{r.account, "false", "privacy", string(ship.ExportIDOf(export))}
		batch.Queue("INSERT INTO exports (account_id, livemode, id, subject_kind, subject_hash, encrypted_subject) "+tenant+"$2::bytea"+from,
			[16]byte(export), box.Seal([]byte("subject"), binding...))
	}
	for range 3 {
		export := ship.NewRawID(0, time.Now())
		binding := []string{r.account, "false", "privacy", string(ship.ExportIDOf(export)) + " file"}
		batch.Queue("INSERT INTO exports (account_id, livemode, id, subject_kind, subject_hash, state, encrypted_file, finished_at, expires_at) "+
			tenant+"'done', $2::bytea, now(), now() + interval '1 hour'"+from,
			[16]byte(export), box.Seal([]byte(`{"person":"ada@example.com"}`), binding...))
	}
}

// sealedColumns are the columns that hold secrets under the key itself.
var sealedColumns = []string{
	"auth_flows.data",
	"connections.wrapped_key",
	"erasures.encrypted_subject",
	"exports.encrypted_file",
	"exports.encrypted_subject",
	"idempotency_keys.response_body",
	"people.encrypted_totp_seed",
	"webhook_endpoints.encrypted_headers",
	"webhook_endpoints.encrypted_previous_secret",
	"webhook_endpoints.encrypted_secret",
}

// TestTheKeyIsRotatedWhileTheServiceRuns rotates the key of stored secrets, is
// killed in the middle, and rotates it again, while clients use the service.
func TestTheKeyIsRotatedWhileTheServiceRuns(t *testing.T) {
	t.Parallel()
	r := &rotation{world: newWorld(t), file: filepath.Join(t.TempDir(), "secret-key")}
	r.conn = storetest.Conn(t, r.database)
	r.must("secret-key", "create", r.file)
	r.account, r.key = r.world.account("Acme")
	url, end := r.start()
	hook, answers := r.fill(url)
	end()

	old := r.box(0)
	if out := r.must("doctor"); !strings.Contains(out, "are encrypted with the current key") {
		t.Errorf("before: doctor says\n%s", out)
	}
	for _, column := range sealedColumns {
		if r.underKey(old)[column] == 0 {
			t.Fatalf("the test stores nothing in %s", column)
		}
	}

	// From here on every request must be answered as if nothing happened.
	r.must("secret-key", "add", r.file)
	url, end = r.start()
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for n := range 2 {
		clients.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				for key, want := range answers {
					resp, got := call(t, http.MethodPost, url+"/v1/webhooks", r.key, `{"url":"https://example.com/hook","headers":{"X-Token":"hunter2"}}`, "Idempotency-Key", key)
					if resp.StatusCode != http.StatusCreated || string(got) != want {
						t.Errorf("a retry gets %d %s", resp.StatusCode, got)
					}
				}
				change := fmt.Sprintf(`{"headers":{"X-Token":"hunter2-%d-%d"}}`, n, i)
				if resp, got := call(t, http.MethodPatch, url+"/v1/webhooks/"+hook, r.key, change); resp.StatusCode != http.StatusOK {
					t.Errorf("a change of the webhook gets %d %s", resp.StatusCode, got)
				}
				if resp, got := call(t, http.MethodPost, url+"/v1/webhooks/"+hook+"/rotate-secret", r.key, "", "Idempotency-Key", fmt.Sprintf("rotate-%d-%d", n, i)); resp.StatusCode != http.StatusOK {
					t.Errorf("a new secret of the webhook gets %d %s", resp.StatusCode, got)
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}

	present := r.box(0)
	r.killInTheMiddle(old, present)
	if out := r.must("doctor"); !strings.Contains(out, "are encrypted with an old key") || !strings.Contains(out, "waybill secret-key rotate") {
		t.Errorf("after the kill doctor says\n%s", out)
	}
	if out := r.must("secret-key", "prune", r.file); !strings.Contains(out, "0 of 2 keys were removed") {
		t.Errorf("a key that is needed is removed: %s", out)
	}

	if out := r.must("secret-key", "rotate"); !strings.Contains(out, "webhook secrets and headers") || strings.Contains(out, ", 1 failed") {
		t.Errorf("rotate says\n%s", out)
	}
	close(stop)
	clients.Wait()
	end()

	if left := r.underKey(old); len(left) > 0 {
		t.Errorf("still under the old key: %v", left)
	}
	for _, column := range sealedColumns {
		if r.underKey(present)[column] == 0 {
			t.Errorf("nothing in %s is under the new key", column)
		}
	}
	if out := r.must("doctor"); !strings.Contains(out, "remove the old key") {
		t.Errorf("afterwards doctor says\n%s", out)
	}
	if out := r.must("secret-key", "prune", r.file); !strings.Contains(out, "1 of 2 keys were removed") {
		t.Errorf("prune says %s", out)
	}
	r.opensAll(present)

	// The new key alone is enough for the service.
	url, _ = r.start()
	for key, want := range answers {
		resp, got := call(t, http.MethodPost, url+"/v1/webhooks", r.key, `{"url":"https://example.com/hook","headers":{"X-Token":"hunter2"}}`, "Idempotency-Key", key)
		if resp.StatusCode != http.StatusCreated || string(got) != want {
			t.Errorf("with the new key alone a retry gets %d %s", resp.StatusCode, got)
		}
	}
	if resp, got := call(t, http.MethodGet, url+"/v1/webhooks", r.key, ""); resp.StatusCode != http.StatusOK {
		t.Errorf("with the new key alone the list of webhooks is %d %s", resp.StatusCode, got)
	}
	for _, file := range r.exports() {
		resp, got := call(t, http.MethodGet, url+"/v1/exports/"+file+"/file", r.key, "")
		if resp.StatusCode != http.StatusOK || string(got) != `{"person":"ada@example.com"}` {
			t.Errorf("with the new key alone the file of an export is %d %s", resp.StatusCode, got)
		}
	}
}

// exports returns the ids of the exports with files.
func (r *rotation) exports() (ids []string) {
	r.t.Helper()
	rows, err := r.conn.Query(r.t.Context(), "SELECT id FROM exports WHERE state = 'done'")
	if err != nil {
		r.t.Fatal(err)
	}
	raw, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
	if err != nil || len(raw) != 3 {
		r.t.Fatalf("%d exports, %v", len(raw), err)
	}
	for _, id := range raw {
		ids = append(ids, string(ship.ExportIDOf(id)))
	}
	return ids
}

// killInTheMiddle starts a rotation and kills it while secrets are under both
// keys.
func (r *rotation) killInTheMiddle(old, present *seal.Box) {
	r.t.Helper()
	const column = "webhook_endpoints.encrypted_secret"
	cmd := exec.Command(binary(r.t), "secret-key", "rotate")
	cmd.Env = r.env(r.settings()...)
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}

	const count = "SELECT count(*) FROM webhook_endpoints WHERE NOT enabled AND substring(encrypted_secret FOR 5) = $1"
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		done := 0
		if err := r.conn.QueryRow(r.t.Context(), count, present.KeyHeaders()[0]).Scan(&done); err != nil {
			r.t.Fatal(err)
		}
		if done > 0 {
			break
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()

	before, after := r.underKey(old)[column], r.underKey(present)[column]
	if before == 0 || after == 0 {
		r.t.Fatalf("it was killed with %d under the old key and %d under the new one, not in the middle", before, after)
	}
}

// opensAll opens every secret of the endpoints and of the connection.
func (r *rotation) opensAll(box *seal.Box) {
	r.t.Helper()
	rows, err := r.conn.Query(r.t.Context(), "SELECT id, encrypted_secret, encrypted_previous_secret, encrypted_headers FROM webhook_endpoints")
	if err != nil {
		r.t.Fatal(err)
	}
	defer rows.Close()
	opened := 0
	for rows.Next() {
		var id [16]byte
		sealed := make([][]byte, 3)
		if err := rows.Scan(&id, &sealed[0], &sealed[1], &sealed[2]); err != nil {
			r.t.Fatal(err)
		}
		for i, field := range []string{"secret", "secret", "headers"} {
			if sealed[i] == nil {
				continue
			}
			if _, err := box.Open(sealed[i], r.account, "test", string(ship.EndpointIDOf(id)), field); err != nil {
				r.t.Errorf("%s of %s: %v", field, ship.EndpointIDOf(id), err)
			}
			opened++
		}
	}
	if err := rows.Err(); err != nil || opened <= manyEndpoints {
		r.t.Errorf("%d secrets opened, %v", opened, err)
	}

	var id [16]byte
	var envelope seal.Envelope
	if err := r.conn.QueryRow(r.t.Context(), "SELECT id, wrapped_key, encrypted_credentials FROM connections").Scan(&id, &envelope.Key, &envelope.Secret); err != nil {
		r.t.Fatal(err)
	}
	text, err := envelope.Open(r.t.Context(), box, r.account, "test", string(ship.ConnectionIDOf(id)), "ups")
	if err != nil || !strings.Contains(string(text), "hunter2") {
		r.t.Errorf("credentials: %q, %v", text, err)
	}
}
