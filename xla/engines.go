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
	// Name is the argument of Open.
	Name string
	// About says what the engine runs on or, if it is not ready, what is missing.
	About string
	Ready bool
	// Devices describes each of its devices.
	Devices []string
}

// GoEngine is the name of the backend in plain Go: it computes the same graphs on
// the CPU, slowly, for tests. It has any number of devices.
const GoEngine = "go"

// Engines lists the accelerators for which this machine has a plugin of XLA, the
// best first, and the backend in plain Go. It starts and ends each one, to find out
// whether its device exists.
func Engines() []Engine {
	var list []Engine
	for _, name := range append(accelerators(), GoEngine) {
		e := Engine{Name: name}
		devices, err := start(Choice{Engine: name})
		if err != nil {
			e.About = err.Error()
		} else {
			e.Ready, e.About = true, devices[0].Backend.Description()
			for _, d := range devices {
				e.Devices = append(e.Devices, d.Backend.DeviceDescription(d.Number))
			}
			Close(devices)
		}
		if name == GoEngine && e.Ready {
			e.About = "the same graphs in plain Go: for tests; kindred train is far faster on a CPU"
		}
		list = append(list, e)
	}
	return list
}

// Choice says what to compute on.
type Choice struct {
	// Engine is a name; "" is the first accelerator that is ready.
	Engine string
	// Devices is how many of its devices to use; 0 is all.
	Devices int
	// Float32 makes products in float32 exact to its 24 bits. Otherwise a GPU takes TF32,
	// as PyTorch does in convolutions: it rounds their operands to 11 bits, which its
	// tensor cores multiply several times as fast. Sums are of float32 in both. It holds
	// for all that a process opens from then on.
	Float32 bool
}

// start starts an engine by its name.
func start(c Choice) ([]Device, error) {
	var devices []Device
	if c.Engine == GoEngine {
		for range max(c.Devices, 1) {
			b, err := gobackend.New("")
			if err != nil {
				return nil, brief(err)
			}
			devices = append(devices, Device{Backend: b})
		}
		return devices, nil
	}
	b, err := openAccelerator(c.Engine, c.Float32)
	if err != nil {
		return nil, err
	}
	return devicesOf(b, c.Engine, c.Devices)
}

// devicesOf lists the first of a backend's devices, or, with a count of 0, all.
func devicesOf(b compute.Backend, name string, count int) ([]Device, error) {
	there := b.NumDevices()
	if there < 1 || count > there {
		b.Finalize()
		if there < 1 {
			return nil, errors.New("its plugin finds no device")
		}
		return nil, fmt.Errorf("%d devices of %s: this machine has %d", count, name, there)
	}
	if count == 0 {
		count = there
	}
	var devices []Device
	for i := range count {
		devices = append(devices, Device{Backend: b, Number: compute.DeviceNum(i)})
	}
	return devices, nil
}

// Open starts an engine. Close ends its devices.
func Open(c Choice) ([]Device, error) {
	names, name := accelerators(), c.Engine
	if name != "" {
		if all := append(names, GoEngine); !slices.Contains(all, name) {
			return nil, fmt.Errorf("unknown engine %q: want one of %s", name, strings.Join(all, ", "))
		}
		names = []string{name}
	}
	var lacks []string
	for _, n := range names {
		devices, err := start(Choice{n, c.Devices, c.Float32})
		if err == nil {
			return devices, nil
		}
		lacks = append(lacks, fmt.Sprintf("%s: %v", n, err))
	}
	if len(names) == 1 && name != "" {
		return nil, errors.New(lacks[0])
	}
	return nil, errors.New("no accelerator is ready (" + strings.Join(lacks, "; ") +
		"); kindred train computes on the CPU")
}

// Close ends the backends of devices.
func Close(devices []Device) {
	for _, d := range devices {
		if !d.Backend.IsFinalized() {
			d.Backend.Finalize()
		}
	}
}
