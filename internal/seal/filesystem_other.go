//go:build !linux

package seal

// Volatile returns the name of the file system of the directory if what is written
// there may not survive a restart of the machine or container; empty if it does, or
// if that is not known.
func (s *Spool) Volatile() string { return "" }
