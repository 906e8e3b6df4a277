// Package mpi is the ranks of one training as processes that MPI starts: a train.Ranks over Open
// MPI or MPICH (and what shares its binary interface: Intel MPI, MVAPICH, Cray), which is loaded
// when the program starts, without cgo. It is a module of its own because it needs the system's
// loader, which kindred's static program does without.
//
// Only what moves bytes is taken from the library: sums are kindred's own, in an order that does
// not depend on the ranks, so that any number of them gives the same bits.
package mpi
