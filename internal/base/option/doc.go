// Package option is for what a user can set: numbers that may be left out, and errors that
// name an option of a package or a key of a configuration. By themselves errors use the
// library's names, such as run.Options.Force; a command shows them with its flags, by Text.
package option
