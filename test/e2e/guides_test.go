package e2e

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// commandsOf returns the blocks of a guide that are marked as mark.
func commandsOf(t *testing.T, guide, mark string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", guide+".md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, found := range regexp.MustCompile("(?s)<!-- "+mark+" -->\n```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, found[1])
	}
	return blocks
}

// script runs commands in one shell, in which waybill is the binary.
func script(t *testing.T, commands []string, env ...string) (out, dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "set -eu -o pipefail\n"+strings.Join(commands, "\necho; echo ---\n"))
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), env...), "PATH="+filepath.Dir(binary(t))+":"+os.Getenv("PATH"), "WAYBILL_CONFIG_DIR="+dir)
	shown, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, shown)
	}
	return string(shown), dir
}

// TestTheQuickStartsWork runs the commands of the quick starts as they stand there.
func TestTheQuickStartsWork(t *testing.T) {
	service := dev(t, "--data-dir", openDir(t))
	key := []string{"WAYBILL_URL=" + service.URL, "WAYBILL_KEY=" + service.APIKey}

	t.Run("developer", func(t *testing.T) {
		blocks := commandsOf(t, "quickstart-developer", "walk")
		if len(blocks) != 4 {
			t.Fatalf("%d blocks, want 4", len(blocks))
		}
		out, dir := script(t, blocks, key...)
		for _, want := range []string{`"secret":"whsec_`, `"type":"shipment.picked_up"`, `"labelStatus":"pending"`} {
			if !strings.Contains(out, want) {
				t.Errorf("no %s in\n%s", want, out)
			}
		}
		isPDF(t, filepath.Join(dir, "label.pdf"))
	})

	t.Run("warehouse", func(t *testing.T) {
		blocks := commandsOf(t, "quickstart-warehouse", "walk")
		if len(blocks) != 4 {
			t.Fatalf("%d blocks, want 4", len(blocks))
		}
		_, dir := script(t, blocks, key...)
		for _, file := range []string{"3001.pdf", "3002.pdf", "scan-form.pdf", "return.pdf"} {
			isPDF(t, filepath.Join(dir, file))
		}
	})

	for _, guide := range []string{"platform", "operator"} {
		t.Run(guide, func(t *testing.T) {
			w := newWorld(t)
			url, _ := w.serve()
			blocks := commandsOf(t, "quickstart-"+guide, "operate")
			if len(blocks) < 3 {
				t.Fatalf("only %d blocks", len(blocks))
			}
			out, _ := script(t, blocks, w.env("WAYBILL_URL="+url)...)
			for _, want := range map[string][]string{
				"platform": {`"rates":[{`, "/app/invite/", "checkout"},
				"operator": {`"status":"ready"`, "sk_test_"},
			}[guide] {
				if !strings.Contains(out, want) {
					t.Errorf("no %s in\n%s", want, out)
				}
			}
		})
	}
}

func isPDF(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(data), "%PDF-") {
		t.Errorf("%s: %d bytes, %v", filepath.Base(file), len(data), err)
	}
}

// A recipe is how the code of docs/recipes.md for a framework is run.
type recipe struct {
	probe   []string          // fails if the framework is not installed
	command []string          // starts a server on $PORT
	files   map[string]string // of testdata, and where they go
	texts   map[string]string // other files
}

var recipes = map[string]recipe{
	"nextjs": {
		probe:   []string{"node", "--version"},
		command: []string{"node", "server.mjs"},
		files:   map[string]string{"next.mjs": "server.mjs", "events.js": "lib/events.js"},
		texts:   map[string]string{"package.json": `{"type": "module"}`},
	},
	"django": {
		probe:   []string{"python3", "-c", "import django"},
		command: []string{"python3", "site_of_shop.py"},
		files:   map[string]string{"site.py": "site_of_shop.py", "events.py": "shop/events.py"},
		texts:   map[string]string{"shop/__init__.py": ""},
	},
	"rails": {
		probe:   []string{"ruby", "-e", `require "action_controller/railtie"; require "rack/handler/webrick"`},
		command: []string{"ruby", "site.rb"},
		files:   map[string]string{"site.rb": "site.rb"},
	},
}

// TestTheRecipesWork runs the code of docs/recipes.md: an application buys a label,
// and receives the events of it from the real service.
func TestTheRecipesWork(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "recipes.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := map[string]map[string]string{}
	for _, found := range regexp.MustCompile("(?s)<!-- recipe (\\w+) (\\S+) -->\n```\\w+\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if code[found[1]] == nil {
			code[found[1]] = map[string]string{}
		}
		code[found[1]][found[2]] = found[3]
	}
	if len(code) != len(recipes) || strings.Count(string(page), "```") != 2*9 {
		t.Fatalf("the page has code for %d frameworks, and %d fences", len(code), strings.Count(string(page), "```"))
	}

	service := dev(t, "--data-dir", openDir(t))
	for name, recipe := range recipes {
		t.Run(name, func(t *testing.T) {
			if out, err := exec.CommandContext(t.Context(), recipe.probe[0], recipe.probe[1:]...).CombinedOutput(); err != nil {
				// A release is not made without having run all of them.
				if os.Getenv("RELEASE") != "" || name == "nextjs" && os.Getenv("CI") != "" {
					t.Fatalf("%s is not installed: %s", name, out)
				}
				t.Skipf("%s is not installed", name)
			}
			recipe.run(t, service.URL, service.APIKey, name, code[name])
		})
	}
}

func (r recipe) run(t *testing.T, url, key, name string, code map[string]string) {
	t.Helper()
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range code {
		write(path, text)
	}
	for path, text := range r.texts {
		write(path, text)
	}
	for from, to := range r.files {
		text, err := os.ReadFile(filepath.Join("testdata", "recipes", from))
		if err != nil {
			t.Fatal(err)
		}
		write(to, string(text))
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	_ = listener.Close()

	_, body := call(t, "POST", url+"/v1/webhooks", key, `{"url":"http://`+address+`/webhooks/waybill"}`)
	secret := regexp.MustCompile(`"secret":"(whsec_[^"]+)"`).FindSubmatch(body)
	if secret == nil {
		t.Fatalf("no secret in %s", body)
	}

	events := filepath.Join(dir, "events.jsonl")
	server := exec.CommandContext(t.Context(), r.command[0], r.command[1:]...)
	server.Dir = dir
	server.Env = append(os.Environ(), "PORT="+port, "EVENTS="+events, "WAYBILL_URL="+url, "WAYBILL_KEY="+key, "WAYBILL_WEBHOOK_SECRET="+string(secret[1]))
	var log bytes.Buffer
	server.Stdout, server.Stderr = &log, &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		if t.Failed() {
			t.Logf("the application says\n%s", log.String())
		}
	})
	waitFor(t, "the application", func() bool {
		answer, err := http.Get("http://" + address)
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil
	})

	order := func(id, zip string) string {
		return fmt.Sprintf(`{"id":%q,"destination":{"name":"Jane Doe","address1":"350 5th Avenue","city":"New York","state":"NY","zip":%q,"country":"US"},"parcel":{"weight":2.5,"weightUnit":"lb"}}`, id, zip)
	}
	orderID := name + "-1"
	answer, label := call(t, "POST", "http://"+address+"/orders/label", "", order(orderID, "10118"))
	if answer.StatusCode != http.StatusCreated || !strings.Contains(string(label), `"labelStatus":`) || !strings.Contains(string(label), "ready") {
		t.Fatalf("a label: %d %s", answer.StatusCode, label)
	}
	if again, repeated := call(t, "POST", "http://"+address+"/orders/label", "", order(orderID, "10118")); again.StatusCode != http.StatusCreated || string(repeated) != string(label) {
		t.Errorf("the same order again: %d %s, want %s", again.StatusCode, repeated, label)
	}
	if answer, body := call(t, "POST", "http://"+address+"/orders/label", "", order(name+"-2", "nowhere")); answer.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(string(body), "validation_failed") {
		t.Errorf("an invalid order: %d %s", answer.StatusCode, body)
	}

	received := func() string { data, _ := os.ReadFile(events); return string(data) }
	waitFor(t, "the events", func() bool {
		return strings.Contains(received(), "label.generated") && strings.Contains(received(), orderID)
	})
	before := strings.Count(received(), "\n")
	for _, headers := range [][]string{
		nil,
		{"webhook-id", "evt_1", "webhook-timestamp", fmt.Sprint(time.Now().Unix()), "webhook-signature", "v1,AAAA"},
		{"webhook-id", "evt_1", "webhook-timestamp", "1", "webhook-signature", "v1,AAAA"},
	} {
		if answer, body := call(t, "POST", "http://"+address+"/webhooks/waybill", "", `{"id":"evt_1","type":"forged"}`, headers...); answer.StatusCode != http.StatusBadRequest {
			t.Errorf("a forged event with %q: %d %s", headers, answer.StatusCode, body)
		}
	}
	if strings.Contains(received(), "forged") || strings.Count(received(), "\n") < before {
		t.Errorf("a forged event was handled: %s", received())
	}
}

// waitFor waits until done reports true.
func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("%s did not come", what)
}

// A setup makes what the calls of a guide are about. In it, post sends a body and
// id reads the id of an answer.
type setup struct {
	commands string
	answers  map[string]string // the codes of calls that cannot succeed here, by a part of their address
}

var setups = map[string]setup{
	"addresses": {},
	"batch-api": {
		// The guide's own first call, whose answer is the batch of the others.
		commands: `BATCH=$(post /v1/batches '{"shipments":[{"orderId":"b","destination":'"$ADA"',"parcel":{"weight":1}}]}' | id)
			until post "/v1/batches/$BATCH" | grep -q '"status":"done"'; do sleep 0.2; done`,
	},
	"end-of-day": {
		commands: `MANIFEST=$(post /v1/manifests '{"carrier":"usps"}' | id)
			buy usps
			PICKUP=$(post /v1/pickups '{"carrier":"ups","parcels":1,"readyAt":"'$DAY'T09:00:00-08:00","closeAt":"'$DAY'T17:00:00-08:00"}' | id)`,
		answers: map[string]string{"/resolve": "not_in_review"},
	},
	"international": {
		commands: `post "/v1/labels/$SHIPMENT.pdf" > certificate.pdf`,
		answers:  map[string]string{"/resolve": "document_not_found", "/documents": "documents_unsupported"},
	},
	"locations": {
		commands: `LOCATION=$(post /v1/locations '{"name":"Sparks","address":{"name":"Acme","address1":"2 Commerce Way","city":"Sparks","state":"NV","zip":"89431","country":"US","phone":"7755550100"}}' | id)`,
	},
	"mcp": {},
	"privacy": {
		commands: `EXPORT=$(post /v1/exports '{"email":"grace@example.com"}' | id)
			until post "/v1/exports/$EXPORT" | grep -q '"status":"done"'; do sleep 0.2; done`,
		answers: map[string]string{"/v1/retention": "live_key_required"},
	},
	"returns": {
		commands: "REQUEST=rtn_01KJMBQDHV00G2N6V3T9RZKXB4",
		answers:  map[string]string{"/approve": "return_request_not_found", "/deny": "return_request_not_found"},
	},
	"sandbox":        {},
	"service-points": {},
	"tracking": {
		commands: `buy ups
			post "/v1/sandbox/shipments/$SHIPMENT/advance" '{"status":"delivered"}' > /dev/null`,
	},
	"webhooks": {},
}

// beforeCalls defines what setups use, and a curl that sends the calls of a guide,
// with its placeholders filled in, to the service of the test. It writes the status,
// the code and the address of each call to the file calls.
const beforeCalls = `
DAY=$(date -d tomorrow +%F)
KEY=$WAYBILL_KEY
ADA='{"name":"Ada Lovelace","address1":"500 Main St","city":"Austin","state":"TX","zip":"78701","country":"US"}'
post() { command curl -sS --fail-with-body "$WAYBILL_URL$1" -H "Authorization: Bearer $WAYBILL_KEY" -H 'Content-Type: application/json' ${2:+-d "$2"}; }
id() { sed -n 's/^{"id":"\([^"]*\)".*/\1/p'; }
buy() { SHIPMENT=$(post /v1/shipments '{"orderId":"'$GUIDE'","carrier":"'$1'","destination":'"$ADA"',"parcel":{"weight":2}}' | id); }
curl() {
	local args=() arg address=
	for arg in "$@"; do
		arg=${arg//http:\/\/localhost:8080/$WAYBILL_URL}
		arg=${arg//https:\/\/ship.example.com/$WAYBILL_URL}
		arg=${arg//bat_01KJMBQDHV00G2N6V3T9RZKXB4/${BATCH-}}
		arg=${arg//man_.../${MANIFEST-}}
		arg=${arg//pik_.../${PICKUP-}}
		arg=${arg//loc_.../${LOCATION-}}
		arg=${arg//exp_.../${EXPORT-}}
		arg=${arg//2026-03-02/$DAY}
		case $arg in "$WAYBILL_URL"*) address=${arg#"$WAYBILL_URL"} ;; esac
		args+=("$arg")
	done
	local status
	status=$(command curl -s -o answer -w '%{http_code}' "${args[@]}") # the first -o counts
	echo "$status $(sed -n 's/.*"code":"\([a-z_]*\)".*/\1/p' answer) $address" >> calls
}
buy usps
`

// TestTheCallsOfTheGuidesWork sends every request that a guide shows with curl.
func TestTheCallsOfTheGuidesWork(t *testing.T) {
	service := dev(t, "--data-dir", openDir(t))
	for guide, before := range setups {
		t.Run(guide, func(t *testing.T) {
			blocks := commandsOf(t, guide, "call")
			if len(blocks) == 0 {
				t.Fatal("the guide has no calls")
			}
			_, dir := script(t, append([]string{beforeCalls + before.commands}, blocks...),
				"WAYBILL_URL="+service.URL, "WAYBILL_KEY="+service.APIKey, "GUIDE="+guide)
			calls, err := os.ReadFile(filepath.Join(dir, "calls"))
			if err != nil {
				t.Fatal(err)
			}

			sent := 0
			for line := range strings.Lines(string(calls)) {
				sent++
				fields := strings.SplitN(strings.TrimSpace(line), " ", 3)
				expected := false
				for part, code := range before.answers {
					expected = expected || code == fields[1] && strings.Contains(fields[2], part)
				}
				if !strings.HasPrefix(fields[0], "2") && !expected {
					t.Errorf("a call of the guide is answered with %s", line)
				}
			}
			if want := strings.Count("\n"+strings.Join(blocks, "\n"), "\ncurl "); sent != want {
				t.Errorf("%d calls were sent, and the guide has %d", sent, want)
			}
		})
	}
}
