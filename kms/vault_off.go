//go:build !vault

package kms

import (
	"errors"

	"github.com/waybillhq/waybill/internal/seal"
)

func openVault(string, func(string) (string, bool)) (seal.Wrapper, error) {
	return nil, errors.New("this program was built without HashiCorp Vault: build it with -tags vault")
}
