package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc.
const tick = 10 * time.Millisecond

// stat is what /proc tells of a process.
type stat struct {
	parent                  int
	own, ofCollectedChilden time.Duration
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
	return stat{parent, time.Duration(user+system) * tick, time.Duration(childUser+childSystem) * tick}, n == 15
}

// processCPU is the CPU time of one process so far.
func processCPU(pid int) time.Duration {
	s, _ := readStat(pid)
	return s.own
}

// treeCPU is the CPU time of a process and all its children so far, those that
// have ended included.
func treeCPU(pid int) time.Duration {
	s, _ := readStat(pid)
	sum := s.own + s.ofCollectedChilden
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, f := range folders {
		var child int
		if _, err := fmt.Sscan(filepath.Base(f), &child); err != nil {
			continue
		}
		if c, ok := readStat(child); ok && c.parent == pid {
			sum += c.own
		}
	}
	return sum
}

// postmaster is the parent of any backend.
func (s *stage) postmaster(ctx context.Context) (int, error) {
	var backend int
	if err := s.conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		return 0, err
	}
	st, ok := readStat(backend)
	if !ok {
		return 0, fmt.Errorf("the database must run on this machine, where its CPU time can be read")
	}
	return st.parent, nil
}
