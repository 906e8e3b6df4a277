package budget

import (
	"io/fs"
	"testing"
)

func TestLinuxMemory(t *testing.T) {
	const info = "MemFree:  1 kB\nMemTotal:       8192 kB\nMemAvailable: 5 kB\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing told", nil, 0},
		{"no groups", map[string]string{"/proc/meminfo": info}, 8 << 20},
		{"no limit", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/a\n", "/sys/fs/cgroup/a/memory.max": "max\n"}, 8 << 20},
		{"own group", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "4194304\n"}, 4 << 20},
		{"group above", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "2097152\n"}, 2 << 20},
		{"seen as the root", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/unseen\n", "/sys/fs/cgroup/memory.max": "1048576"}, 1 << 20},
		{"larger than the machine", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "9223372036854771712"}, 8 << 20},
		{"version 1", map[string]string{"/proc/meminfo": info, "/proc/self/cgroup": "junk\n5:cpu:/x\n4:memory:/x\n0::/\n", "/sys/fs/cgroup/x/memory.max": "1024", "/sys/fs/cgroup/memory/x/memory.limit_in_bytes": "3145728\n"}, 3 << 20},
		{"groups only", map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "7"}, 7},
	} {
		got := linuxMemory(func(name string) ([]byte, error) {
			text, ok := c.files[name]
			if !ok {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if physical() < 1<<26 {
		t.Errorf("this machine has %d bytes", physical())
	}
}
