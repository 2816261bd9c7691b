package httpkit

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// receive receives a body, or returns why it was refused.
func receive(t *testing.T, u *Uploads, owner ship.AccountID, body io.Reader, limit int64) (*http.Request, func(), error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = -1
	done, err := u.Receive(httptest.NewRecorder(), r, owner, limit)
	return r, done, err
}

func TestABodyIsTheSameAfterItHasArrived(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u := NewUploads(dir)
	for _, size := range []int{0, 1, bodyInMemory, bodyInMemory + 1, 3 << 20} {
		want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		r, done, err := receive(t, u, "a", bytes.NewReader(want), 4<<20)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("of %d bytes, %d arrived: %v", size, len(got), err)
		}
		done()
	}

	// What is too large is met where the body is read, as without a file.
	r, done, err := receive(t, u, "a", strings.NewReader(strings.Repeat("x", 1<<20)), 1<<19)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r.Body); err == nil {
		t.Error("a body above its limit was read")
	}
	done()

	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 || u.memory != 0 || u.files != 0 || len(u.held) != 0 {
		t.Errorf("%d files are left, %d bytes of memory and %d of files taken: %v", len(left), u.memory, u.files, err)
	}
}

func TestOneAccountLeavesRoomForFilesOfOthers(t *testing.T) {
	t.Parallel()
	u := NewUploads(t.TempDir())
	taken := 0
	for u.takeFile("greedy", 1<<20) {
		taken++
	}
	if taken != 384 {
		t.Errorf("one account took %d MiB", taken)
	}
	for range 128 {
		if !u.takeFile("other", 1<<20) {
			t.Fatal("another account has no room")
		}
	}
	if u.takeFile("third", 1) {
		t.Error("more than all was taken")
	}
}

func TestFilesNeedADirectoryThatCanBeWritten(t *testing.T) {
	t.Parallel()
	u := NewUploads(filepath.Join(t.TempDir(), "missing"))
	_, _, err := receive(t, u, "a", strings.NewReader(strings.Repeat("x", bodyInMemory+1)), 1<<20)
	if ship.KindOf(err) != ship.Unavailable {
		t.Errorf("%v, want unavailable", err)
	}
	if _, done, err := receive(t, u, "a", strings.NewReader("small"), 1<<20); err != nil {
		t.Errorf("a small body needs no file: %v", err)
	} else {
		done()
	}
}

// TestASlowBodyIsRefused sends a few bytes a second, and then none at all, over a
// real connection.
func TestASlowBodyIsRefused(t *testing.T) {
	t.Parallel()
	u := NewUploads(t.TempDir())
	refused := make(chan error, 2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		done, err := u.Receive(w, r, "a", 16<<20)
		done()
		refused <- err
	}))
	defer server.Close()

	for name, pause := range map[string]time.Duration{"dripping": 200 * time.Millisecond, "silent": time.Hour} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 13000000\r\n\r\n{")
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(pause):
					if _, err := io.WriteString(connection, " "); err != nil {
						return
					}
				}
			}
		}()

		select {
		case err := <-refused:
			if ship.CodeOf(err) != "malformed_json" || errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("a %s body is still waited for", name)
		}
		close(stop)
		_ = connection.Close()
	}
}
