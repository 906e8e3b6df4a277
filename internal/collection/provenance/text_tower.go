package provenance

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/kindred-ml/kindred/index"
	"github.com/kindred-ml/kindred/internal/network/textencoder"
	"github.com/kindred-ml/kindred/run"
)

// OpenTower opens the text tower in a folder for the embeddings of m, called name. An error says why it does not
// belong to them.
func OpenTower(m *run.Model, name, dir string) (*textencoder.Tower, error) {
	if err := checkNotTrained(m, name); err != nil {
		return nil, err
	}
	t, err := textencoder.Open(dir)
	if err != nil {
		return nil, err
	}
	if dim := m.Net.Spec().OutDim(); dim != t.Dim() {
		return nil, fmt.Errorf("the text tower in %s makes embeddings of %d numbers, but %s makes %d: it belongs "+
			"to another network, or --words was not given when the index was made", dir, t.Dim(), name, dim)
	}
	if err := t.CheckImageTower(m.Net); err != nil {
		return nil, fmt.Errorf("%s and the text tower in %s: %w", name, dir, err)
	}
	return t, nil
}

// TrainedError says that a network was trained here, so that words no longer belong to its embeddings.
type TrainedError struct{ Name string }

func (e *TrainedError) Error() string {
	return e.Name + " was trained here, which moved photos away from where their words are: search by photo, or make " +
		"an index with the network that training started from (kindred index create --network NAME --words FOLDER)"
}

// checkNotTrained refuses networks that were trained here.
func checkNotTrained(m *run.Model, name string) error {
	if d := &m.Config.Data; d.Path+d.Name != "" {
		return &TrainedError{name}
	}
	return nil
}

// RecordTower records the text tower in a folder as that of an index.
func RecordTower(n *index.Network, dir string) (err error) {
	if n.TextTower, err = filepath.Abs(dir); err == nil {
		n.TextTowerSum, err = textencoder.Checksum(dir)
	}
	return err
}

// OpenIndexTower opens the text tower of an index, whose network is m. dir is where it is now; "" is where it was when
// the index was made.
func OpenIndexTower(x *index.Index, m *run.Model, dir string) (*textencoder.Tower, error) {
	n := x.Info().Network
	if m == nil {
		return nil, fmt.Errorf("%s has no network, so words cannot be compared with its items", x.Dir())
	}
	if err := checkNotTrained(m, "the network of "+x.Dir()); err != nil {
		return nil, err
	}
	switch {
	case dir == "" && n.TextTower == "":
		return nil, fmt.Errorf("%s remembers no text tower: --words FOLDER names the one that was trained together "+
			"with its network, %s", x.Dir(), n.Name)
	case dir == "":
		dir = n.TextTower
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("the text tower of %s: put it back, or name its new folder (--words FOLDER): %w",
				x.Dir(), err)
		}
	}
	if n.TextTowerSum != "" {
		sum, err := textencoder.Checksum(dir)
		if err != nil {
			return nil, err
		}
		if sum != n.TextTowerSum {
			return nil, fmt.Errorf("%s is not the text tower of %s: its files have the SHA-256 %.12s, not %.12s", dir,
				x.Dir(), sum, n.TextTowerSum)
		}
	}
	return OpenTower(m, "the network of "+x.Dir(), dir)
}
