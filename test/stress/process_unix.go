//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// canFreeze tells whether this system can stop a process for a while.
const canFreeze = true

// group makes the process the head of a group, which what it starts belongs to, and ends the
// whole group when the run is given up.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		killGroup(cmd)
		return nil
	}
}

// stopGroup stops the process's group, or lets it go on.
func stopGroup(cmd *exec.Cmd, stop bool) {
	signal := syscall.SIGCONT
	if stop {
		signal = syscall.SIGSTOP
	}
	// It fails where the process has just ended, and there is nothing to stop.
	_ = syscall.Kill(-cmd.Process.Pid, signal)
}

// killGroup ends what is left of the process's group.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
