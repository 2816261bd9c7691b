package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestSignaturesVerifyElsewhere asks libraries in another language. They are
// there after "npm install" in test/webhooks/verify; without them it is
// skipped.
func TestSignaturesVerifyElsewhere(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "test", "webhooks", "verify")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		t.Skip("the libraries are not installed in test/webhooks/verify")
	}
	var in bytes.Buffer
	out := json.NewEncoder(&in)
	write := func(key keyMaterial, s signed, valid bool) {
		headers := map[string]string{}
		for _, name := range []string{headerID, headerTimestamp, headerSignature} {
			headers[name] = s.header.Get(name)
		}
		if err := out.Encode(map[string]any{"secret": key.secret(), "headers": headers, "body": s.body, "valid": valid}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		before, after := newKeyMaterial(), newKeyMaterial()
		until := time.Now().Add(time.Hour)
		body := fmt.Appendf(nil, `{"id":"%s","n":%d,"name":"Zoë 🚚.%d"}`, testEventID, i, i)
		for _, signature := range []string{SignV1, SignBoth} {
			rotating := signer{signature, []signingKey{newSigningKey(after, signature, time.Time{}), newSigningKey(before, signature, until)}}
			s := signWith(rotating, time.Now(), body)
			write(after, s, true)
			write(before, s, true)
			write(newKeyMaterial(), s, false)
			write(after, signed{s.header, append(bytes.Clone(body), ' ')}, false)
			rotating.keys = rotating.keys[:1]
			write(before, signWith(rotating, time.Now(), body), false)
		}
		write(after, signWith(signer{SignV1a, []signingKey{newSigningKey(after, SignV1a, time.Time{})}}, time.Now(), body), false)
	}
	cmd := exec.CommandContext(t.Context(), "node", "verify.js")
	cmd.Dir, cmd.Stdin = dir, &in
	told, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, told)
	}
	t.Logf("%s", told)
}
