// Package cli has the parts that the command lines of kindred and kindred-gpu
// share: the flags of every command, and the command that trains.
package cli
