package all_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/waybillhq/waybill/internal/carrier/all"
)

// driverFiles are the files of a driver, in the order in which they are read. A
// driver leaves out those that it does not need; docs/adding-a-carrier.md says
// what each holds.
var driverFiles = []string{
	"spec.go",
	"driver.go",
	"token.go",
	"codes.go",
	"place.go",
	"options.go",
	"order.go",
	"parcel.go",
	"rate.go",
	"charges.go",
	"buy.go",
	"customs.go",
	"tax.go",
	"find.go",
	"void.go",
	"track.go",
	"scan.go",
	"statuses.go",
	"statuses.tsv",
	"number.go",
	"push.go",
	"subscribe.go",
	"address.go",
	"pickup.go",
	"manifest.go",
	"document.go",
	"proof.go",
	"points.go",
	"duties.go",
	"errors.go",
	"wire.go",
	"wiretrack.go",
	"golive.go",
	"sources.tsv",
	"sources.md",
	"driver_test.go",
	"mutants.tsv",
}

// neverMissing are the files that every driver has.
var neverMissing = []string{"spec.go", "driver.go", "codes.go", "errors.go", "wire.go", "driver_test.go"}

func TestDriversHaveTheSameFiles(t *testing.T) {
	t.Parallel()
	for _, spec := range all.Specs {
		folder := filepath.Join("..", strings.ReplaceAll(spec.Name, "_", ""))
		files := filesIn(t, folder)
		for _, name := range files {
			isOtherTest := strings.HasSuffix(name, "_test.go")
			if !isOtherTest && !slices.Contains(driverFiles, name) {
				t.Errorf("%s/%s is not among the files of a driver; docs/adding-a-carrier.md lists them", folder, name)
			}
		}
		for _, name := range neverMissing {
			if !slices.Contains(files, name) {
				t.Errorf("%s lacks %s", folder, name)
			}
		}
	}
}

func TestTheSkeletonHasTheFilesOfADriver(t *testing.T) {
	t.Parallel()
	templates := filesIn(t, "../../../tools/carrier/skeleton")
	for _, template := range templates {
		if name := strings.TrimSuffix(template, ".tmpl"); !slices.Contains(driverFiles, name) {
			t.Errorf("the skeleton has %s, which is not among the files of a driver", name)
		}
	}
	for _, name := range neverMissing {
		if !slices.Contains(templates, name+".tmpl") {
			t.Errorf("the skeleton lacks %s", name)
		}
	}
}

func TestTheGuideNamesTheFilesOfADriver(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../docs/adding-a-carrier.md")
	if err != nil {
		t.Fatal(err)
	}
	rest := string(guide)
	for _, name := range driverFiles {
		i := strings.Index(rest, "`"+name+"`")
		if i < 0 {
			t.Errorf("docs/adding-a-carrier.md does not name %s, or not in its place", name)
			continue
		}
		rest = rest[i:]
	}
}

// filesIn lists the files of a folder, without its folders.
func filesIn(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}
