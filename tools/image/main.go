// Command image writes the container image of the last stage of a Dockerfile as
// an OCI image layout, without a container engine. It knows the instructions
// that this project's Dockerfile has, and refuses all others.
//
//	image -dockerfile Dockerfile -out DIR -from build=DIR [-arch amd64,arm64] [-label NAME=VALUE]...
//
// The stage must begin with FROM scratch. A COPY --from=NAME /out/... takes its
// files from the directory of -from NAME=DIR in place of the stage's /out. With
// -arch the layout holds one image for each architecture, whose files are in
// DIR/ARCHITECTURE.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	dockerfile := flag.String("dockerfile", "Dockerfile", "file whose last stage is built")
	out := flag.String("out", "", "directory of the OCI layout, which is made anew")
	from := flag.String("from", "", "NAME=DIR: the directory that stands for /out of the stage NAME")
	arch := flag.String("arch", "", "architectures, separated by commas (default: that of this machine, with its files in DIR itself)")
	labels := map[string]string{}
	flag.Func("label", "NAME=VALUE: a label of the image; may be repeated", func(text string) error {
		name, value, given := strings.Cut(text, "=")
		if !given {
			return fmt.Errorf("want NAME=VALUE")
		}
		labels[name] = value
		return nil
	})
	flag.Parse()
	if err := run(*dockerfile, *out, *from, *arch, labels); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(dockerfile, out, from, architectures string, labels map[string]string) error {
	name, dir, given := strings.Cut(from, "=")
	if out == "" || !given {
		return fmt.Errorf("-out and -from NAME=DIR are needed")
	}
	text, err := os.ReadFile(dockerfile)
	if err != nil {
		return err
	}
	stage, err := lastStage(string(text))
	if err != nil {
		return err
	}

	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(out, "blobs", "sha256"), 0o755); err != nil {
		return err
	}

	builds := []*builder{{files: dir, architecture: runtime.GOARCH}}
	if architectures != "" {
		builds = nil
		for arch := range strings.SplitSeq(architectures, ",") {
			builds = append(builds, &builder{files: filepath.Join(dir, arch), architecture: arch})
		}
	}

	var manifests []descriptor
	for _, b := range builds {
		b.out = out
		b.stage = name
		b.config.Labels = labels
		for _, in := range stage {
			if err := b.apply(in); err != nil {
				return fmt.Errorf("%s %s: %w", in.name, in.rest, err)
			}
		}

		manifest, err := b.finish()
		if err != nil {
			return err
		}
		manifests = append(manifests, manifest)
	}
	return writeIndex(out, manifests)
}

// An instruction is one line of a Dockerfile, with its flags separated.
type instruction struct {
	name  string
	flags map[string]string
	rest  string
}

// lastStage reads the instructions after the last FROM, which must be scratch.
func lastStage(text string) ([]instruction, error) {
	text = strings.ReplaceAll(text, "\\\n", " ") // join continued lines

	var stage []instruction
	base := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}

		name, rest, _ := strings.Cut(line, " ")
		in := instruction{
			name:  strings.ToUpper(name),
			flags: map[string]string{},
			rest:  strings.TrimSpace(rest),
		}
		for strings.HasPrefix(in.rest, "--") {
			var one string
			one, in.rest, _ = strings.Cut(in.rest, " ")
			key, value, _ := strings.Cut(strings.TrimPrefix(one, "--"), "=")
			in.flags[key] = value
			in.rest = strings.TrimSpace(in.rest)
		}

		// A new stage drops what the one before it did.
		if in.name == "FROM" {
			stage = nil
			base = in.rest
			continue
		}
		stage = append(stage, in)
	}

	if base != "scratch" {
		return nil, fmt.Errorf("the last stage begins with FROM %s, want FROM scratch", base)
	}
	return stage, nil
}

// builder is an image that is being written.
type builder struct {
	out          string // of the layout
	stage        string // stage whose files are copied
	files        string // the directory that stands for its /out
	architecture string
	config       config
	layers       []descriptor
	diffs        []string
}

// config is the part of the image's configuration that the Dockerfile says.
// Healthcheck is Docker's own addition to the format.
type config struct {
	User         string              `json:"User,omitempty"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts,omitempty"`
	Env          []string            `json:"Env,omitempty"`
	Entrypoint   []string            `json:"Entrypoint,omitempty"`
	Cmd          []string            `json:"Cmd,omitempty"`
	Volumes      map[string]struct{} `json:"Volumes,omitempty"`
	WorkingDir   string              `json:"WorkingDir,omitempty"`
	StopSignal   string              `json:"StopSignal,omitempty"`
	Healthcheck  *healthcheck        `json:"Healthcheck,omitempty"`
	Labels       map[string]string   `json:"Labels,omitempty"`
}

type healthcheck struct {
	Test        []string
	Interval    time.Duration `json:",omitempty"`
	Timeout     time.Duration `json:",omitempty"`
	StartPeriod time.Duration `json:",omitempty"`
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

func (b *builder) apply(in instruction) (err error) {
	switch in.name {
	case "COPY":
		return b.copy(in)
	case "USER":
		b.config.User = in.rest
	case "WORKDIR":
		b.config.WorkingDir = in.rest
	case "STOPSIGNAL":
		b.config.StopSignal = in.rest
	case "ENV":
		if !strings.Contains(in.rest, "=") || strings.ContainsAny(in.rest, " \"'$") {
			return fmt.Errorf("want NAME=VALUE without quotes")
		}
		b.config.Env = append(b.config.Env, in.rest)
	case "EXPOSE":
		b.config.ExposedPorts = add(b.config.ExposedPorts, in.rest+"/tcp")
	case "VOLUME":
		b.config.Volumes = add(b.config.Volumes, in.rest)
	case "ENTRYPOINT":
		b.config.Entrypoint, err = words(in.rest)
	case "CMD":
		b.config.Cmd, err = words(in.rest)
	case "HEALTHCHECK":
		b.config.Healthcheck, err = readHealthcheck(in)
	default:
		return fmt.Errorf("this instruction is not known here")
	}
	return err
}

func add(set map[string]struct{}, value string) map[string]struct{} {
	if set == nil {
		set = map[string]struct{}{}
	}
	set[value] = struct{}{}
	return set
}

// words reads the JSON form of a command: there is no shell in the image.
func words(text string) (list []string, err error) {
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("want a JSON list of words: %w", err)
	}
	return list, nil
}

func readHealthcheck(in instruction) (*healthcheck, error) {
	command, found := strings.CutPrefix(in.rest, "CMD ")
	if !found {
		return nil, fmt.Errorf("want CMD [...]")
	}
	test, err := words(command)
	if err != nil {
		return nil, err
	}

	check := &healthcheck{Test: append([]string{"CMD"}, test...)}
	for name, value := range in.flags {
		d, err := time.ParseDuration(value)
		if err != nil {
			return nil, err
		}
		switch name {
		case "interval":
			check.Interval = d
		case "timeout":
			check.Timeout = d
		case "start-period":
			check.StartPeriod = d
		default:
			return nil, fmt.Errorf("--%s is not known here", name)
		}
	}
	return check, nil
}

// copy makes a layer of a directory of the stage.
func (b *builder) copy(in instruction) error {
	source, target, both := strings.Cut(in.rest, " ")
	inside, known := strings.CutPrefix(source, "/out/")
	if in.flags["from"] != b.stage || !both || !known {
		return fmt.Errorf("want COPY --from=%s /out/... TARGET", b.stage)
	}
	uid, gid := 0, 0
	if owner := in.flags["chown"]; owner != "" {
		if _, err := fmt.Sscanf(owner, "%d:%d", &uid, &gid); err != nil {
			return fmt.Errorf("want --chown=UID:GID: %w", err)
		}
	}

	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return err
	}
	sum := sha256.New()
	w := tar.NewWriter(io.MultiWriter(zip, sum))
	if err := addTree(w, filepath.Join(b.files, inside), strings.TrimSpace(target), uid, gid); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}

	layer, err := blob(b.out, "application/vnd.oci.image.layer.v1.tar+gzip", packed.Bytes())
	if err != nil {
		return err
	}
	b.layers = append(b.layers, layer)
	b.diffs = append(b.diffs, "sha256:"+hex.EncodeToString(sum.Sum(nil)))
	return nil
}

// addTree adds a directory with all that is in it. Times are left out, so that
// the same files make the same image.
func addTree(w *tar.Writer, dir, target string, uid, gid int) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path.Join(target, filepath.ToSlash(inside)), "/")
		if name == "" {
			return nil // the root itself
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.IsDir() && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a directory", file)
		}

		header, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		header.Name = name
		if info.IsDir() {
			header.Name += "/"
		}
		header.Uid, header.Gid, header.Uname, header.Gname = uid, gid, "", ""
		header.ModTime = time.Unix(0, 0)
		header.AccessTime, header.ChangeTime = time.Time{}, time.Time{}
		header.Format = tar.FormatPAX
		if err := w.WriteHeader(header); err != nil || info.IsDir() {
			return err
		}

		content, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }()
		_, err = io.Copy(w, content)
		return err
	})
}

// finish writes the configuration and the manifest.
func (b *builder) finish() (descriptor, error) {
	settings, err := document(b.out, "application/vnd.oci.image.config.v1+json", map[string]any{
		"architecture": b.architecture,
		"os":           "linux",
		"config":       b.config,
		"rootfs":       map[string]any{"type": "layers", "diff_ids": b.diffs},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := document(b.out, "application/vnd.oci.image.manifest.v1+json", map[string]any{
		"schemaVersion": 2,
		"mediaType":     "application/vnd.oci.image.manifest.v1+json",
		"config":        settings,
		"layers":        b.layers,
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest.Platform = &platform{Architecture: b.architecture, OS: "linux"}

	total := int64(0)
	for _, layer := range b.layers {
		total += layer.Size
	}
	fmt.Println(manifest.Digest, b.architecture, strconv.FormatInt(total/1e6, 10)+" MB")
	return manifest, nil
}

const (
	indexType = "application/vnd.oci.image.index.v1+json"
	tagName   = "org.opencontainers.image.ref.name"
)

// writeIndex writes the two files that make the directory a layout. Images of
// several architectures are under an index of their own: the tag names one thing.
func writeIndex(out string, manifests []descriptor) error {
	tagged := manifests[0]
	if len(manifests) > 1 {
		var err error
		tagged, err = document(out, indexType, map[string]any{
			"schemaVersion": 2,
			"mediaType":     indexType,
			"manifests":     manifests,
		})
		if err != nil {
			return err
		}
	}
	tagged.Annotations = map[string]string{tagName: "waybill"}

	index, err := json.MarshalIndent(map[string]any{
		"schemaVersion": 2,
		"mediaType":     indexType,
		"manifests":     []descriptor{tagged},
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "index.json"), index, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "oci-layout"), []byte(`{"imageLayoutVersion":"1.0.0"}`), 0o644)
}

func document(out, mediaType string, value any) (descriptor, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return descriptor{}, err
	}
	return blob(out, mediaType, data)
}

// blob stores bytes under their digest.
func blob(out, mediaType string, data []byte) (descriptor, error) {
	sum := sha256.Sum256(data)
	name := hex.EncodeToString(sum[:])
	err := os.WriteFile(filepath.Join(out, "blobs", "sha256", name), data, 0o644)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + name, Size: int64(len(data))}, err
}
