package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMakeDevStopsWhatItStarted runs "make dev" as a person does, and stops it
// with Ctrl-C: the signal goes to every process of the terminal.
func TestMakeDevStopsWhatItStarted(t *testing.T) {
	needBinary(t)
	data := filepath.Join(openDir(t), "data")
	start := func() (*exec.Cmd, *bufio.Reader) {
		cmd := exec.Command("make", "dev", "DEV_FLAGS=--json --listen 127.0.0.1:0 --data-dir "+data)
		cmd.Dir = root(t)
		cmd.Env = append(os.Environ(), "DATABASE_URL=", "LOG_LEVEL=ERROR", "METRICS_LISTEN=off")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		return cmd, bufio.NewReader(out)
	}

	var keys []string
	for range 2 {
		began := time.Now()
		cmd, out := start()
		first, err := out.ReadString('\n')
		if err != nil || !strings.HasPrefix(first, "Building bin/waybill") || time.Since(began) > 5*time.Second {
			t.Fatalf("after %s it says %q, %v", time.Since(began), first, err)
		}
		var ready struct{ URL, APIKey string }
		for ready.URL == "" {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			_ = json.Unmarshal([]byte(line), &ready) // other lines are not JSON
		}
		keys = append(keys, ready.APIKey)
		create(t, ready.URL, ready.APIKey)

		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // make says that it was interrupted

		// make may end before the processes that it has started.
		var left []string
		for range 300 {
			left = processesIn(t, cmd.Process.Pid, data)
			if len(left) == 0 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if len(left) > 0 {
			t.Errorf("30 s later these still run: %q", left)
		}
	}
	if keys[0] != keys[1] {
		t.Errorf("the second start has another key: %s and %s", keys[0], keys[1])
	}
}

// processesIn are the processes of a group, and those that name a directory.
func processesIn(t *testing.T, group int, dir string) (list []string) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/", &pid); err != nil {
			t.Fatal(err)
		}
		words := strings.Split(strings.TrimRight(string(text), "\x00"), "\x00")
		of, err := syscall.Getpgid(pid)
		if err == nil && of == group || slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, dir) }) {
			list = append(list, strings.Join(words, " "))
		}
	}
	return list
}
