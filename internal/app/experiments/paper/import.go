package paper

import (
	"context"

	"github.com/kindred-ml/kindred/internal/base/rootfs"
	"github.com/kindred-ml/kindred/run"
)

// importNetwork is the network of a file or folder, read by run.Import unless the caller has read it.
func importNetwork(ctx context.Context, path string, data run.DataConfig) (*run.Model, error) {
	path, err := rootfs.LocalCopy(ctx, path)
	if err != nil {
		return nil, err
	}
	m, _, err := run.Import(path, "", data)
	return m, err
}
