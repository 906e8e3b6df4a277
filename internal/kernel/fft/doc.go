// Package fft transforms many complex sequences of one length together: by vectors of numbers that have the same
// factors, so that no number of a register has to be moved. All levels of instructions give the same bits.
//
// In: sequences side by side. Out: their transforms, in the same order.
package fft
