package queue

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/jobs"
)

// jobValue is the constant part of a job: the value of job.KEY.
type jobValue struct {
	Job  jobs.Job `json:"job"`
	Lane string   `json:"lane"` // digest
	// Signature is the signature by signJob; "" without one.
	Signature string `json:"signature,omitempty"`
}

// parseJobValue reads the value of job.KEY.
func parseJobValue(text []byte) (*jobValue, error) {
	var g jobValue
	if err := strictjson.UnmarshalLoose(text, &g); err != nil {
		return nil, fmt.Errorf("a damaged job, or one of another version of kindred: %w", err)
	}
	return &g, nil
}
