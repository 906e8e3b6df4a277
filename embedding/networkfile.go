package embedding

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// networkEntry is the entry of a Network's JSON in a .npz archive.
const networkEntry = "network.json"

// networkFile is the content of the file beside a file of embeddings that has no place for their network. The digests
// tell whether the embeddings were replaced since. E.csv and E.npy share the file if one network made both.
type networkFile struct {
	Network
	SHA256 []string `json:"sha256"`
}

// maxDigests is the largest number of digests in a networkFile.
const maxDigests = 8

// NetworkFile returns the path of the file that says which network made the embeddings in a .csv or .npy file:
// E.network.json for E.npy.
func NetworkFile(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".network.json"
}

// FileText returns the content of the NetworkFile of the file at path, which must have been written.
func (n Network) FileText(path string) ([]byte, error) { return n.fileText(path, nil) }

// fileText is FileText for further files that the network has made, by their digests.
func (n Network) fileText(path string, others []string) ([]byte, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	sum, err := fileinfo.Digest(path)
	if err != nil {
		return nil, err
	}
	file := networkFile{n, []string{sum}}
	for _, s := range others {
		if s != sum && len(file.SHA256) < maxDigests {
			file.SHA256 = append(file.SHA256, s)
		}
	}
	text, err := json.MarshalIndent(file, "", "  ")
	return append(text, '\n'), err
}

// WriteNetwork writes the NetworkFile of a table that was written to path, if the network is known and the format has
// no place for it.
func WriteNetwork(path string, format Format, t *Table) error {
	if t.Network.Fingerprint == "" || t.X == nil || !hasNetworkFile(format) {
		return nil
	}
	var others []string
	if before, err := parseNetworkFile(NetworkFile(path)); err == nil && before.Network == t.Network {
		others = before.SHA256
	}
	text, err := t.Network.fileText(path, others)
	if err != nil {
		return err
	}
	return atomic.WriteFile(NetworkFile(path), atomic.Bytes(text))
}

func parseNetworkFile(path string) (file networkFile, err error) {
	text, err := fileinfo.ReadAtMost(path, "the description of a network", maxNetwork)
	if err == nil {
		err = strictjson.Unmarshal(text, &file)
	}
	if err == nil {
		err = file.check()
	}
	return file, err
}

// hasNetworkFile reports whether the network of a table is in a file beside it.
func hasNetworkFile(f Format) bool { return f == NPY || f == CSV }

// readNetworkFile reads the NetworkFile of the file at path. The note says why the network is unknown although there
// is such a file.
func readNetworkFile(path string) (n Network, note string, err error) {
	beside := NetworkFile(path)
	file, err := parseNetworkFile(beside)
	if errors.Is(err, fs.ErrNotExist) {
		return n, "", nil
	}
	if err != nil {
		return n, fmt.Sprintf("%s is not used, as it describes no network: %v", beside, err), nil
	}
	sum, err := fileinfo.Digest(path)
	if err != nil || slices.Contains(file.SHA256, sum) {
		return file.Network, "", err
	}
	return n, fmt.Sprintf("%s is not used, as it describes another content of %s", beside, filepath.Base(path)), nil
}

// NetworkNote returns the reason why the network is unknown although a file beside the table's file should name it;
// "" without such a file.
func (t *Table) NetworkNote() string { return t.networkNote }
