package cli

import (
	"strings"

	"github.com/kindred-ml/kindred/internal/base/option"
)

// optionFlags maps the options that errors of the library name to the flags of the command
// line.
var optionFlags = map[string]string{
	"data.OpenOptions.Home":    "--data-dir",
	"data.OpenOptions.Outside": "--allow-outside (data.outside: true)",
	"data.OpenOptions.Strict":  "--strict (data.strict: true)",
	"data.path":                "--data",
	"data.strict":              "--strict (data.strict: true)",
	"weights.Home":             "--weights-dir",
	"run.Options.Dir":          "--out",
	"run.Options.Force":        "--force",
	"run.Options.Resume":       "--resume",
	"run.Options.Encoders":     "--try-encoders",

	"run.Train with Options.Resume": "kindred train --resume",
	"run.Train with Options.Finish": "kindred train --finish",

	"sweep.Options.Dir":         "--out",
	"runs.View.Names":           "--name",
	option.Override:             "--set",
	"overrides":                 "--set",
	"queue.Options.Credentials": "--queue-creds",
	"queue.Options.CA":          "--queue-ca",
	"queue.Options.Cert":        "--queue-cert",
	"queue.Options.Key":         "--queue-key",
}

// Message is a command's message for an error: its text, with options of the library
// replaced by the command's flags.
func Message(err error) string { return option.Text(err, flagName) }

// flagName returns the flag for an option of the library or, if the name has no package, for a setting of a command.
func flagName(name string) string {
	switch flag, ok := optionFlags[name]; {
	case ok:
		return flag
	case strings.Contains(name, "."):
		return name
	}
	return "--" + name
}
