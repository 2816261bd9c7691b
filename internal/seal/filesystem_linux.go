package seal

import "syscall"

// What statfs(2) reports of file systems whose content ends with their container or
// with the machine.
var volatile = map[int64]string{
	0x794c7630: "overlayfs", // the own layer of a container
	0x01021994: "tmpfs",
	0x858458f6: "ramfs",
}

// Volatile returns the name of the file system of the directory if what is written
// there may not survive a restart of the machine or container; empty if it does.
func (s *Spool) Volatile() string {
	var found syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &found); err != nil {
		return ""
	}
	return volatile[int64(uint32(found.Type))]
}
