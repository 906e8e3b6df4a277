package run

import (
	"io"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

// Save writes the configuration and the network into an existing folder, for Load. It
// writes nothing of the training.
func (m *Model) Save(dir string) error {
	f := &Folder{dir: dir}
	err := atomic.WriteFile(f.ConfigPath(), func(w io.Writer) error {
		_, err := w.Write(m.Config.YAML())
		return err
	})
	if err != nil {
		return err
	}
	return m.Net.Save(dir)
}
