package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is what came of one run.
type outcome struct {
	failed []string // tests, without those that failed because a part of them did
	output []byte
}

// run runs the package's tests once, in a condition. k is the number of the run, which the
// moments of freezes follow from.
func (p pkg) run(ctx context.Context, o options, binary string, c condition, k int) outcome {
	args := append(slices.Clone(c.prefix), binary, "-test.v=test2json", "-test.paniconexit0",
		"-test.timeout="+o.limit.String(), "-test.run="+o.pattern, "-test.skip="+o.skip)
	if !o.long {
		args = append(args, "-test.short")
	}
	env, err := c.environment()
	if err != nil {
		return outcome{[]string{processFailed}, []byte(err.Error())}
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, env, &out, &out
	cmd.WaitDelay = time.Minute // for what a test has started and left behind
	group(cmd)
	if err := cmd.Start(); err != nil {
		return outcome{[]string{processFailed}, []byte(err.Error())}
	}
	ended := make(chan struct{})
	var beside sync.WaitGroup
	for range c.load {
		beside.Go(func() { compute(ended) })
	}
	if c.freeze {
		rng := rand.New(rand.NewPCG(uint64(k), 1))
		beside.Go(func() { freeze(cmd, rng, ended) })
	}
	err = cmd.Wait()
	close(ended)
	beside.Wait()
	killGroup(cmd)
	r := outcome{output: out.Bytes()}
	if err != nil {
		r.output = fmt.Appendf(r.output, "\n%v\n", err)
		r.failed = failures(r.output)
	}
	return r
}

// compute keeps a thread busy until the channel is closed.
func compute(ended <-chan struct{}) {
	for x := uint64(1); ; {
		for range 1_000_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
		select {
		case <-ended:
			return
		default:
			if x == 0 { // x is used, so that the loop is not left out
				return
			}
		}
	}
}

// freeze stops the process, with what it has started, for 0.35 to 1.15 s, and lets it go on
// for 0.3 to 1 s, until the channel is closed.
func freeze(cmd *exec.Cmd, rng *rand.Rand, ended <-chan struct{}) {
	wait := func(shortest, longest float64) bool {
		select {
		case <-ended:
			return false
		case <-time.After(time.Duration((shortest + rng.Float64()*(longest-shortest)) * float64(time.Second))):
			return true
		}
	}
	for wait(0.3, 1) {
		stopGroup(cmd, true)
		wait(0.35, 1.15)
		stopGroup(cmd, false)
	}
}

// processFailed stands for a test's name where the process ended badly and no test did.
const processFailed = "(the process)"

var (
	begun = regexp.MustCompile(`(?m)(?:^|\x16)=== RUN +(\S+)`)
	done  = regexp.MustCompile(`(?m)(?:^|\x16) *--- (PASS|FAIL|SKIP): (\S+)`)
)

// failures returns the tests that failed, or had not come to an end when the process did, by
// what a test binary printed that ended with an error.
func failures(output []byte) []string {
	state := make(map[string]string)
	for _, m := range begun.FindAllSubmatch(output, -1) {
		state[string(m[1])] = "FAIL"
	}
	for _, m := range done.FindAllSubmatch(output, -1) {
		state[string(m[2])] = string(m[1])
	}
	var failed []string
	for name, s := range state {
		if s == "FAIL" {
			failed = append(failed, name)
		}
	}
	slices.Sort(failed)
	parts := slices.DeleteFunc(slices.Clone(failed), func(name string) bool {
		return slices.ContainsFunc(failed, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
	if len(parts) == 0 {
		return []string{processFailed}
	}
	return parts
}
