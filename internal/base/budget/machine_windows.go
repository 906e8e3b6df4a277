package budget

import (
	"syscall"
	"unsafe"
)

// memoryStatus is the structure MEMORYSTATUSEX of the Windows API.
type memoryStatus struct {
	length, load                                     uint32
	total, free, pageTotal, pageFree, virtual, vfree uint64
	extended                                         uint64
}

// physicalMemory is the machine's memory, or 0 if it is not known.
func physicalMemory() int64 {
	ask := syscall.NewLazyDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")
	if ask.Find() != nil {
		return 0
	}
	var s memoryStatus
	s.length = uint32(unsafe.Sizeof(s))
	if ok, _, _ := ask.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return 0
	}
	return int64(s.total)
}
