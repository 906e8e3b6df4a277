package embio

import (
	"archive/zip"
	"fmt"
	"strings"
)

// readNPZ reads a .npz archive: a matrix of floats is the embeddings (named
// embeddings, features or x if there are several), integers are labels.
func readNPZ(path string) (*Table, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer z.Close()
	t, err := parseNPZ(&z.Reader)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

func parseNPZ(z *zip.Reader) (*Table, error) {
	var arrays []namedArray
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			continue
		}
		a, err := readMember(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		arrays = append(arrays, namedArray{name, a})
	}
	return assemble(arrays)
}

func readMember(f *zip.File) (*Array, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	// The archive's word on the size is not taken: memory grows with the data.
	return ReadNPY(r, -1)
}
