package budget

import "golang.org/x/sys/unix"

// physicalMemory is the machine's memory, or 0 if it is not known.
func physicalMemory() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
