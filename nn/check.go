package nn

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// check tests a layer without knowing its input.
func (l *Layer) check() error {
	kind := descriptorOf(l.Kind)
	if kind == nil {
		return enum.Check("kind", l.Kind, Kinds())
	}
	fields := kind.fields()
	if err := l.unusedFields(fields); err != nil {
		return err
	}
	const large = 1 << 20
	has := func(field string) bool { return slices.Contains(fields, field) }
	switch {
	case has("out") && (l.Out < 1 || l.Out > large):
		return fmt.Errorf("out = %d; it must be in 1..%d", l.Out, large)
	case has("kernel") && (l.Kernel < 1 || l.Kernel > large):
		return fmt.Errorf("kernel = %d; it must be in 1..%d", l.Kernel, large)
	case l.KernelW < 0 || l.KernelW > large:
		return fmt.Errorf("kernel_w = %d; it must be in 0..%d", l.KernelW, large)
	case l.PadW < 0 || l.PadW > large || l.PadW > 0 && l.KernelW == 0:
		return fmt.Errorf("pad_w = %d; it must be in 0..%d, and requires kernel_w", l.PadW, large)
	case l.Stride < 0 || l.Stride > large:
		return fmt.Errorf("stride = %d; it must be in 1..%d", l.Stride, large)
	case l.Pad < 0 || l.Pad > large:
		return fmt.Errorf("pad = %d; it must be in 0..%d", l.Pad, large)
	case l.PadEnd < 0 || l.PadEnd > large:
		return fmt.Errorf("pad_end = %d; it must be in 0..%d", l.PadEnd, large)
	case l.Heads < 0:
		return fmt.Errorf("heads = %d; it must be positive", l.Heads)
	case l.At < 0:
		return fmt.Errorf("at = %d; it must not be negative", l.At)
	case !(l.Rate >= 0 && l.Rate < 1):
		return fmt.Errorf("rate = %v; it must be at least 0 and below 1", l.Rate)
	case !(l.Momentum >= 0 && l.Momentum <= 1):
		return fmt.Errorf("momentum = %v; it must be in 0..1", l.Momentum)
	case !(l.Eps >= 0 && l.Eps < math.Inf(1)):
		return fmt.Errorf("eps = %v; it must be a positive number", l.Eps)
	case math.IsNaN(l.Start) || math.IsInf(l.Start, 0):
		return startError(l)
	}
	if err := kind.check(l); err != nil {
		return err
	}
	return enum.Check("init", l.Init, inits())
}

func startError(l *Layer) error {
	return fmt.Errorf("start = %v; it must be a finite number, of gem_pool a positive one", l.Start)
}

// unusedFields reports fields that are set and are not among those of the kind.
func (l *Layer) unusedFields(fields []string) error {
	var errs []error
	v := reflect.ValueOf(l).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		set := !v.Field(i).IsZero() && !(v.Field(i).CanFloat() && v.Field(i).Float() == 0) // -0 is not set
		if set && name != "kind" && name != "name" && !slices.Contains(fields, name) {
			errs = append(errs, fmt.Errorf("%s means nothing here", name))
		}
	}
	return errors.Join(errs...)
}

// checkPositions tests that the input has channels at positions: that it is not a vector of more
// positions than one. what names what it lacks: "an image" or "channels".
func checkPositions(in value, what string) error {
	if in.flat {
		return fmt.Errorf("it needs %s, but its input was flattened to %d values", what, in.shape.Len())
	}
	return nil
}

// checkGrid tests that the input is an image, so that windows can be taken.
func checkGrid(in value) error {
	if err := checkPositions(in, "an image"); err != nil {
		return err
	}
	if in.grid.tokens > 0 {
		return fmt.Errorf("it needs an image, but its input is a sequence of %d tokens", in.shape.W)
	}
	return nil
}
