package train

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// MarshalText returns the method's name, "" for the default.
func (m OptimizerMethod) MarshalText() ([]byte, error) { return []byte(m), m.check() }

// UnmarshalText sets the method by name; "" is the default.
func (m *OptimizerMethod) UnmarshalText(text []byte) error {
	return withPrefix("optimizer", enum.UnmarshalText("method", m, text, methods()))
}

func (m OptimizerMethod) check() error {
	return withPrefix("optimizer", enum.Check("method", m, methods()))
}

func methods() []OptimizerMethod { return []OptimizerMethod{"", Adam, AdamW, SGD} }

// MarshalText returns the schedule's name, "" for the default.
func (k RateScheduleKind) MarshalText() ([]byte, error) { return []byte(k), k.check() }

// UnmarshalText sets the schedule by name; "" is the default.
func (k *RateScheduleKind) UnmarshalText(text []byte) error {
	return withPrefix("schedule", enum.UnmarshalText("kind", k, text, schedules()))
}

func (k RateScheduleKind) check() error {
	return withPrefix("schedule", enum.Check("kind", k, schedules()))
}

func schedules() []RateScheduleKind {
	return []RateScheduleKind{"", ConstantRate, StepDown, CosineRate}
}

func withPrefix(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
