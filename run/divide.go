package run

import (
	"context"

	"github.com/kindred-ml/kindred/data"
)

// Divide divides the samples of d as the run that trained the model divided them: which trained, which validated and
// which tested. d must be the data set of that run, as Config.Data.Open opens it.
func (m *Model) Divide(ctx context.Context, d *data.Dataset) (*data.Selected, error) {
	t := &resolved{cfg: m.Config.clone()}
	return t.selectData(ctx, d)
}
