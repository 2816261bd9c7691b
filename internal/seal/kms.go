package seal

import (
	"fmt"
	"strings"
)

// OpenKMS returns a wrapper whose key is in a key service, by the key's
// address:
//
//	aws-kms://arn:aws:kms:REGION:ACCOUNT:key/ID
//	gcp-kms://projects/P/locations/L/keyRings/R/cryptoKeys/K
//	hcvault://HOST:PORT/MOUNT/keys/NAME
//
// Each service is built in by a tag of its own. The service's own settings are
// read through env, usually os.LookupEnv. Nothing is sent yet.
func OpenKMS(address string, env func(string) (string, bool)) (Wrapper, error) {
	scheme, key, _ := strings.Cut(address, "://")
	switch scheme {
	case "aws-kms":
		return openAWS(key, env)
	case "gcp-kms":
		return openGCP(key, env)
	case "hcvault":
		return openVault(key, env)
	}
	return nil, fmt.Errorf("a key service's address begins with aws-kms://, gcp-kms:// or hcvault://")
}
