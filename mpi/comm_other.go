//go:build !linux && !darwin

package mpi

import "errors"

// Library is the environment variable that names the file of the MPI library.
const Library = "KINDRED_MPI"

// Comm is all processes that MPI has started together; there are none on this system.
type Comm struct{}

var errSystem = errors.New("MPI is supported only on Linux and macOS")

// Start returns an error.
func Start() (*Comm, error) { return nil, errSystem }

// Name is the library's.
func (c *Comm) Name() string { return "" }

// Rank is which of the processes this is.
func (c *Comm) Rank() int { return 0 }

// Size is how many there are.
func (c *Comm) Size() int { return 1 }

// Close does nothing.
func (c *Comm) Close() error { return nil }

// Abort does nothing.
func (c *Comm) Abort(int) {}

// AllGather returns an error, as the others do.
func (c *Comm) AllGather([]byte) ([][]byte, error) { return nil, errSystem }
func (c *Comm) Send(int, []float32) error          { return errSystem }
func (c *Comm) Receive(int, []float32) error       { return errSystem }
func (c *Comm) Broadcast([]float32) error          { return errSystem }
