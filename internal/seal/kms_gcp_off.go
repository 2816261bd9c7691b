//go:build !gcpkms

package seal

import "errors"

func openGCP(string, func(string) (string, bool)) (Wrapper, error) {
	return nil, errors.New("this program is built without Google Cloud KMS: build it with -tags gcpkms")
}
