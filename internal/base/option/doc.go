// Package option is for settings of a user: numbers that may be left out, and errors that
// name an option of a package or a key of a configuration. Errors use the library's names,
// such as run.Options.Force; a command replaces these by its flags, with Text.
package option
