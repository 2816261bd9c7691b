package verify

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const docSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw1234567890A="

// runs are how the code of the document is tried: it is given the secret, the
// three headers and the body as arguments.
var runs = map[string]struct{ program, flag, call string }{
	"node":   {"node", "-e", "const [s, i, t, g, b] = process.argv.slice(1)\nverify(s, { 'webhook-id': i, 'webhook-timestamp': t, 'webhook-signature': g }, Buffer.from(b))"},
	"python": {"python3", "-c", "import sys\ns, i, t, g, b = sys.argv[1:]\nverify(s, {'webhook-id': i, 'webhook-timestamp': t, 'webhook-signature': g}, b.encode())"},
}

func TestTheCodeOfTheDocumentVerifies(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)<!-- verify (\\w+) -->\n```\\w+\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != len(runs) {
		t.Fatalf("the document has %d blocks, want %d", len(blocks), len(runs))
	}
	lib, err := standardwebhooks.NewWebhook(docSecret)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"id":"evt_1","name":"Zoë 🚚"}`
	sign := func(at time.Time) []string {
		signature, err := lib.Sign("evt_1", at, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return []string{docSecret, "evt_1", fmt.Sprint(at.Unix()), "v1a,AAAA v1,AAAA " + signature, body}
	}
	now := time.Now()
	for _, b := range blocks {
		t.Run(b[1], func(t *testing.T) {
			t.Parallel()
			run := runs[b[1]]
			if _, err := exec.LookPath(run.program); err != nil && os.Getenv("CI") == "" {
				t.Skipf("%s is not installed", run.program)
			}
			try := func(what string, args []string, good bool) {
				out, err := exec.CommandContext(t.Context(), run.program, append([]string{run.flag, b[2] + "\n" + run.call}, args...)...).CombinedOutput()
				if (err == nil) != good {
					t.Errorf("%s: %v %s", what, err, out)
				}
			}
			try("right", sign(now), true)
			try("too old", sign(now.Add(-6*time.Minute)), false)
			try("too new", sign(now.Add(6*time.Minute)), false)
			for i, what := range []string{"secret", "id", "timestamp", "signature", "body"} {
				args := sign(now)
				args[i] = strings.ReplaceAll(strings.ReplaceAll(args[i], "1", "2"), "A", "B")
				if what == "signature" {
					args[i] = "v1,AAAA"
				}
				try("another "+what, args, false)
			}
		})
	}
}
