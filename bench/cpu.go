package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// tick is the unit of CPU time in /proc.
const tick = 10 * time.Millisecond

// stat is what /proc says about a process.
type stat struct {
	parent        int
	own           time.Duration
	endedChildren time.Duration
}

func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, false
	}

	// The name may hold spaces; the fields begin behind its bracket.
	_, rest, ok := strings.Cut(string(data), ") ")
	if !ok {
		return stat{}, false
	}
	var state string
	var parent int
	var skip, user, system, childUser, childSystem int64
	n, _ := fmt.Sscan(rest, &state, &parent, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &skip, &user, &system, &childUser, &childSystem)

	return stat{
		parent:        parent,
		own:           time.Duration(user+system) * tick,
		endedChildren: time.Duration(childUser+childSystem) * tick,
	}, n == 15
}

// processCPU returns the CPU time of one process so far.
func processCPU(pid int) time.Duration {
	process, _ := readStat(pid)
	return process.own
}

// treeCPU returns the CPU time of a process and all its children so far, those
// that have ended included.
func treeCPU(pid int) time.Duration {
	process, _ := readStat(pid)
	sum := process.own + process.endedChildren

	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		var id int
		if _, err := fmt.Sscan(filepath.Base(folder), &id); err != nil {
			continue
		}
		if child, ok := readStat(id); ok && child.parent == pid {
			sum += child.own
		}
	}
	return sum
}

// postmaster returns the process of Postgres that is the parent of all its
// backends.
func postmaster(ctx context.Context, conn *pgx.Conn) (int, error) {
	var pid int
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return 0, err
	}
	backend, ok := readStat(pid)
	if !ok {
		return 0, fmt.Errorf("the database must run on this machine, where its CPU time can be read")
	}
	return backend.parent, nil
}
