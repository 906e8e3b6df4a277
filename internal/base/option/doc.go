// Package option lets errors of the library name things that a user can set: an option of
// a package, and a key of a configuration. Errors use the library's names, such as
// run.Options.Force; a command replaces these by its flags, with Text.
package option
