//go:build !awskms

package kms

import (
	"errors"

	"github.com/waybillhq/waybill/internal/seal"
)

func openAWS(string, func(string) (string, bool)) (seal.Wrapper, error) {
	return nil, errors.New("this program was built without AWS KMS: build it with -tags awskms")
}
