package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// exitSignal plus the number of a signal is the exit status of a command that
// the signal ended, as shells count them: 130 after Ctrl-C.
const exitSignal = 128

// stopSignal is the cause of a context that a signal ended.
type stopSignal struct{ syscall.Signal }

func (s stopSignal) Error() string { return "stopped by a signal: " + s.String() }

// withSignals returns a context that ends at the first signal to stop: Ctrl-C,
// SIGTERM, or the loss of the terminal. The second one ends the process at once,
// with the status of that signal, whatever the first is waiting for.
// Signals that the caller had ignored (nohup, a shell's background jobs) stay
// ignored.
//
// A closed pipe is an error of the write only: a training run must not end because
// nobody reads its remarks.
func withSignals(ctx context.Context) context.Context {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write returns EPIPE instead
	ctx, cancel := context.WithCancelCause(ctx)
	c := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	go func() {
		s, _ := (<-c).(syscall.Signal)
		cancel(stopSignal{s})
		s, _ = (<-c).(syscall.Signal)
		os.Exit(exitSignal + int(s))
	}()
	return ctx
}

// signalled returns the signal that ended ctx, if one did.
func signalled(ctx context.Context) (syscall.Signal, bool) {
	var s stopSignal
	ok := errors.As(context.Cause(ctx), &s)
	return s.Signal, ok
}
