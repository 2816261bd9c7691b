package app

import (
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// releaseProgram gives back the pages of the program's own file that the start has
// read: they are half of an idle process. What is needed again comes from the page
// cache. Only mappings that cannot be written are released: their pages are those of
// the file, unless the program was relocated at its start, as a position-independent
// one is.
func releaseProgram() {
	if !slices.Contains(buildSettings(), debug.BuildSetting{Key: "-buildmode", Value: "exe"}) {
		return
	}
	program, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}

	// A line is "00400000-021fb000 r-xp 00000000 fe:00 4711 /usr/bin/waybill".
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[5] != program || strings.Contains(fields[1], "w") {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		low, err1 := strconv.ParseUint(from, 16, 64)
		high, err2 := strconv.ParseUint(to, 16, 64)
		if err1 == nil && err2 == nil {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, uintptr(low), uintptr(high-low), syscall.MADV_DONTNEED)
		}
	}
}

func buildSettings() []debug.BuildSetting {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	return info.Settings
}
