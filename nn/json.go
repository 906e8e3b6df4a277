package nn

import (
	"encoding/json"
	"fmt"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// specFormat and specVersion head a serialised Spec.
const (
	specFormat  = "kindred-network"
	specVersion = 1
)

type specFile struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	*Spec
}

// JSON serialises the spec.
func (s *Spec) JSON() ([]byte, error) {
	return json.MarshalIndent(specFile{specFormat, specVersion, s}, "", " ")
}

// maxSpec bounds the text of a description. A layer takes some hundred
// bytes.
const maxSpec = 8 << 20

// ParseSpec reads what JSON wrote. Unknown keys and specs that do not pass
// Check are errors.
func ParseSpec(data []byte) (*Spec, error) {
	if len(data) > maxSpec {
		return nil, fmt.Errorf("network description: %d bytes; at most %d are read", len(data), maxSpec)
	}
	f := specFile{Spec: new(Spec)}
	if err := strictjson.UnmarshalKnown(data, &f); err != nil {
		return nil, fmt.Errorf("network description: %w", err)
	}
	if f.Format != specFormat {
		return nil, fmt.Errorf("network description: format is %q, not %q", f.Format, specFormat)
	}
	if f.Version != specVersion {
		return nil, fmt.Errorf("network description: version %d; this program reads version %d", f.Version, specVersion)
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	return f.Spec, nil
}
