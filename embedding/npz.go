package embedding

import (
	"archive/zip"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"

	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/format/zipfile"
)

// parseNPZ reads a .npz archive. The matrix of floats is the embeddings (named embeddings, features or x if
// there are several). Integers and strings are labels, and strings called path, file or filename are the names
// of the items.
func parseNPZ(r io.ReaderAt, size int64) (*Table, error) {
	z, err := zipfile.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	var arrays []namedArray
	var network Network
	seen := make(map[string]bool)
	for _, f := range z.File {
		if f.Name == networkEntry && network.Fingerprint == "" {
			if network, err = readNetworkEntry(f); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			continue
		}
		if seen[name] {
			return nil, fmt.Errorf("%s occurs twice", f.Name)
		}
		seen[name] = true
		a, err := readMember(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		arrays = append(arrays, namedArray{name, a})
	}
	t, err := assembleTable(arrays)
	if err != nil {
		return nil, err
	}
	t.Network = network
	return t, nil
}

func readNetworkEntry(f *zip.File) (Network, error) {
	r, err := f.Open()
	if err != nil {
		return Network{}, err
	}
	defer r.Close()
	text, err := budget.ReadAtMost("the description of a network", r, maxNetwork)
	if err != nil {
		return Network{}, err
	}
	return ParseNetwork(text)
}

func readMember(f *zip.File) (*Array, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// The size in the archive is not trusted: memory grows with the data.
	return ReadNPY(&checksumReader{r: budget.Reader("the array", r), sum: crc32.NewIEEE(), want: f.CRC32}, -1)
}

// checksumReader reads from r and compares its checksum at the end. The zip reader does not check the checksum 0, which
// it takes for a missing one, but NumPy writes all checksums.
type checksumReader struct {
	r    io.Reader
	sum  hash.Hash32
	want uint32
}

func (c *checksumReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.sum.Write(p[:n]) // never fails
	if err == io.EOF && c.sum.Sum32() != c.want {
		err = zip.ErrChecksum
	}
	return n, err
}
