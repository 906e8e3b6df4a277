package embedding

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// networkEntry is the entry of a Network's JSON in a .npz archive.
const networkEntry = "network.json"

// networkFile is the content of the file beside a file of embeddings that has no place for their network. The digest
// tells whether the embeddings were replaced since.
type networkFile struct {
	Network
	SHA256 string `json:"sha256"`
}

// NetworkFile returns the path of the file that says which network made the embeddings in a .csv or .npy file:
// E.network.json for E.npy.
func NetworkFile(path string) string {
	return strings.TrimSuffix(path, filepath.Ext(path)) + ".network.json"
}

// FileText returns the content of the NetworkFile of the file at path, which must have been written.
func (n Network) FileText(path string) ([]byte, error) {
	if err := n.check(); err != nil {
		return nil, err
	}
	sum, err := regular.Digest(path)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(networkFile{n, sum}, "", "  ")
	return append(text, '\n'), err
}

// hasNetworkFile reports whether the network of a table is in a file beside it.
func hasNetworkFile(f Format) bool { return f == NPY || f == CSV }

// readNetworkFile reads the NetworkFile of the file at path. The note says why the network is unknown although there
// is such a file.
func readNetworkFile(path string) (n Network, note string, err error) {
	beside := NetworkFile(path)
	text, err := regular.ReadWithin(beside, "the description of a network", mostNetwork)
	if errors.Is(err, fs.ErrNotExist) {
		return n, "", nil
	}
	var file networkFile
	if err == nil {
		if err = strictjson.Unmarshal(text, &file); err == nil {
			err = file.check()
		}
	}
	if err != nil {
		return n, fmt.Sprintf("%s is not used, as it describes no network: %v", beside, err), nil
	}
	sum, err := regular.Digest(path)
	if err != nil || sum == file.SHA256 {
		return file.Network, "", err
	}
	return n, fmt.Sprintf("%s is not used, as it describes another content of %s", beside, filepath.Base(path)), nil
}

// NetworkNote returns the reason why the network is unknown although a file beside the table's file should name it;
// "" without such a file.
func (t *Table) NetworkNote() string { return t.networkNote }
