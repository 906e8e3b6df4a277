package main

import (
	"io"

	"github.com/kindred-ml/kindred/internal/atomic"
)

// writeIf writes a file if it has a name.
func writeIf(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	return atomic.WriteFile(path, write)
}
