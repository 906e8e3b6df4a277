package xla

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
)

// Engine is one way to run a network.
type Engine struct {
	// Name is what Open takes.
	Name string
	// About says what it runs on, or, if it is not ready, what it lacks.
	About   string
	Ready   bool
	Devices int
}

// GoEngine is the name of the backend in plain Go: it computes the same graphs on
// the CPU, slowly, for tests.
const GoEngine = "go"

// Engines lists the accelerators that XLA has a plugin for on this machine, the best
// first, and the backend in plain Go. Each is started, which alone tells whether its
// device is there, and ended.
func Engines() []Engine {
	var list []Engine
	for _, name := range append(accelerators(), GoEngine) {
		e := Engine{Name: name}
		b, err := start(name)
		switch {
		case err != nil:
			e.About = err.Error()
		default:
			e.Ready, e.Devices, e.About = true, b.NumDevices(), b.Description()
			b.Finalize()
		}
		if name == GoEngine && e.Ready {
			e.About = "the same graphs in plain Go: for tests; kindred train is far faster on a CPU"
		}
		list = append(list, e)
	}
	return list
}

// start starts an engine by name.
func start(name string) (compute.Backend, error) {
	if name == GoEngine {
		b, err := gobackend.New("")
		return b, brief(err)
	}
	return openAccelerator(name)
}

// Open starts an engine by name; "" is the first accelerator that is ready.
func Open(name string) (compute.Backend, error) {
	names := accelerators()
	if name != "" {
		if all := append(names, GoEngine); !slices.Contains(all, name) {
			return nil, fmt.Errorf("no engine is called %q: there are %s", name, strings.Join(all, ", "))
		}
		names = []string{name}
	}
	var lacks []string
	for _, n := range names {
		b, err := start(n)
		if err == nil {
			return b, nil
		}
		lacks = append(lacks, fmt.Sprintf("%s: %v", n, err))
	}
	return nil, errors.New("no accelerator is ready (" + strings.Join(lacks, "; ") +
		"); kindred train computes on the CPU")
}
