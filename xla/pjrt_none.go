//go:build !cgo || !(linux || darwin)

package xla

import (
	"errors"

	"github.com/gomlx/compute"
)

const needsCgo = "this program was built without cgo, which XLA's plugins need: build it with CGO_ENABLED=1"

func accelerators() []string { return []string{"cuda"} }

func openAccelerator(string, bool) (compute.Backend, error) { return nil, errors.New(needsCgo) }
