package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// condition is a difficulty under which tests run.
type condition struct {
	name, what string
	env        []string // variables to set
	unset      []string // variables to remove
	prefix     []string // a command that starts the test binary
	needs      []string // a command that succeeds if the condition is possible
	load       int      // threads that compute beside the test
	freeze     bool     // the process is stopped from time to time
	race       bool     // the binary has the race detector
}

// conditions are all conditions. One and core differ: with GOMAXPROCS=1 Go runs one goroutine
// at a time; on one core the system switches between several.
func conditions() []condition {
	// A shell in a separate network starts the device of 127.0.0.1.
	offline := []string{"unshare", "--net", "sh", "-c", `ip link set lo up && exec "$0" "$@"`}
	core := []string{"taskset", "-c", "0"}
	return []condition{
		{name: "load", what: "8 threads compute beside the test", load: 8},
		{name: "one", what: "GOMAXPROCS=1: one goroutine at a time", env: []string{"GOMAXPROCS=1"}},
		{name: "four", what: "GOMAXPROCS=4", env: []string{"GOMAXPROCS=4"}},
		{name: "core", what: "one core for all threads (taskset)", prefix: core,
			needs: append(slices.Clone(core), "true")},
		{name: "gc", what: "GOGC=20: garbage is collected five times as often", env: []string{"GOGC=20"}},
		{name: "freeze", what: "SIGSTOP for 0.35 to 1.15 s, repeatedly", freeze: canFreeze},
		{name: "race", what: "the race detector, which needs a C compiler", race: true,
			needs: []string{compiler(), "--version"}},
		{name: "home", what: "no HOME and no cache folder",
			unset: []string{"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "USERPROFILE", "LocalAppData"}},
		{name: "offline", what: "no network but 127.0.0.1 (unshare, which takes root, and ip)", prefix: offline,
			needs: append(slices.Clone(offline), "true")},
		{name: "go", what: "KINDRED_ISA=go: no assembly", env: []string{"KINDRED_ISA=go"}},
	}
}

func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "gcc"
}

// choose returns the named conditions, or all, and prints the conditions that are impossible
// on this machine. A named condition that is impossible is an error.
func choose(said io.Writer, names string) ([]condition, error) {
	var chosen []condition
	all := conditions()
	for _, c := range all {
		reason := ""
		if len(c.needs) > 0 {
			if err := exec.Command(c.needs[0], c.needs[1:]...).Run(); err != nil {
				reason = fmt.Sprintf("%s: %v", strings.Join(c.needs, " "), err)
			}
		} else if c.name == "freeze" && !canFreeze {
			reason = "this system cannot stop a process for a while"
		}
		named := slices.Contains(strings.Split(names, ","), c.name)
		switch {
		case names != "" && !named:
		case reason == "":
			chosen = append(chosen, c)
		case named:
			return nil, fmt.Errorf("condition %s is not possible here: %s", c.name, reason)
		default:
			fmt.Fprintf(said, "without the condition %s: %s\n", c.name, reason)
		}
	}
	for name := range strings.SplitSeq(names, ",") {
		if name != "" && !slices.ContainsFunc(all, func(c condition) bool { return c.name == name }) {
			return nil, fmt.Errorf("%q is not a condition: -list lists them", name)
		}
	}
	return chosen, nil
}

// environment returns this process's environment with the condition's changes. Without a home
// folder, the go command that tests call gets the folders of its caches.
func (c condition) environment() ([]string, error) {
	env := os.Environ()
	if len(c.unset) > 0 {
		folders := []string{"GOCACHE", "GOMODCACHE", "GOPATH"}
		out, err := exec.Command("go", append([]string{"env"}, folders...)...).Output()
		if err != nil {
			return nil, fmt.Errorf("go env: %w", err)
		}
		for i, dir := range strings.Fields(string(out)) {
			env = append(env, folders[i]+"="+dir)
		}
		env = slices.DeleteFunc(env, func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return slices.Contains(c.unset, name)
		})
	}
	return append(env, c.env...), nil
}
