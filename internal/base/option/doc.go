// Package option lets errors of the library name what a user can set: an option of a
// package, and a key of a configuration. By themselves they use the library's names, such
// as run.Options.Force; a command shows them with its flags, by Text.
package option
