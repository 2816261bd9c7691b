//go:build !awskms

package seal

import "errors"

func openAWS(string, func(string) (string, bool)) (Wrapper, error) {
	return nil, errors.New("this program is built without AWS KMS: build it with -tags awskms")
}
