package budget

import "golang.org/x/sys/unix"

// physical is the machine's memory; 0 if it is not told.
func physical() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
