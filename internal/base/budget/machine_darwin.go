package budget

import "golang.org/x/sys/unix"

// physical is the machine's memory, or 0 if it is not known.
func physical() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0
	}
	return int64(n)
}
