//go:build chaos

package purchases

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
)

// watch looks for secrets where they must not be.
type watch struct {
	mu      sync.Mutex
	secrets map[string][][]byte // each in the forms that it could be written in
	seen    map[string]bool
}

// secretFields of the carriers; the others are names and numbers.
var secretFields = map[string]bool{"client_secret": true, "track_client_secret": true, "api_key": true, "api_secret": true}

func newWatch() *watch {
	w := &watch{secrets: map[string][][]byte{}, seen: map[string]bool{}}
	for _, carrier := range carrierNames {
		fields := credentials[carrier]
		for field, value := range fields {
			if secretFields[field] {
				w.add(carrier+" "+field, value)
			}
		}
		w.add(carrier+" token", carrier+"-token-")
	}
	// How Basic authentication writes them.
	w.add("ups basic", credentials["ups"]["client_id"]+":"+credentials["ups"]["client_secret"])
	w.add("dhl_express basic", credentials["dhl_express"]["api_key"]+":"+credentials["dhl_express"]["api_secret"])
	return w
}

// add has a secret looked for: as it is, in hex, and in base64 wherever it
// begins.
func (w *watch) add(name, secret string) {
	forms := [][]byte{[]byte(secret), []byte(hex.EncodeToString([]byte(secret)))}
	for shift := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", shift) + secret))
		// The characters at the ends depend on the neighbours.
		forms = append(forms, []byte(text[(shift*8+5)/6:len(text)-2]))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets[name] = forms
}

// see looks at a text.
func (w *watch) see(where string, text []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, forms := range w.secrets {
		for _, f := range forms {
			if i := bytes.Index(text, f); i >= 0 {
				w.seen[fmt.Sprintf("%s is in %s: ...%s", name, where, text[max(0, i-60):i])] = true
			}
		}
	}
}

// leaks are the secrets that were seen.
func (w *watch) leaks() (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for what := range w.seen {
		list = append(list, what)
	}
	return list
}
