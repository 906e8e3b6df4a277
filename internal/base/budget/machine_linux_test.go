package budget

import (
	"io/fs"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLinuxMemory(t *testing.T) {
	const info = "MemFree:  1 kB\nMemTotal:       8192 kB\nMemAvailable: 5 kB\n"
	for _, c := range []struct {
		name   string
		files  map[string]string
		limits map[int]uint64
		want   int64
	}{
		{"nothing told", nil, nil, 0},
		{"no groups", map[string]string{"/proc/meminfo": info}, nil, 8 << 20},
		{"no limit", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/a\n",
			"/sys/fs/cgroup/a/memory.max": "max\n"}, nil, 8 << 20},
		{"own group", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/a/b\n",
			"/sys/fs/cgroup/a/b/memory.max": "4194304\n"}, nil, 4 << 20},
		{"group above", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/a/b\n",
			"/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "2097152\n"}, nil, 2 << 20},
		{"seen as the root", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/unseen\n",
			"/sys/fs/cgroup/memory.max": "1048576"}, nil, 1 << 20},
		{"larger than the machine", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/\n",
			"/sys/fs/cgroup/memory.max": "9223372036854771712"}, nil, 8 << 20},
		{"version 1", map[string]string{"/proc/meminfo": info,
			"/proc/self/cgroup": "junk\n5:cpu:/x\n4:memory:/x\n0::/\n", "/sys/fs/cgroup/x/memory.max": "1024",
			"/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "3145728\n"}, nil, 3 << 20},
		{"groups only", map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "7"}, nil, 7},
		{"limit on addresses", map[string]string{"/proc/meminfo": info}, map[int]uint64{unix.RLIMIT_AS: 5 << 20},
			5 << 20},
		{"limit on data", map[string]string{"/proc/meminfo": info},
			map[int]uint64{unix.RLIMIT_AS: 6 << 20, unix.RLIMIT_DATA: 5 << 20}, 5 << 20},
	} {
		got := linuxMemory(func(name string) ([]byte, error) {
			text, ok := c.files[name]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		}, func(what int, l *unix.Rlimit) error {
			l.Cur = unix.RLIM_INFINITY
			if v, ok := c.limits[what]; ok {
				l.Cur = v
			}
			return nil
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if physicalMemory() < 1<<26 {
		t.Errorf("this machine has %d bytes", physicalMemory())
	}
}
