//go:build clients

package clients

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestEasyPostLibraries runs the README of EasyPost's official libraries, and what an
// integration does next, with the libraries as they are published: only the base
// address and the key differ.
func TestEasyPostLibraries(t *testing.T) {
	t.Run("node", func(t *testing.T) {
		s := start(t)
		s.run(t, "npm", "ci", "--silent", "--no-audit", "--no-fund")
		if out := s.run(t, "node", "moving.mjs"); strings.TrimSpace(out) != "ok" {
			t.Errorf("moving.mjs printed %s", out)
		}
	})

	t.Run("python", func(t *testing.T) {
		s := start(t)
		python := filepath.Join(".out", "venv", "bin", "python")
		s.run(t, "python3", "-m", "venv", ".out/venv")
		s.run(t, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt")
		if out := s.run(t, python, "moving.py"); strings.TrimSpace(out) != "ok" {
			t.Errorf("moving.py printed %s", out)
		}
	})
}
