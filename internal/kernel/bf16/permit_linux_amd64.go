//go:build !noasm

package bf16

import "syscall"

// permitted asks Linux for the matrix unit's tiles, for all threads of the process.
// The kernel refuses if it does not know them, or if a thread's stack for signals
// could not hold them (Go's has 32 KiB, which is enough).
//
// Go does not preempt a goroutine within an assembly function, and the tile
// kernels configure the unit first and release it last: nothing of theirs is in
// tiles when another goroutine runs on the thread. What the thread itself is
// interrupted by, signals and other processes, the kernel saves and restores.
func permitted() bool {
	const archReqXcompPerm, tileData = 0x1023, 18
	_, _, err := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, archReqXcompPerm, tileData, 0)
	return err == 0
}
