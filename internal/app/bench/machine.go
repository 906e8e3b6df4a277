package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// processor returns the name of the machine's processor on Linux, and the system and
// the architecture on other systems.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOOS + "/" + runtime.GOARCH
	}
	return parseProcessor(text)
}

// parseProcessor reads the first processor of /proc/cpuinfo. Family and model
// are part of the name, because virtual machines hide the model name.
func parseProcessor(cpuinfo []byte) string {
	fields := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(cpuinfo)); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), ":")
		key = strings.TrimSpace(key)
		if _, seen := fields[key]; ok && !seen {
			fields[key] = strings.Join(strings.Fields(value), " ")
		}
	}
	name := fields["model name"]
	if name == "" {
		return runtime.GOOS + "/" + runtime.GOARCH
	}
	for _, mark := range []string{"(R)", "(TM)", "(r)", "(tm)"} {
		name = strings.ReplaceAll(name, mark, "")
	}
	if fields["cpu family"] != "" && fields["model"] != "" {
		name += fmt.Sprintf(", family %s model %s", fields["cpu family"], fields["model"])
	}
	return name
}

// loadAverage returns the number of processes that wanted a core in the last minute, or -1 if
// it is unknown.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	var l float64
	if _, err := fmt.Sscan(string(text), &l); err != nil {
		return -1
	}
	return l
}
