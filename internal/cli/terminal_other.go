//go:build !linux && !darwin

package cli

import (
	"errors"
	"os"
)

func isInteractive(*os.File) bool { return false }

func hideInput(*os.File) (restore func(), err error) {
	return nil, errors.ErrUnsupported
}
