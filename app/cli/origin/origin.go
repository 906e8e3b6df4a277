// Package origin identifies the network that made vectors: by the digest of its files and by the
// preparation of photos. It stores networks beside indexes and finds them there.
package origin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
)

// Of returns the origin of the vectors of a network that is saved in files. name is its name for
// people.
func Of(m *run.Model, name string, files ...string) (embedding.Network, error) {
	sum := sha256.New()
	for _, file := range files {
		f, err := regular.Open(file)
		if err != nil {
			return embedding.Network{}, err
		}
		_, err = io.Copy(sum, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return embedding.Network{}, err
		}
	}
	n := embedding.Network{Name: name, Fingerprint: hex.EncodeToString(sum.Sum(nil))}
	p, err := m.Preparation()
	if err != nil {
		return embedding.Network{}, err
	}
	if in := m.Net.Spec().Input; in.H*in.W > 1 {
		n.Preparation = fmt.Sprintf("%d x %d, pixels %s, fit %s", in.H, in.W, p.Pixels, p.Fit)
		if p.Shorter > 0 {
			n.Preparation += fmt.Sprintf(" after the shorter side is %d", p.Shorter)
		}
	}
	return n, nil
}

// OfFolder is Of for a network that is saved in a folder.
func OfFolder(m *run.Model, dir, name string) (embedding.Network, error) {
	files := run.PublishedFiles(dir)
	if files == nil {
		files = []string{filepath.Join(dir, nn.SpecFile), filepath.Join(dir, nn.WeightsFile)}
	}
	if m.Net.Quantization() != nil {
		files = append(files, filepath.Join(dir, nn.QuantizationFile))
	}
	return Of(m, name, files...)
}

// OfIndex returns the origin of an index's vectors.
func OfIndex(in index.Info) embedding.Network {
	return in.Network.Network
}

// Save puts a network into the folder of an index.
func Save(m *run.Model, dir, name string) (index.Network, error) {
	to := index.NetworkDir(dir)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return index.Network{}, err
	}
	if err := m.Save(to); err != nil {
		return index.Network{}, err
	}
	of, err := OfFolder(m, to, name)
	return index.Network{Network: of}, err
}

// Load reads the network of an index; nil without one.
func Load(x *index.Index) (*run.Model, error) {
	dir := x.NetworkDir()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && x.Info().Network.Fingerprint == "" {
		return nil, nil
	}
	return LoadFor(dir, "the index", x.Info().Dim)
}

// LoadFor reads the network of a folder. A network that does not make vectors of dim numbers, like those
// of holder, is an error.
func LoadFor(dir, holder string, dim int) (*run.Model, error) {
	m, err := run.Load(dir)
	if err == nil && m.Net.Spec().OutDim() != dim {
		return nil, fmt.Errorf("%s makes embeddings of %d numbers, but those of %s have %d: it is another network", dir,
			m.Net.Spec().OutDim(), holder, dim)
	}
	return m, err
}

// Check returns an error for a file without embeddings, or with embeddings that m, called name, cannot
// have made. m is nil if the network is unknown.
func Check(t *embedding.Table, file string, m *run.Model, name string) error {
	switch {
	case t.X == nil:
		return fmt.Errorf("%s has labels but no embeddings", file)
	case m != nil && m.Net.Spec().OutDim() != t.X.Cols:
		return fmt.Errorf("the embeddings of %s have %d numbers, but %s makes %d: another network made "+
			"them", file, t.X.Cols,
			name, m.Net.Spec().OutDim())
	}
	return nil
}
