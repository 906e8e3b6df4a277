package budget

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// physicalMemory is the smallest of the machine's memory, of what the control groups
// above this process allow it, and of its own limit (ulimit -v and -d, which
// batch systems set). It is 0 if none is known.
func physicalMemory() int64 { return linuxMemory(os.ReadFile, unix.Getrlimit) }

// linuxMemory is physical over the files that read gives and the limits that
// rlimit gives.
func linuxMemory(read func(string) ([]byte, error), rlimit func(int, *unix.Rlimit) error) int64 {
	var least int64
	consider := func(n int64) {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	info, _ := read("/proc/meminfo")
	for line := range strings.Lines(string(info)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			consider(Product(kib, 1024))
		}
	}
	for _, what := range []int{unix.RLIMIT_AS, unix.RLIMIT_DATA} {
		var l unix.Rlimit
		if rlimit(what, &l) == nil && l.Cur <= math.MaxInt64 { // above is RLIM_INFINITY
			consider(int64(l.Cur))
		}
	}
	groups, _ := read("/proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		// 0::/a/b of version 2, 4:memory:/a/b of version 1
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(part) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		switch {
		case part[1] == "memory":
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case part[1] != "":
			continue
		}
		// A container sees its own group as the root, and so may not see the path.
		for dir := path.Clean("/" + part[2]); ; dir = path.Dir(dir) {
			if text, err := read(path.Join(root, dir, file)); err == nil {
				limit, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max" is no limit
				consider(limit)
			}
			if dir == "/" {
				break
			}
		}
	}
	return least
}
