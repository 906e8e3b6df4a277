// Package signals ends a command when the process is told to stop.
package signals

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/kindred-ml/kindred/internal/base/critical"
)

// ExitStatus plus the number of a signal is the exit status of a command that
// the signal ended, as shells count them: 130 after Ctrl-C.
const ExitStatus = 128

// stopSignal is the cause of a context that a signal ended.
type stopSignal struct{ syscall.Signal }

func (s stopSignal) Error() string { return "stopped by a signal: " + s.String() }

// Is makes it context.Canceled, as libraries return the cause in the place of that.
func (s stopSignal) Is(target error) bool { return target == context.Canceled }

// gracePeriod is how long a command has after the first signal to end by itself. Then the process is ended,
// unless it is in a critical section.
const gracePeriod = 700 * time.Millisecond

// readingTime is how long the last remark has until it is taken: the command may have waited for a pipe that
// nobody reads.
const readingTime = 100 * time.Millisecond

// NewContext returns a context that ends at the first signal to stop: Ctrl-C,
// SIGTERM, or the loss of the terminal. If the command has not ended after grace,
// because a library or the system does not heed the context, the process is ended
// with the status of the signal. Package critical lists what is waited for. A second
// signal ends the process at once, whatever the first is waiting for.
// Signals that the caller had ignored (nohup, a shell's background jobs) stay
// ignored.
//
// A closed pipe is an error of the write only: a training run must not end because
// nobody reads its remarks.
func NewContext(ctx context.Context) context.Context {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write returns EPIPE instead
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	ctx, sections := critical.WithSections(ctx)
	go func() {
		s, _ := (<-c).(syscall.Signal)
		at := time.Now()
		cancel(stopSignal{s})
		for left := gracePeriod; left > 0; left = sections.TimeLeft(at, time.Now(), gracePeriod) {
			select {
			case again := <-c:
				s, _ = again.(syscall.Signal)
				os.Exit(ExitStatus + int(s))
			case <-time.After(left):
			}
		}
		said := make(chan struct{})
		go func() {
			defer close(said)
			reportBlocked(os.Stderr)
		}()
		select {
		case <-said:
		case <-time.After(readingTime):
		}
		os.Exit(ExitStatus + int(s))
	}()
	return ctx
}

// Of returns the signal that ended ctx, if one did.
func Of(ctx context.Context) (syscall.Signal, bool) {
	var s stopSignal
	ok := errors.As(context.Cause(ctx), &s)
	return s.Signal, ok
}

// reportBlocked says in which function a command is that did not end.
func reportBlocked(w io.Writer) {
	stacks := make([]byte, 1<<20)
	in := waitingIn(string(stacks[:runtime.Stack(stacks, true)]))
	fmt.Fprintf(w, "kindred: interrupted: ended while it waited in %s; files that are not complete have temporary "+
		"names\n", in)
}

// waitingIn returns the innermost function of kindred in the first goroutine of a listing, which is the command's.
func waitingIn(stacks string) string {
	const module = "github.com/kindred-ml/kindred/"
	_, main, _ := strings.Cut(stacks, "goroutine 1 [")
	main, _, _ = strings.Cut(main, "\n\n")
	for line := range strings.Lines(main) {
		if rest, ok := strings.CutPrefix(line, module); ok {
			if at := strings.LastIndexByte(rest, '('); at > 0 {
				return rest[:at]
			}
		}
	}
	return "the command"
}
