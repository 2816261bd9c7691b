//go:build !gcpkms

package kms

import (
	"errors"

	"github.com/waybillhq/waybill/internal/seal"
)

func openGCP(string, func(string) (string, bool)) (seal.Wrapper, error) {
	return nil, errors.New("this program was built without Google Cloud KMS: build it with -tags gcpkms")
}
