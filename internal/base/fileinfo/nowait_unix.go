//go:build unix

package fileinfo

import "syscall"

// noWait keeps the opening of a named pipe from waiting for its other end.
const noWait = syscall.O_NONBLOCK
