package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVulnerabilitiesAreLookedForOnGitHub has no database: on a machine without a
// network the check is skipped, and on GitHub it fails.
func TestVulnerabilitiesAreLookedForOnGitHub(t *testing.T) {
	t.Parallel()
	for platform, fails := range map[string]bool{"": false, "true": true} {
		check := exec.Command(filepath.Join(root(t), "scripts", "vulncheck"))
		check.Env = append(os.Environ(), "VULNDB="+t.TempDir(), "GITHUB_ACTIONS="+platform)
		out, err := check.CombinedOutput()
		if (err != nil) != fails || !strings.Contains(string(out), "there is no database in") {
			t.Errorf("with GITHUB_ACTIONS=%q: %v\n%s", platform, err, out)
		}
	}

	workflow, err := os.ReadFile(filepath.Join(root(t), ".github", "workflows", "ci.yaml"))
	if err != nil || !strings.Contains(string(workflow), "VULNDB: https://vuln.go.dev") {
		t.Errorf("the workflow names no database: %v", err)
	}
}
