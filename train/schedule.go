package train

import (
	"fmt"
	"math"
)

// RateSchedule scales the rate over the steps. The zero value is constant.
//
// Warm-up raises the factor linearly to 1: step t (from 0) of W has (t+1)/W.
// After it, with t counted from its end:
//
//   - constant: 1
//   - step: Gamma^(number of Milestones <= t), or, without milestones,
//     Gamma^floor(t / Every)
//   - cosine: Floor + (1-Floor) (1 + cos(pi t / (Total - Warmup))) / 2, and Floor
//     from Total on
type RateSchedule struct {
	Kind       RateScheduleKind `json:"kind,omitempty"`       // default Constant
	Warmup     int              `json:"warmup,omitempty"`     // steps
	Total      int              `json:"total,omitempty"`      // cosine: steps of the whole training, warm-up included
	Every      int              `json:"every,omitempty"`      // step: steps between reductions
	Milestones []int            `json:"milestones,omitempty"` // step: when to reduce, in steps after the warm-up
	Gamma      float64          `json:"gamma,omitempty"`      // step: default 0.1
	Floor      float64          `json:"floor,omitempty"`      // cosine: smallest factor
}

// RateScheduleKind names a schedule. Its text is its name.
type RateScheduleKind string

// The schedules.
const (
	ConstantRate RateScheduleKind = "constant"
	StepDown     RateScheduleKind = "step"
	CosineRate   RateScheduleKind = "cosine"
)

func (s *RateSchedule) check() error {
	switch {
	case s.Warmup < 0:
		return fmt.Errorf("schedule: warmup = %d steps", s.Warmup)
	case !(s.Gamma >= 0) || !(s.Floor >= 0 && s.Floor <= 1):
		return fmt.Errorf("schedule: gamma = %v and floor = %v must not be negative, and floor at most 1", s.Gamma,
			s.Floor)
	}
	switch s.Kind {
	case "", ConstantRate:
	case StepDown:
		if s.Every <= 0 && len(s.Milestones) == 0 {
			return fmt.Errorf("schedule: step needs milestones, or every = a positive number of steps, not %d", s.Every)
		}
	case CosineRate:
		if s.Total <= s.Warmup {
			return fmt.Errorf("schedule: cosine over %d steps, but warm-up takes %d", s.Total, s.Warmup)
		}
	default:
		return s.Kind.check()
	}
	return nil
}

// Factor is what the rate is multiplied by at a step, counted from 0.
func (s *RateSchedule) Factor(step int) float64 {
	if step < s.Warmup {
		return float64(step+1) / float64(s.Warmup)
	}
	t := step - s.Warmup
	switch s.Kind {
	case StepDown:
		gamma := s.Gamma
		if gamma == 0 {
			gamma = 0.1
		}
		n := 0
		for _, m := range s.Milestones {
			if m <= t {
				n++
			}
		}
		if len(s.Milestones) == 0 {
			n = t / s.Every
		}
		return math.Pow(gamma, float64(n))
	case CosineRate:
		x := min(float64(t)/float64(s.Total-s.Warmup), 1)
		return s.Floor + (1-s.Floor)*(1+math.Cos(math.Pi*x))/2
	}
	return 1
}
