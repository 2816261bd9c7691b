package app

import "runtime/debug"

// released is the version of a released program. The linker sets it.
var released string

// Version returns the version of this program: that of its release, or else its
// module's, or else the commit it was built from, or else "unknown".
func Version() string {
	if released != "" {
		return released
	}

	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}

	if version := info.Main.Version; version != "" && version != "(devel)" {
		return version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return "unknown"
}

// userAgent is how the program names itself to carriers and receivers of
// webhooks.
func userAgent() string { return "Waybill/" + Version() }
