package deploy

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/waybillhq/waybill/internal/cli"
)

// service is what these tests read of a service of the compose file.
type service struct {
	Image       string
	Build       string
	Command     any
	ReadOnly    bool `yaml:"read_only"`
	Tmpfs       any
	Environment map[string]string
	Volumes     []string
	Ports       []string
	Healthcheck struct{ Test []string }
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
}

type composition struct {
	Services map[string]service
	Volumes  map[string]any
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)(?::([-?])([^}]*))?\}`)

// readCompose reads the compose file with the variables given, as compose
// does. Those that are required and not given are returned.
func readCompose(t *testing.T, given map[string]string) (composition, []string) {
	t.Helper()
	var missing []string
	text := variable.ReplaceAllStringFunc(read(t, "deploy", "compose.yaml"), func(one string) string {
		part := variable.FindStringSubmatch(one)
		if value, ok := given[part[1]]; ok {
			return value
		}
		if part[2] == "?" {
			missing = append(missing, part[1])
		}
		if part[2] == "-" {
			return part[3]
		}
		return ""
	})
	var c composition
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	slices.Sort(missing)
	return c, slices.Compact(missing)
}

var composeSecrets = map[string]string{"POSTGRES_PASSWORD": "admin", "WAYBILL_DB_PASSWORD": "plain", "WAYBILL_SERVE_PASSWORD": "serves"}

func TestTheComposeFileSeparatesTheLogins(t *testing.T) {
	t.Parallel()
	if _, missing := readCompose(t, nil); !slices.Equal(missing, []string{"POSTGRES_PASSWORD", "WAYBILL_DB_PASSWORD", "WAYBILL_SERVE_PASSWORD"}) {
		t.Errorf("it asks for %v", missing)
	}
	c, missing := readCompose(t, composeSecrets)
	if len(missing) > 0 {
		t.Fatalf("it asks for %v too", missing)
	}

	image := readImageSettings(t)
	for _, name := range []string{"waybill", "migrate"} {
		one := c.Services[name]
		values := maps.Clone(image.env)
		maps.Copy(values, one.Environment)

		// The service has nothing of the owner in its environment.
		if name == "migrate" {
			values["DATABASE_URL"] = values["MIGRATE_DATABASE_URL"]
			if cfg := loadKnown(t, values); !strings.Contains(cfg.MigrateDatabaseURL, "//waybill:plain@postgres:5432/waybill") || cfg.HasOutsideKey() {
				t.Errorf("%s: database %s, key %t", name, cfg.MigrateDatabaseURL, cfg.HasOutsideKey())
			}
		} else {
			values["SECRET_KEY_FILE"] = keyFileOf(t, c)
			cfg := loadKnown(t, values)
			if !strings.Contains(cfg.DatabaseURL, "//waybill_serve:serves@postgres:5432/waybill") || cfg.MigrateDatabaseURL != "" || !cfg.HasOutsideKey() {
				t.Errorf("%s: database %s, key %t", name, cfg.DatabaseURL, cfg.HasOutsideKey())
			}
		}
		if one.Image != "waybill" || !one.ReadOnly {
			t.Errorf("%s: image %q, read-only %t", name, one.Image, one.ReadOnly)
		}
	}

	waybill, postgres := c.Services["waybill"], c.Services["postgres"]
	if !slices.Contains(waybill.Volumes, "state:/var/lib/waybill") || !strings.HasPrefix(image.env["SPOOL_DIR"], "/var/lib/waybill/") {
		t.Errorf("what was bought is in %s, volumes are %v", image.env["SPOOL_DIR"], waybill.Volumes)
	}
	for _, port := range []string{"127.0.0.1:8080:8080", "127.0.0.1:9090:9090"} {
		if !slices.Contains(waybill.Ports, port) {
			t.Errorf("%s is not published: %v", port, waybill.Ports)
		}
	}
	if !slices.Equal(waybill.Healthcheck.Test, append([]string{"CMD"}, image.health...)) {
		t.Errorf("the health check is %v, that of the image %v", waybill.Healthcheck.Test, image.health)
	}
	if waybill.DependsOn["migrate"].Condition != "service_completed_successfully" || waybill.DependsOn["secret-key"].Condition != "service_completed_successfully" || c.Services["migrate"].DependsOn["postgres"].Condition != "service_healthy" {
		t.Error("the services do not wait for each other")
	}
	if !slices.ContainsFunc(postgres.Volumes, func(v string) bool {
		return strings.HasPrefix(v, "./init-database.sh:/docker-entrypoint-initdb.d/")
	}) || postgres.Environment["WAYBILL_DB_PASSWORD"] != "plain" || postgres.Environment["WAYBILL_SERVE_PASSWORD"] != "serves" {
		t.Errorf("Postgres does not make the login: %v", postgres.Volumes)
	}
	for _, v := range append(slices.Clone(waybill.Volumes), postgres.Volumes...) {
		source, _, _ := strings.Cut(v, ":")
		if strings.HasPrefix(source, ".") {
			if _, err := os.Stat(filepath.Join(root(t), "deploy", source)); err != nil {
				t.Error(err)
			}
		} else if _, declared := c.Volumes[source]; !declared {
			t.Errorf("the volume %s is not declared", source)
		}
	}
}

// keyFileOf runs the command that creates the key on the first start, on this
// machine, and returns the file. It must be the one that the service reads, in
// the volume that both have and the database has not.
func keyFileOf(t *testing.T, c composition) string {
	t.Helper()
	maker := c.Services["secret-key"]
	command, _ := maker.Command.([]any)
	if len(command) != 3 || command[2] != c.Services["waybill"].Environment["SECRET_KEY_FILE"] {
		t.Fatalf("the command is %v, the service reads %s", command, c.Services["waybill"].Environment["SECRET_KEY_FILE"])
	}
	if !slices.Equal(maker.Volumes, c.Services["waybill"].Volumes) || slices.Contains(c.Services["postgres"].Volumes, maker.Volumes[0]) {
		t.Errorf("the key is in %v, the service has %v", maker.Volumes, c.Services["waybill"].Volumes)
	}

	file := filepath.Join(t.TempDir(), "secret-key")
	for range 2 { // at every start
		err := cli.Run(t.Context(), []string{fmt.Sprint(command[0]), fmt.Sprint(command[1]), file},
			cli.Streams{Env: func(string) (string, bool) { return "", false }, Out: io.Discard, Err: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// imageSettings are what the Dockerfile says of the image.
type imageSettings struct {
	env    map[string]string
	health []string
}

func readImageSettings(t *testing.T) imageSettings {
	t.Helper()
	s := imageSettings{env: map[string]string{}}
	for line := range strings.SplitSeq(read(t, "Dockerfile"), "\n") {
		if one, ok := strings.CutPrefix(line, "ENV "); ok {
			name, value, _ := strings.Cut(one, "=")
			s.env[name] = value
		}
		if strings.HasPrefix(line, "HEALTHCHECK ") {
			_, command, _ := strings.Cut(line, " CMD ")
			if err := json.Unmarshal([]byte(command), &s.health); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// TestTheImageStarts unpacks the image of "make image" and runs its entry point
// with the settings of the compose file.
func TestTheImageStarts(t *testing.T) {
	t.Parallel()
	if os.Getenv("RELEASE") == "" {
		t.Skip("make release-check runs it")
	}
	dir := openDir(t)
	image := unpack(t, filepath.Join(root(t), "image", "oci"), dir)
	if image.User != "65532:65532" || len(image.Volumes) != 1 {
		t.Errorf("the image runs as %q, with volumes %v", image.User, image.Volumes)
	}

	c, _ := readCompose(t, composeSecrets)
	api, metrics := freeAddress(t), freeAddress(t)
	b := box{
		root:   dir,
		states: map[string]string{},
		env:    image.Env,
	}
	for volume := range image.Volumes {
		b.states[volume] = stateDir(t)
	}
	for name, value := range c.Services["waybill"].Environment {
		b.env = append(b.env, name+"="+value)
	}
	// The network is this host's own: other addresses, and the test's database.
	owner, serving := plainDatabase(t)
	b.env = append(b.env, "DATABASE_URL="+serving, "LISTEN="+api, "METRICS_LISTEN="+metrics, "LOG_LEVEL=WARN")

	create := slices.Clone(image.Entrypoint)
	for _, part := range c.Services["secret-key"].Command.([]any) {
		create = append(create, fmt.Sprint(part))
	}
	b.run(t, create...)
	migrating := b
	migrating.env = append(slices.Clone(b.env), "MIGRATE_DATABASE_URL="+owner)
	migrating.run(t, append(slices.Clone(image.Entrypoint), "migrate")...)
	b.serve(t, append(slices.Clone(image.Entrypoint), image.Cmd...)...)
	useIt(t, b, image.Entrypoint[0], api, metrics)
	if got := b.run(t, image.Healthcheck.Test[1:]...); got != "ready\n" {
		t.Errorf("the health check prints %q", got)
	}
}

type imageConfig struct {
	User        string
	Env         []string
	Entrypoint  []string
	Cmd         []string
	Volumes     map[string]struct{}
	Healthcheck struct{ Test []string }
}

type blob struct {
	Digest string
	Size   int64
}

// unpack writes the layers of an OCI layout into a directory, each checked
// against its digest, and returns the image's configuration.
func unpack(t *testing.T, layout, dir string) imageConfig {
	t.Helper()
	load := func(b blob) []byte {
		data, err := os.ReadFile(filepath.Join(layout, "blobs", strings.Replace(b.Digest, ":", "/", 1)))
		if err != nil {
			t.Fatalf("%v: make image", err)
		}
		if sum := sha256.Sum256(data); "sha256:"+hex.EncodeToString(sum[:]) != b.Digest || int64(len(data)) != b.Size {
			t.Fatalf("the blob %s is not what its digest says", b.Digest)
		}
		return data
	}
	decode := func(data []byte, into any) {
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}

	index, err := os.ReadFile(filepath.Join(layout, "index.json"))
	if err != nil {
		t.Fatalf("%v: make image", err)
	}
	var list struct{ Manifests []blob }
	decode(index, &list)
	var manifest struct {
		Config blob
		Layers []blob
	}
	decode(load(list.Manifests[0]), &manifest)
	var settings struct {
		Config imageConfig
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	decode(load(manifest.Config), &settings)

	for i, layer := range manifest.Layers {
		zip, err := gzip.NewReader(strings.NewReader(string(load(layer))))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		unpackLayer(t, io.TeeReader(zip, sum), dir)
		if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != settings.RootFS.DiffIDs[i] {
			t.Errorf("layer %d is %s, the configuration says %s", i, got, settings.RootFS.DiffIDs[i])
		}
	}
	return settings.Config
}

func unpackLayer(t *testing.T, layer io.Reader, dir string) {
	t.Helper()
	r := tar.NewReader(layer)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, filepath.FromSlash(header.Name))
		mode := header.FileInfo().Mode()
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(file, mode.Perm())
		} else {
			var content []byte
			if content, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(file, content, mode.Perm())
			}
		}
		if err == nil && os.Geteuid() == 0 {
			err = os.Chown(file, header.Uid, header.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(io.Discard, layer); err != nil { // what follows the end of the archive
		t.Fatal(err)
	}
}
