package train

import (
	"context"
	"errors"
	"fmt"
)

// StoppedError is the error of a run that stopped because its context ended, and saved a checkpoint. It
// wraps the context's error.
type StoppedError struct {
	// Epoch is the epoch under way, from 1; after the last epoch it is Epochs+1. Step is the
	// number of its Steps that were taken.
	Epoch, Epochs, Step, Steps int
	Err                        error
}

func (s *StoppedError) Error() string { return fmt.Sprintf("%v: %s", s.Err, s.Where()) }

// Where returns in words where the run stopped.
func (s *StoppedError) Where() string {
	if s.Epoch > s.Epochs {
		return "stopped after its last epoch"
	}
	return fmt.Sprintf("stopped in epoch %d after step %d of %d", s.Epoch, s.Step, s.Steps)
}

func (s *StoppedError) Unwrap() error { return s.Err }

// ErrNoSamples is the error of a step whose batch has no readable sample.
var ErrNoSamples = errors.New("none of the batch's samples could be read")

// StepError is the error of a step that could not be taken, because the loss or a gradient is not
// finite or no sample of the batch could be read. The last checkpoint is from before the step.
type StepError struct {
	Epoch, Step int // from 1
	Err         error
}

func (e *StepError) Error() string {
	return fmt.Sprintf("epoch %d, step %d: %v", e.Epoch, e.Step, e.Err)
}

func (e *StepError) Unwrap() error { return e.Err }

func isInterruption(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
