// Package kms wraps keys with a key service: AWS KMS, Google Cloud KMS or
// HashiCorp Vault. The program sends data keys there to be wrapped, and the key
// of the service never leaves it.
//
// Each service is built in by a tag of its own. The services are called over
// HTTP with the standard library; decision 0009 says why.
package kms

import (
	"fmt"
	"strings"

	"github.com/waybillhq/waybill/internal/seal"
)

// Open returns a wrapper whose key is in a key service, by the key's
// address:
//
//	aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID
//	gcp-kms://projects/P/locations/L/keyRings/R/cryptoKeys/K
//	hcvault://HOST:PORT/MOUNT/keys/NAME
//
// The service's own settings are read through env, usually os.LookupEnv. Nothing is sent yet.
func Open(address string, env func(string) (string, bool)) (seal.Wrapper, error) {
	scheme, key, _ := strings.Cut(address, "://")
	switch scheme {
	case "aws-kms":
		return openAWS(key, env)
	case "gcp-kms":
		return openGCP(key, env)
	case "hcvault":
		return openVault(key, env)
	}
	return nil, fmt.Errorf("the key service URL must start with aws-kms://, gcp-kms:// or hcvault://")
}
