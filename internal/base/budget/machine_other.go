//go:build !linux && !darwin && !windows

package budget

// physicalMemory is 0: nothing is known of this system's memory.
func physicalMemory() int64 { return 0 }
