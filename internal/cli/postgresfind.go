package cli

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
)

// binaryDirs are where packages put the programs of Postgres, beside PATH.
var binaryDirs = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/usr/local/pgsql/bin",
	"/Applications/Postgres.app/Contents/Versions/*/bin",
}

// findBinaries returns the directory with the programs of Postgres: of the
// wanted major version, or of the newest if want is 0.
func findBinaries(want int) (string, error) {
	// initdb of PATH is often a link, and the other programs are beside the
	// file that it points to.
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	for _, pattern := range binaryDirs {
		found, _ := filepath.Glob(pattern)
		dirs = append(dirs, found...)
	}

	best := ""
	newest := 0
	for _, dir := range dirs {
		version := binaryVersion(dir)
		if version > newest && (want == 0 || version == want) {
			best = dir
			newest = version
		}
	}

	switch {
	case newest == 0 && want > 0:
		return "", fmt.Errorf("the private Postgres was created by version %d, which is no longer installed: install it, or choose a new directory with --data-dir", want)
	case newest == 0:
		return "", fmt.Errorf("there is no Postgres on this machine: %s", howToInstall)
	case newest < leastVersion:
		return "", fmt.Errorf("the Postgres on this machine is version %d, but at least %d is required: %s", newest, leastVersion, howToInstall)
	}
	return best, nil
}

var versionNumber = regexp.MustCompile(`\d+`)

// binaryVersion returns the major version of the programs in dir, 0 if one of
// them is missing.
func binaryVersion(dir string) int {
	for _, program := range []string{"initdb", "pg_ctl", "postgres"} {
		if _, err := exec.LookPath(filepath.Join(dir, program)); err != nil {
			return 0
		}
	}

	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(versionNumber.FindString(string(out)))
	return n
}

// serverUsers are the users that packages create for Postgres.
var serverUsers = []string{"postgres", "_postgres", "nobody"}

// clusterOwner returns the user that the server runs as, nil for this one:
// Postgres refuses to run as root, so root runs it as the package's user.
func clusterOwner() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}

	i := slices.IndexFunc(serverUsers, func(name string) bool {
		_, err := user.Lookup(name)
		return err == nil
	})
	if i < 0 {
		return nil, fmt.Errorf("the Postgres server cannot run as root, and there is no user postgres: %s", howToInstall)
	}

	owner, err := user.Lookup(serverUsers[i])
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(owner.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(owner.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// clusterDir returns where the private Postgres is unless a flag says
// otherwise: with this user's data. That of root is closed to the server's
// user.
func (c *cli) clusterDir() (string, error) {
	if os.Geteuid() == 0 {
		return "/var/lib/waybill/postgres", nil
	}

	if dir, ok := c.Env("XDG_DATA_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "waybill", "postgres"), nil
	}
	home, ok := c.Env("HOME")
	if !ok {
		return "", fmt.Errorf("HOME is not set: choose a directory for the private Postgres with --data-dir")
	}
	return filepath.Join(home, ".local", "share", "waybill", "postgres"), nil
}
