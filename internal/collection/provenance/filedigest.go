package provenance

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run"
)

// IdentityByFiles returns the identity of a model as earlier versions recorded it: with the digest of its
// files, which are in a folder, or are the one file at path. name is its name for people.
func IdentityByFiles(m *run.Model, path string, isFolder bool, name string) (embedding.Network, error) {
	n, err := m.Identity(name)
	if err != nil {
		return n, err
	}
	files := []string{path}
	if isFolder {
		if files = run.PublishedFiles(path); files == nil {
			files = []string{filepath.Join(path, nn.SpecFile), filepath.Join(path, nn.WeightsFile)}
		}
		if m.Net.Quantization() != nil {
			files = append(files, filepath.Join(path, nn.QuantizationFile))
		}
	}
	sum := sha256.New()
	for _, file := range files {
		f, err := fileinfo.Open(file)
		if err != nil {
			return n, err
		}
		_, err = io.Copy(sum, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return n, err
		}
	}
	n.Fingerprint = hex.EncodeToString(sum.Sum(nil))
	return n, nil
}
