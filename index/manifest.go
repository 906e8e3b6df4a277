package index

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/eval"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/store"
)

// formatVersion is the version of the folder: of the manifest and all files it names. Earlier
// versions were never released and cannot be read.
const formatVersion = 3

const manifestFile = "MANIFEST"

// maxManifest bounds the size of a manifest, which does not grow with the number of items.
const maxManifest = 32 << 20

// Network identifies the network that made the vectors of an index, so that the same network
// embeds queries. This package does not interpret it.
type Network struct {
	embedding.Network
	// External says that the folder of the index does not contain the network: the vectors were read from a file.
	External bool `json:"external,omitempty"`
	// TextTower is the folder of the text tower that was trained together with the network; TextTowerSum
	// identifies its files.
	TextTower    string `json:"words,omitempty"`
	TextTowerSum string `json:"words_sum,omitempty"`
}

// manifest is the file MANIFEST, which names the files of the index. It is only replaced as a whole, so the
// files that a reader finds in it are complete.
type manifest struct {
	Version    int            `json:"version"`
	Index      string         `json:"index"` // random, to recognise files of another index
	Generation uint64         `json:"generation"`
	Dim        int            `json:"dim"`
	Distance   eval.Distance  `json:"distance"`
	Network    Network        `json:"network"`
	Columns    []store.Column `json:"columns"`
	Segments   []segmentRef   `json:"segments"`
	Log        string         `json:"log"`
	Next       uint64         `json:"next"` // number of the next file
	Lists      *Lists         `json:"lists,omitempty"`
	// NetworkDir is the folder of the network's files; "" means network, where Create expects them.
	NetworkDir string `json:"network_dir,omitempty"`
}

// segmentRef names the files of a segment.
type segmentRef struct {
	File        string `json:"file"`
	Rows        int    `json:"rows"`
	RemovedFile string `json:"dead,omitempty"` // file of the removed rows
}

// fileName matches the names that a manifest may contain. They cannot lead out of the folder.
var fileName = regexp.MustCompile(`^[0-9]{1,20}\.(seg|dead|log)$`)

// networkName matches the names that a folder of a network's files can have after ReplaceContents.
var networkName = regexp.MustCompile(`^[0-9]{1,20}\.network$`)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // made once, by that package

// encode writes the manifest as JSON, with the checksum of the lines before on the
// last one.
func (m *manifest) encode() ([]byte, error) {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	return fmt.Appendf(text, "crc32c %08x\n", crc32.Checksum(text, castagnoli())), nil
}

// decodeManifest reads a manifest and checks everything that needs no other file.
func decodeManifest(text []byte) (*manifest, error) {
	cut := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	var sum uint32
	if _, err := fmt.Sscanf(string(text[cut:]), "crc32c %08x\n", &sum); err != nil || cut == 0 {
		return nil, errors.New("not a manifest of an index, or cut off: its last line has no checksum")
	}
	var version struct {
		Version int `json:"version"`
	}
	if err := strictjson.UnmarshalLoose(text[:cut], &version); err == nil && version.Version > formatVersion {
		return nil, versionError(version.Version)
	}
	want := fmt.Sprintf("crc32c %08x\n", crc32.Checksum(text[:cut], castagnoli()))
	if last := string(text[cut:]); last != want {
		return nil, fmt.Errorf("damaged: its last line is %q: must be %q", last, want)
	}
	m := &manifest{}
	if err := strictjson.UnmarshalKnown(text[:cut], m); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return m, m.check()
}

// versionError returns the error for a folder or a file of another version.
func versionError(v int) error {
	if v > formatVersion {
		return fmt.Errorf("format version %d, but this program reads version %d: use the program that wrote it, or a "+
			"later one", v, formatVersion)
	}
	return fmt.Errorf("format version %d was never released, and this program reads version %d: make the index "+
		"again with kindred index create, from the embeddings or the pictures", v, formatVersion)
}

// columnKinds returns the kinds that a column can have.
func columnKinds() []store.Kind { return []store.Kind{store.Text, store.Number, store.Bool} }

func (m *manifest) check() error {
	if m.Version != formatVersion {
		return versionError(m.Version)
	}
	if m.Dim < 1 || m.Dim > maxDim {
		return fmt.Errorf("damaged: dimension %d", m.Dim)
	}
	if err := m.Distance.Check(); err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	if m.NetworkDir != "" && !networkName.MatchString(m.NetworkDir) {
		return fmt.Errorf("damaged: it names the folder %q of a network", m.NetworkDir)
	}
	names := []string{m.Log}
	for _, s := range m.Segments {
		if s.Rows < 1 {
			return fmt.Errorf("damaged: segment %q of %d rows", s.File, s.Rows)
		}
		names = append(names, s.File)
		if s.RemovedFile != "" {
			names = append(names, s.RemovedFile)
		}
	}
	seen := make(map[string]bool)
	for _, n := range names {
		if !fileName.MatchString(n) || seen[n] {
			return fmt.Errorf("damaged: it names the file %q, or names it twice", n)
		}
		seen[n] = true
	}
	seen = make(map[string]bool)
	for _, c := range m.Columns {
		if err := checkColumn(c.Name); err != nil || seen[c.Name] || !slices.Contains(columnKinds(), c.Kind) {
			return fmt.Errorf("damaged: column %q of kind %v", c.Name, c.Kind)
		}
		seen[c.Name] = true
	}
	if len(m.Columns) > store.MaxColumns {
		return fmt.Errorf("damaged: %d columns", len(m.Columns))
	}
	return nil
}

// missingManifestError returns the error for a folder whose manifest cannot be opened.
func missingManifestError(dir string, err error) error {
	const want = "the folder of an index, as kindred index create makes it"
	st, e := os.Stat(dir)
	switch {
	case e != nil:
		return fileinfo.WithHint(e, dir, want)
	case !st.IsDir():
		return fmt.Errorf("%s is a file: give %s", dir, want)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s is not the folder of an index, as it has no %s: %w; kindred index create makes one",
			dir, manifestFile, fs.ErrNotExist)
	}
	return err
}

// readManifest reads the manifest of a folder.
func readManifest(dir string) (*manifest, error) {
	path := filepath.Join(dir, manifestFile)
	text, err := fileinfo.ReadAtMost(path, "the manifest of an index", maxManifest)
	if err != nil {
		return nil, missingManifestError(dir, err)
	}
	m, err := decodeManifest(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// write replaces the manifest of a folder.
func (m *manifest) write(files atomic.Files, dir string) error {
	text, err := m.encode()
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, manifestFile), atomic.Bytes(text))
}
