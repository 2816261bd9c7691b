package proving

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// ReadStat returns the parent of a process, its CPU time, and that of its children
// that have ended.
func ReadStat(pid int) (parent int, own, ended time.Duration) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, 0
	}
	// The name may hold spaces; the fields begin behind its bracket.
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 15 {
		return 0, 0, 0
	}
	var ticks [4]int64
	_, _ = fmt.Sscan(fields[1], &parent)
	for i := range ticks {
		_, _ = fmt.Sscan(fields[11+i], &ticks[i])
	}
	const tick = 10 * time.Millisecond
	return parent, time.Duration(ticks[0]+ticks[1]) * tick, time.Duration(ticks[2]+ticks[3]) * tick
}

// ProcessCPU is the CPU time of a process so far.
func ProcessCPU(pid int) time.Duration {
	_, own, _ := ReadStat(pid)
	return own
}

// TreeCPU is the CPU time of a process and all its children so far.
func TreeCPU(pid int) time.Duration {
	_, own, ended := ReadStat(pid)
	sum := own + ended
	folders, _ := os.ReadDir("/proc")
	for _, f := range folders {
		var child int
		if _, err := fmt.Sscan(f.Name(), &child); err != nil {
			continue
		}
		if parent, own, _ := ReadStat(child); parent == pid {
			sum += own
		}
	}
	return sum
}
