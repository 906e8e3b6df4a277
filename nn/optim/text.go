package optim

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/enum"
)

// MarshalText returns the method's name, "" for the default.
func (m Method) MarshalText() ([]byte, error) { return []byte(m), m.check() }

// UnmarshalText sets the method by name; "" is the default.
func (m *Method) UnmarshalText(text []byte) error {
	return withPrefix("optimizer", enum.UnmarshalText("method", m, text, methods()))
}

func (m Method) check() error { return withPrefix("optimizer", enum.Check("method", m, methods())) }

func methods() []Method { return []Method{"", Adam, AdamW, SGD} }

// MarshalText returns the schedule's name, "" for the default.
func (k ScheduleKind) MarshalText() ([]byte, error) { return []byte(k), k.check() }

// UnmarshalText sets the schedule by name; "" is the default.
func (k *ScheduleKind) UnmarshalText(text []byte) error {
	return withPrefix("schedule", enum.UnmarshalText("kind", k, text, schedules()))
}

func (k ScheduleKind) check() error {
	return withPrefix("schedule", enum.Check("kind", k, schedules()))
}

func schedules() []ScheduleKind { return []ScheduleKind{"", Constant, StepDown, Cosine} }

func withPrefix(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
