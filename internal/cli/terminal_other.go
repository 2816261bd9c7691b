//go:build !linux && !darwin

package cli

import (
	"errors"
	"os"
)

func isAsked(*os.File) bool { return false }

func hideInput(*os.File) (restore func(), err error) {
	return nil, errors.ErrUnsupported
}
