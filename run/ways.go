package run

import "github.com/kindred-ml/kindred/internal/base/option"

// What errors name as the way out, beside keys of the configuration.
const (
	optDir    option.Option = "run.Options.Dir"
	optForce  option.Option = "run.Options.Force"
	optResume option.Option = "run.Options.Resume"
	// keyPath and keyStrict are keys that a command may have a flag for.
	keyPath   option.Option = "data.path"
	keyStrict option.Option = "data.strict"
	// overrides are those of Parse.
	overrides option.Option = "overrides"
)
