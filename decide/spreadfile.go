package decide

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// MeasuresFileName is what the measures of an index are called in its folder.
const MeasuresFileName = "spread.json"

// Measures is what the items of a gallery say of it, without a calibration.
type Measures struct {
	Spread Spread `json:"classes"`
	Apart  *Apart `json:"apart"`
}

// measuresFile is measures as they are kept: Of says of which items they are.
type measuresFile struct {
	Format int    `json:"format"`
	Of     string `json:"of"`
	Measures
}

// Save keeps measures in a file, which stands there whole or not at all. of says of which items
// they are, such as index.Index.State and the column of the labels.
func (m *Measures) Save(path, of string) error {
	return atomic.WriteFile(path, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(measuresFile{format, of, *m})
	})
}

// LoadMeasures reads measures that were kept. Those of other items, and a file that Save has not
// written, are an error: they are to be measured again.
func LoadMeasures(path, of string) (*Measures, error) {
	text, err := regular.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := readMeasures(text, of)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func readMeasures(text []byte, of string) (*Measures, error) {
	var m measuresFile
	if err := strictjson.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("not measures of a gallery: %w", err)
	}
	if m.Format != format || m.Of != of {
		return nil, fmt.Errorf("measures of other items than these")
	}
	for l, own := range m.Spread {
		if len(own) < 2 || len(own) > mostOwn || !ascending(own, math.Inf(-1), math.Inf(1), false) {
			return nil, fmt.Errorf("not measures of a gallery: distances of %q do not rise", l)
		}
	}
	if a := m.Apart; a == nil || len(a.Near) > 0 && (a.Classes < 2 || len(a.Near) < a.Classes) ||
		!ascending(a.Near, math.Inf(-1), math.Inf(1), false) {
		return nil, fmt.Errorf("not measures of a gallery: distances of other classes are missing, or do not rise")
	}
	return &m.Measures, nil
}
