//go:build amd64 && !noasm

package amx

import "syscall"

// requestPermission asks Linux for the tiles, on behalf of all threads of the process. It
// refuses if it does not know them, or if a thread's stack for signals is too small to
// save them on; Go's have 32 KiB, which is enough.
func requestPermission() bool {
	const requestPermission, tileData = 0x1023, 18
	_, _, err := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return err == 0
}
