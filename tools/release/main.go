// Command release builds what a release consists of into a directory: archives,
// .deb and .rpm packages, the container image, a list of components (CycloneDX)
// and the checksums of all of them, signed if a key is given.
//
//	release -source DIR -out DIR [-version v1.2.3]
//
// Two runs at one commit produce the same bytes, wherever the checkout lies: all
// times are the commit's, paths are trimmed, and the version is set by the linker
// instead of being read from the checkout. The image also depends on the
// certificates and fonts of the host.
//
// RELEASE_KEY holds the text of a minisign secret key, and RELEASE_KEY_PASSWORD its
// password. Without them nothing is signed. The key is never written anywhere.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// platforms are those that archives are built for. Packages and the image are
// for Linux alone.
var platforms = []platform{
	{"linux", "amd64"},
	{"linux", "arm64"},
	{"darwin", "amd64"},
	{"darwin", "arm64"},
}

type platform struct {
	os   string
	arch string
}

func (p platform) String() string { return p.os + "_" + p.arch }

// release is one run.
type release struct {
	source   string    // the checkout
	out      string    // where the files go
	stage    string    // a directory for files in between
	version  string    // with its v
	revision string    // the commit
	time     time.Time // of the commit
}

func main() {
	source := flag.String("source", ".", "directory of the checkout")
	out := flag.String("out", "dist", "directory for the files, which is made anew")
	version := flag.String("version", "", "version to build (default: the tag of the commit, or a version made of its time and hash)")
	flag.Parse()

	if err := run(*source, *out, *version); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(source, out, version string) error {
	r, err := open(source, out, version)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.stage) }()
	fmt.Printf("release: %s of %s\n", r.version, r.time.Format(time.RFC3339))

	// A wrong key must not be noticed only after minutes of building.
	key, err := signingKey()
	if err != nil {
		return err
	}

	for _, step := range []func() error{
		r.checkToolchain,
		r.build,
		r.writeLicences,
		r.writeArchives,
		r.writePackages,
		r.writeImage,
		r.writeComponents,
		r.writeChecksums,
	} {
		if err := step(); err != nil {
			return err
		}
	}

	if key == nil {
		fmt.Println("release: not signed, RELEASE_KEY is not set")
		return nil
	}
	return r.sign(key)
}

// open reads the commit and makes the directories.
func open(source, out, version string) (*release, error) {
	r := &release{version: version}

	var err error
	if r.source, err = filepath.Abs(source); err != nil {
		return nil, err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, err
	}

	commit, err := r.git("log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	hash, seconds, _ := strings.Cut(commit, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("time of commit %s: %w", hash, err)
	}
	r.revision = hash
	r.time = time.Unix(unix, 0).UTC()

	if r.version == "" {
		if r.version, err = r.ownVersion(); err != nil {
			return nil, err
		}
	}
	if !strings.HasPrefix(r.version, "v") {
		return nil, fmt.Errorf("version %q: want a v in front, such as v1.2.3", r.version)
	}

	if err := os.RemoveAll(r.out); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return nil, err
	}
	r.stage, err = os.MkdirTemp("", "waybill-release-")
	return r, err
}

// ownVersion is the tag of the commit, or what Go calls a pseudo-version.
func (r *release) ownVersion() (string, error) {
	version, err := r.git("describe", "--tags", "--exact-match", "--match", "v*")
	if err != nil {
		version = "v0.0.0-" + r.time.Format("20060102150405") + "-" + r.revision[:12]
	}

	changes, err := r.git("status", "--porcelain", "--untracked-files=no")
	if err != nil {
		return "", err
	}
	if changes != "" {
		version += "+dirty"
	}
	return version, nil
}

// number is the version as names of files have it.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// checkToolchain refuses another version of Go than the one in go.mod, which
// would produce other bytes.
func (r *release) checkToolchain() error {
	want, err := r.command(nil, "go", "mod", "edit", "-print")
	if err != nil {
		return err
	}
	_, want, found := strings.Cut(want, "\ntoolchain ")
	if !found {
		return errors.New("go.mod has no toolchain line, which says what releases are built with")
	}
	want, _, _ = strings.Cut(want, "\n")

	have, err := r.command(nil, "go", "env", "GOVERSION")
	if err != nil {
		return err
	}
	if have != want {
		return fmt.Errorf("this is %s, and releases are built with %s (go.mod); set GOTOOLCHAIN=%s", have, want, want)
	}
	return nil
}

// binary is where the program of a platform is built.
func (r *release) binary(p platform) string { return filepath.Join(r.stage, p.String(), "waybill") }

func (r *release) build() error {
	for _, p := range platforms {
		fmt.Println("release: building", p)
		env := []string{
			"GOOS=" + p.os,
			"GOARCH=" + p.arch,
			"GOAMD64=v1",
			"GOARM64=v8.0",
			"CGO_ENABLED=0",
			"GOWORK=off",
			// A value that is not empty replaces flags of "go env -w" too.
			"GOFLAGS=-mod=readonly -trimpath -buildvcs=false",
		}
		_, err := r.command(env, "go", "build",
			"-ldflags", "-s -w -X github.com/waybillhq/waybill/internal/app.released="+r.version,
			"-o", r.binary(p), "./cmd/waybill")
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *release) git(args ...string) (string, error) { return r.command(nil, "git", args...) }

// command runs a program in the checkout and returns what it prints.
func (r *release) command(env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.source
	cmd.Env = append(os.Environ(), env...)

	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w\n%s", err, exit.Stderr)
		}
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
