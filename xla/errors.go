package xla

import (
	"errors"
	"strings"
)

// brief is an error in one line: GoMLX's carry the stack on which they were made. Of
// one that says that the device's memory is at its end, the way out is part of it.
func brief(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	for _, sign := range []string{"RESOURCE_EXHAUSTED", "out of memory", "OUT_OF_MEMORY"} {
		if strings.Contains(err.Error(), sign) {
			text = "out of device memory; smaller batches (sample.classes, sample.per_class, eval.batch) " +
				"and network.precision=bfloat16 need less memory: " + text
			break
		}
	}
	return errors.New(text)
}
