package restore

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/waybillhq/waybill/internal/store"
)

// A disk is what this machine's disk knows of the database, in a file of its own for each
// installation. Nothing in it is secret.
type disk struct {
	Copy   string               `json:"copy"`   // names the recovery log beside it
	Beat   int64                `json:"beat"`   // that the database has confirmed
	At     time.Time            `json:"at"`     // of the beat, on the database's clock
	Server store.ServerPosition `json:"server"` // at that time
	Joined int                  `json:"joined"` // the last restore that the log was compared after
	Copies map[string]time.Time `json:"copies"` // that were seen beside this one, and when
}

// rememberedFor is how long a disk is believed that it knows more than the database, and
// how long it remembers other copies: far longer than the log keeps entries.
const rememberedFor = 7 * 24 * time.Hour

func diskFile(dir, installation string) string {
	return filepath.Join(dir, "database-"+installation+".json")
}

// readDisk reads the file. One that is not there, or cannot be read, knows nothing.
func readDisk(dir, installation string) (known disk, isThere bool, err error) {
	data, err := os.ReadFile(diskFile(dir, installation))
	if errors.Is(err, os.ErrNotExist) {
		return newDisk(), false, nil
	}
	if err != nil {
		return newDisk(), false, fmt.Errorf("read what the disk knows of the database: %w", err)
	}
	if json.Unmarshal(data, &known) != nil || known.Copy == "" {
		return newDisk(), false, nil // it was cut short by a full disk
	}
	return known, true, nil
}

func newDisk() disk { return disk{Copy: strings.ToLower(rand.Text())} }

// write replaces the file. A reader sees the old one or the new one.
func (d disk) write(dir, installation string) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	draft, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return fmt.Errorf("write what the disk knows of the database: %w", err)
	}
	_, err = draft.Write(data)
	err = errors.Join(err, draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), diskFile(dir, installation))
	}
	if err != nil {
		return fmt.Errorf("write what the disk knows of the database: %w", errors.Join(err, os.Remove(draft.Name())))
	}
	return nil
}

// see adds the copies that the database lists, and drops those that were last seen long ago.
func (d *disk) see(copies map[string]time.Time, now time.Time) {
	seen := maps.Clone(d.Copies)
	if seen == nil {
		seen = map[string]time.Time{}
	}
	maps.Copy(seen, copies)
	maps.DeleteFunc(seen, func(id string, at time.Time) bool {
		return id == d.Copy || now.Sub(at) > rememberedFor
	})
	d.Copies = seen
}

// A difference says why the database is not as the disk knows it.
type difference struct {
	by          string // as store.NoticedRestore; empty for none
	mayHaveLost bool
}

// compare says whether the database may have lost something that the disk saw it have.
// After a promotion that lost nothing, the last beat is still there.
func (d disk) compare(now store.CopyState, at time.Time) difference {
	isBehind := now.Beat < d.Beat && at.Sub(d.At) < rememberedFor
	switch {
	case now.Server.System != d.Server.System:
		return difference{by: "identifier", mayHaveLost: true}
	case now.Server.Timeline != d.Server.Timeline:
		return difference{by: "timeline", mayHaveLost: isBehind}
	case now.Server.WAL < d.Server.WAL, isBehind:
		return difference{by: "position", mayHaveLost: true}
	case now.Server.Database != d.Server.Database:
		return difference{by: "position"}
	}
	return difference{}
}
