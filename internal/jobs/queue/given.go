package queue

import (
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/jobs"
)

// given is the constant part of a job: the value of job.KEY.
type given struct {
	Job  jobs.Job `json:"job"`
	Lane string   `json:"lane"` // digest
	// Signature is the signature by signJob; "" without one.
	Signature string `json:"signature,omitempty"`
}

// parseGiven reads the value of job.KEY.
func parseGiven(text []byte) (*given, error) {
	var g given
	if err := strictjson.Loose(text, &g); err != nil {
		return nil, fmt.Errorf("a damaged job, or one of another version of kindred: %w", err)
	}
	return &g, nil
}
