package option

import (
	"fmt"
	"strings"
)

// InapplicableError is the error for a setting that is given although it does not apply.
type InapplicableError struct {
	// Setting is the setting's name: network. A command writes --network for it, a request network.
	Setting string
	// To is what the setting does not apply to: an index. It is empty if Needs has settings.
	To string
	// Needs has settings of which one must be given too, and none is.
	Needs []string
	// Reason says why the setting does not apply.
	Reason string
}

// Error names the settings as a request does.
func (e *InapplicableError) Error() string {
	return e.Named(func(setting string) string { return setting })
}

// Named is Error with other names for the settings.
func (e *InapplicableError) Named(name func(setting string) string) string {
	if e.To != "" {
		return fmt.Sprintf("%s does not apply to %s: %s", name(e.Setting), e.To, e.Reason)
	}
	needs := make([]string, len(e.Needs))
	for i, n := range e.Needs {
		needs[i] = name(n)
	}
	return fmt.Sprintf("%s applies to %s, which is missing: %s", name(e.Setting), strings.Join(needs, " or "), e.Reason)
}
