package xla

import (
	"errors"
	"fmt"
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
// first, and the backend in plain Go.
func Engines() []Engine {
	list := accelerators()
	b, err := gobackend.New("")
	e := Engine{Name: GoEngine, About: "the same graphs in plain Go: for tests; kindred train is far faster on a CPU",
		Ready: err == nil, Devices: 1}
	if err != nil {
		e.About = brief(err).Error()
	} else {
		b.Finalize()
	}
	return append(list, e)
}

// Open starts an engine by name; "" is the first accelerator that is ready.
func Open(name string) (compute.Backend, error) {
	if name == GoEngine {
		b, err := gobackend.New("")
		return b, brief(err)
	}
	var lacks, names []string
	for _, e := range Engines() {
		names = append(names, e.Name)
		switch {
		case e.Name == GoEngine && name == "":
		case name != "" && e.Name != name:
		case e.Ready:
			return openAccelerator(e.Name)
		default:
			lacks = append(lacks, fmt.Sprintf("%s: %s", e.Name, e.About))
		}
	}
	if len(lacks) == 0 {
		return nil, fmt.Errorf("no engine is called %q: there are %s", name, strings.Join(names, ", "))
	}
	return nil, errors.New("no accelerator is ready (" + strings.Join(lacks, "; ") +
		"); kindred train computes on the CPU")
}
