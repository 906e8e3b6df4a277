package optim

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/base/spell"
)

// MarshalText returns the method's name, "" for the default.
func (m Method) MarshalText() ([]byte, error) { return []byte(m), m.check() }

// UnmarshalText sets the method by name; "" is the default.
func (m *Method) UnmarshalText(text []byte) error {
	if err := Method(text).check(); err != nil {
		return err
	}
	*m = Method(text)
	return nil
}

func (m Method) check() error {
	if m == "" {
		return nil
	}
	_, err := spell.Index("method", string(m), []string{string(Adam), string(AdamW), string(SGD)})
	return prefixed("optimizer", err)
}

// MarshalText returns the schedule's name, "" for the default.
func (k ScheduleKind) MarshalText() ([]byte, error) { return []byte(k), k.check() }

// UnmarshalText sets the schedule by name; "" is the default.
func (k *ScheduleKind) UnmarshalText(text []byte) error {
	if err := ScheduleKind(text).check(); err != nil {
		return err
	}
	*k = ScheduleKind(text)
	return nil
}

func (k ScheduleKind) check() error {
	if k == "" {
		return nil
	}
	_, err := spell.Index("kind", string(k), []string{string(Constant), string(StepDown), string(Cosine)})
	return prefixed("schedule", err)
}

func prefixed(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
