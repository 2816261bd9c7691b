//go:build !vault

package seal

import "errors"

func openVault(string, func(string) (string, bool)) (Wrapper, error) {
	return nil, errors.New("this program is built without HashiCorp Vault: build it with -tags vault")
}
