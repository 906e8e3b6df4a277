// Package provenance says which network made embeddings, and refuses to compare those of different networks. It stores
// networks in the folders of indexes and finds them there.
package provenance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/run"
)

// IndexNetwork returns the network of an index's vectors. For an index that recorded the digest of its
// network's files, it is computed from the network in its folder, if these are still the same files.
func IndexNetwork(x *index.Index) (embedding.Network, error) {
	have := x.Info().Network
	if !have.IsFileDigest() {
		return have.Network, nil
	}
	m, err := LoadNetwork(x)
	if m == nil || err != nil {
		return have.Network, err
	}
	is, err := IdentityByFiles(m, x.NetworkDir(), true, have.Name)
	if err != nil || is.Differs(have.Network) {
		return have.Network, err
	}
	return m.Identity(have.Name)
}

// SaveNetwork puts a network into the folder of an index.
func SaveNetwork(m *run.Model, dir, name string) (index.Network, error) {
	to := index.NetworkDir(dir)
	if err := os.MkdirAll(to, 0o777); err != nil {
		return index.Network{}, err
	}
	if err := m.Save(to); err != nil {
		return index.Network{}, err
	}
	of, err := m.Identity(name)
	return index.Network{Network: of}, err
}

// LoadNetwork reads the network of an index; nil without one.
func LoadNetwork(x *index.Index) (*run.Model, error) {
	dir, of := x.NetworkDir(), x.Info().Network
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && (of.Fingerprint == "" || of.External) {
		return nil, nil
	}
	return LoadNetworkFor(dir, "the index", x.Info().Dim)
}

// LoadNetworkFor reads the network of a folder. A network that does not make vectors of dim numbers, like those
// of holder, is an error.
func LoadNetworkFor(dir, holder string, dim int) (*run.Model, error) {
	m, err := run.Load(dir)
	if err == nil && m.Net.Spec().OutDim() != dim {
		return nil, fmt.Errorf("%s makes embeddings of %d numbers, but those of %s have %d: it is another network", dir,
			m.Net.Spec().OutDim(), holder, dim)
	}
	return m, err
}

// CheckTable returns an error for a file without embeddings, or with embeddings that m, called name, cannot
// have made. m is nil if the network is unknown.
func CheckTable(t *embedding.Table, file string, m *run.Model, name string) error {
	switch {
	case t.X == nil:
		return fmt.Errorf("%s has labels but no embeddings", file)
	case m != nil && m.Net.Spec().OutDim() != t.X.Cols:
		return fmt.Errorf("the embeddings of %s have %d numbers, but %s makes %d: another network made them", file,
			t.X.Cols, name, m.Net.Spec().OutDim())
	}
	return nil
}
