package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// peak returns the largest resident memory of a process that has ended, in bytes.
func peak(p *os.ProcessState) int64 { return p.SysUsage().(*syscall.Rusage).Maxrss << 10 }

// peakOf returns the largest resident memory of a running process so far, or 0 if it has ended.
func peakOf(pid int) int64 { return memory(pid, "VmHWM:") }

// resident returns the resident memory of a running process, or 0 if it has ended.
func resident(pid int) int64 { return memory(pid, "VmRSS:") }

func memory(pid int, field string) (n int64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, rest, ok := strings.Cut(string(b), field); err == nil && ok {
		fmt.Sscan(rest, &n)
	}
	return n << 10
}
