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

// outcome is the result of a run.
type outcome struct {
	failed []string // tests, without tests that failed only because a subtest failed
	output []byte
}

// run runs the package's tests once under a condition. k is the number of the run, which
// determines the times of freezes.
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
	cmd.WaitDelay = time.Minute // for processes that a test has started and not ended
	setGroup(cmd)
	if err := cmd.Start(); err != nil {
		return outcome{[]string{processFailed}, []byte(err.Error())}
	}
	ended := make(chan struct{})
	var beside sync.WaitGroup
	for range c.load {
		beside.Go(func() { keepBusy(ended) })
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

// keepBusy keeps a thread busy until the channel is closed.
func keepBusy(ended <-chan struct{}) {
	for x := uint64(1); ; {
		for range 1_000_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
		select {
		case <-ended:
			return
		default:
			if x == 0 { // use x, so that the compiler keeps the loop
				return
			}
		}
	}
}

// freeze stops the process and its children for 0.35 to 1.15 s, then continues them for 0.3
// to 1 s, until the channel is closed.
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

// processFailed is used as the test's name if the process failed and no test did.
const processFailed = "(the process)"

var (
	begun = regexp.MustCompile(`(?m)(?:^|\x16)=== RUN +(\S+)`)
	done  = regexp.MustCompile(`(?m)(?:^|\x16) *--- (PASS|FAIL|SKIP): (\S+)`)
)

// failures returns the tests that failed, or had not ended when the process did, from the
// output of a test binary that ended with an error.
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
