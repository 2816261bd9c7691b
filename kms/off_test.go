//go:build !awskms && !gcpkms && !vault

package kms

import (
	"os"
	"strings"
	"testing"
)

func TestAKeyServiceThatIsNotBuiltInIsNamedWithItsTag(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"aws-kms://arn:aws:kms:us-east-1:1:key/k":                  "-tags awskms",
		"gcp-kms://projects/p/locations/l/keyRings/r/cryptoKeys/k": "-tags gcpkms",
		"hcvault://vault.example.com:8200/transit/keys/k":          "-tags vault",
		"azure-kv://vault.example.com/k":                           "start with aws-kms://",
	} {
		if _, err := Open(address, os.LookupEnv); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", address, err, want)
		}
	}
}
