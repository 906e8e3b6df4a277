//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// canFreeze reports whether this system can stop a process for a while.
const canFreeze = true

// setGroup makes the process the head of a process group with its children, and ends the whole
// group when the run is cancelled.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		killGroup(cmd)
		return nil
	}
}

// stopGroup stops the process's group, or continues it.
func stopGroup(cmd *exec.Cmd, stop bool) {
	signal := syscall.SIGCONT
	if stop {
		signal = syscall.SIGSTOP
	}
	// It fails if the process has just ended; then there is nothing to stop.
	_ = syscall.Kill(-cmd.Process.Pid, signal)
}

// killGroup ends the remaining processes of the group.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
