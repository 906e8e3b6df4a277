// Package cli is what the command lines of kindred and kindred-gpu share: the flags
// that every command has, and the command that trains.
package cli
