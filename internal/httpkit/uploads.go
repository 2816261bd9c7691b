package httpkit

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/waybillhq/waybill/internal/ship"
)

// Bounds of bodies while they arrive.
const (
	bodyInMemory    = 256 << 10 // the part of a body that is not in a file; larger ones are
	bodiesInMemory  = 64 << 20  // of all bodies; above it, small ones go to files too
	bodiesInFiles   = 512 << 20 // of all bodies
	minBodyRate     = 8 << 10   // bytes a second, on average of a window
	bodyWindow      = 3 * time.Second
	longestSilence  = 2 * bodyWindow
	uploadsComeBack = 5 * time.Second
)

// Uploads receives large bodies before memory is reserved for what is done with
// them: a client that sends slowly takes a file's room, and nobody else's memory. It
// is safe for concurrent use. A nil Uploads leaves bodies where they are.
//
// An account that holds more than a quarter of the room leaves a quarter to others.
type Uploads struct {
	dir string

	mu     sync.Mutex
	memory int64
	files  int64
	held   map[ship.AccountID]int64 // of files
}

// NewUploads returns uploads with their files in a directory, that of the system for
// temporary files if it is empty.
func NewUploads(dir string) *Uploads {
	if dir == "" {
		dir = os.TempDir()
	}
	return &Uploads{dir: dir, held: map[ship.AccountID]int64{}}
}

// Receive reads the body of a request of the account up to a limit, and puts what
// has arrived in its place. The caller must call done when the body is not used any
// more. An error of the client is met where the body is read: only a body that is too
// slow or has no room is refused here.
func (u *Uploads) Receive(w http.ResponseWriter, r *http.Request, owner ship.AccountID, limit int64) (done func(), err error) {
	if u == nil || r.Body == nil || r.Body == http.NoBody || r.ContentLength > limit {
		return func() {}, nil
	}

	body := &arrived{uploads: u, owner: owner}
	if err := body.readFrom(w, r, limit); err != nil {
		body.drop()
		w.Header().Set("Connection", "close") // the rest of the body is not read
		return func() {}, err
	}

	reader, err := body.reader()
	if err != nil {
		body.drop()
		return func() {}, err
	}
	r.Body = io.NopCloser(reader)
	return body.drop, nil
}

// arrived is a body that has arrived, or a part of it.
type arrived struct {
	uploads *Uploads
	owner   ship.AccountID
	memory  []byte
	file    *os.File // with all of it, instead of memory
	inFile  int64
	failure error // of the client, after what has arrived
}

// readFrom reads a body that must keep up a minimum rate.
func (body *arrived) readFrom(w http.ResponseWriter, r *http.Request, limit int64) error {
	source := http.MaxBytesReader(w, r.Body, limit)
	control := http.NewResponseController(w)
	ends, hasEnd := r.Context().Deadline()

	part := make([]byte, 32<<10)
	began := time.Now()
	inWindow := 0
	for {
		// A deadline that passes ends the connection, so it is one for silence
		// alone. Not every writer has one: then the client is only measured.
		silent := time.Now().Add(longestSilence)
		if hasEnd && ends.Before(silent) {
			silent = ends
		}
		_ = control.SetReadDeadline(silent)

		n, err := source.Read(part)
		inWindow += n
		if stored := body.write(part[:n]); stored != nil {
			return stored
		}
		switch {
		case errors.Is(err, io.EOF):
			_ = control.SetReadDeadline(time.Time{})
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return tooSlow()
		case err != nil:
			body.failure = err
			return nil
		}

		if time.Since(began) >= bodyWindow {
			if inWindow < minBodyRate*int(bodyWindow/time.Second) {
				return tooSlow()
			}
			began = time.Now()
			inWindow = 0
		}
	}
}

func tooSlow() error {
	return ship.Coded(ship.Invalid, "malformed_json",
		"the request body arrived too slowly, at less than %d bytes a second; send it again over a better connection", minBodyRate)
}

// write keeps a part: in memory while the body is small, else in a file.
func (body *arrived) write(part []byte) error {
	if len(part) == 0 {
		return nil
	}
	if body.file == nil && len(body.memory)+len(part) <= bodyInMemory && body.uploads.takeMemory(len(part)) {
		body.memory = append(body.memory, part...)
		return nil
	}

	if body.file == nil {
		if err := body.moveToFile(); err != nil {
			return err
		}
	}
	return body.append(part)
}

func (body *arrived) moveToFile() error {
	file, err := os.CreateTemp(body.uploads.dir, "waybill-upload-*")
	if err != nil {
		return noRoom("files cannot be received at the moment, because UPLOAD_DIR cannot be written")
	}

	// Without a name nothing is left of it after a crash. Where an open file
	// cannot be removed, drop does it.
	_ = os.Remove(file.Name())
	body.file = file

	kept := body.memory
	body.memory = nil
	body.uploads.freeMemory(len(kept))
	return body.append(kept)
}

func (body *arrived) append(part []byte) error {
	if !body.uploads.takeFile(body.owner, int64(len(part))) {
		return noRoom("the service is receiving too many files at the moment; wait for the number of seconds in Retry-After and send the same request again")
	}
	body.inFile += int64(len(part))
	if _, err := body.file.Write(part); err != nil {
		return noRoom("files cannot be received at the moment, because UPLOAD_DIR is full or cannot be written")
	}
	return nil
}

func noRoom(message string) error {
	return &ship.Error{Kind: ship.Unavailable, Code: "service_unavailable", Message: message, RetryAfter: uploadsComeBack}
}

// reader returns what has arrived, and then the error of the client.
func (body *arrived) reader() (io.Reader, error) {
	var content io.Reader = bytes.NewReader(body.memory)
	if body.file != nil {
		if _, err := body.file.Seek(0, io.SeekStart); err != nil {
			return nil, noRoom("files cannot be received at the moment, because UPLOAD_DIR cannot be read")
		}
		content = body.file
	}
	if body.failure == nil {
		return content, nil
	}
	return io.MultiReader(content, failing{body.failure}), nil
}

// failing is a reader that has nothing but an error.
type failing struct{ err error }

// Read returns the error.
func (f failing) Read([]byte) (int, error) { return 0, f.err }

// drop gives the room back.
func (body *arrived) drop() {
	body.uploads.freeMemory(len(body.memory))
	body.memory = nil
	if body.file == nil {
		return
	}

	name := body.file.Name()
	_ = body.file.Close()
	_ = os.Remove(name) // it has no name any more where that is possible
	body.file = nil
	body.uploads.freeFile(body.owner, body.inFile)
}

func (u *Uploads) takeMemory(n int) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.memory+int64(n) > bodiesInMemory {
		return false
	}
	u.memory += int64(n)
	return true
}

func (u *Uploads) freeMemory(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.memory -= int64(n)
}

// takeFile takes room for a part of a file. The last quarter of the room is for
// accounts that have less than a quarter of it.
func (u *Uploads) takeFile(owner ship.AccountID, n int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	room := int64(bodiesInFiles)
	if u.held[owner]+n > bodiesInFiles/4 {
		room -= bodiesInFiles / 4
	}
	if u.files+n > room {
		return false
	}
	u.files += n
	u.held[owner] += n
	return true
}

func (u *Uploads) freeFile(owner ship.AccountID, n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.files -= n
	if u.held[owner] -= n; u.held[owner] <= 0 {
		delete(u.held, owner)
	}
}
