//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/kindred-ml/kindred/internal/app/cli/console"
	"github.com/kindred-ml/kindred/internal/app/cli/signals"
)

// childArgs, if set in the environment, makes the test binary the program itself,
// with these arguments, in which OUT at the begin of a word is the value of childOut,
// and one more command, "wait".
const (
	childArgs = "KINDRED_CMD_TEST_ARGS"
	childOut  = "KINDRED_CMD_TEST_OUT"
)

func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(childArgs); ok {
		commandGroups = append(commandGroups, commandGroup{"Tests", []func(*console.Console) *cobra.Command{newWait}})
		words := strings.Fields(args)
		for i, w := range words {
			if below, ok := strings.CutPrefix(w, "OUT"); ok {
				words[i] = os.Getenv(childOut) + below
			}
		}
		code := execute(signals.NewContext(context.Background()), words, os.Stdout, os.Stderr)
		if os.Getenv(childPeak) != "" {
			writePeak(os.Stderr)
		}
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// childPeak has a child say on its last line of standard error how much memory it had at most.
const childPeak = "KINDRED_TEST_PEAK"

// writePeak writes the most memory that was resident. The system's figure for a child that has ended
// counts that of the process that began it.
func writePeak(w io.Writer) {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Fprintf(w, "peak %s\n", strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
		}
	}
}

// newWait writes remarks until its context ends, then a result.
func newWait(a *console.Console) *cobra.Command {
	stubborn := false
	cmd := &cobra.Command{Use: "wait", RunE: func(cmd *cobra.Command, _ []string) error {
		for k := 0; cmd.Context().Err() == nil && k < 10_000; k++ {
			fmt.Fprintln(a.Err, "waiting")
			time.Sleep(10 * time.Millisecond)
		}
		for stubborn {
			time.Sleep(time.Second)
		}
		return cmd.Context().Err()
	}}
	cmd.Flags().BoolVar(&stubborn, "stubborn", false, "")
	return cmd
}

// newChild starts the program with the given arguments.
func newChild(t *testing.T, args string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childArgs+"="+args)
	return cmd
}

// waitStatus waits for a process and returns how it ended.
func waitStatus(t *testing.T, cmd *exec.Cmd) syscall.WaitStatus {
	t.Helper()
	killed := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	err := cmd.Wait()
	killed.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// waitStarted waits for the first remark of a process and reads on.
func waitStarted(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	r, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(r)
	if line, err := in.ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	go io.Copy(io.Discard, in)
}

// stopSignals lists the signals that stop a child. A child inherits what whoever
// started the tests has ignored (nohup, a shell's background jobs), and leaves
// those ignored.
func stopSignals() []syscall.Signal {
	var list []syscall.Signal
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}

func TestSignalsEndTheContextAndGiveTheStatus(t *testing.T) {
	for _, s := range stopSignals() {
		cmd := newChild(t, "wait")
		waitStarted(t, cmd)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if st := waitStatus(t, cmd); !st.Exited() || st.ExitStatus() != 128+int(s) {
			t.Errorf("%v: exited %v with %d, want %d", s, st.Exited(), st.ExitStatus(), 128+int(s))
		}
	}
}

func TestTheSecondSignalEndsTheProcess(t *testing.T) {
	cmd := newChild(t, "wait --stubborn")
	waitStarted(t, cmd)
	go func() { // signals that come before the first one is taken are one with it
		for cmd.Process.Signal(syscall.SIGTERM) == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}()
	if st := waitStatus(t, cmd); !st.Exited() || st.ExitStatus() != 128+int(syscall.SIGTERM) {
		t.Errorf("exited %v with %d, want %d", st.Exited(), st.ExitStatus(), 128+int(syscall.SIGTERM))
	}
}

// TestNobodyReadsTheRemarks closes the other end of standard error: the command
// goes on, and still stops as asked.
func TestNobodyReadsTheRemarks(t *testing.T) {
	cmd := newChild(t, "wait")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := r.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	r.Close()
	time.Sleep(100 * time.Millisecond) // ten remarks into the closed pipe
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if st := waitStatus(t, cmd); !st.Exited() || st.ExitStatus() != 128+int(syscall.SIGTERM) {
		t.Errorf("ended by signal %v, status %d", st.Signal(), st.ExitStatus())
	}
}

func TestNobodyReadsTheResults(t *testing.T) {
	cmd := newChild(t, "train --print-config")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if st := waitStatus(t, cmd); st.ExitStatus() != 128+int(syscall.SIGPIPE) {
		t.Errorf("status %d", st.ExitStatus())
	}
}
