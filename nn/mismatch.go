package nn

import (
	"fmt"
	"strings"
)

// Mismatch lists the differences between a file of weights and a network.
type Mismatch struct {
	Missing    []string // parameters that the file does not have
	Unexpected []string // tensors that the network does not have
	MisShaped  []string // "fc.weight: [1000, 512] in the file, [128, 512] in the network"
}

// IsComplete reports whether there is no difference.
func (m *Mismatch) IsComplete() bool {
	return len(m.Missing)+len(m.Unexpected)+len(m.MisShaped) == 0
}

// String lists what does not match.
func (m *Mismatch) String() string {
	var parts []string
	list := func(what string, names []string) {
		if len(names) == 0 {
			return
		}
		shown, rest := names, ""
		if len(names) > 8 {
			shown, rest = names[:8], fmt.Sprintf(" and %d more", len(names)-8)
		}
		parts = append(parts, fmt.Sprintf("%s: %s%s", what, strings.Join(shown, "; "), rest))
	}
	list("missing", m.Missing)
	list("unexpected", m.Unexpected)
	list("of another shape", m.MisShaped)
	return strings.Join(parts, "\n")
}
