package decide

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// MeasuresFileName is the name of the measures of an index in its folder.
const MeasuresFileName = "spread.json"

// Measures holds measurements of the items of a gallery without a calibration.
type Measures struct {
	Spread Spread `json:"classes"`
	Apart  *Apart `json:"apart"`
}

// measuresFile is the form of measures in a file. Of identifies the measured items.
type measuresFile struct {
	Format int    `json:"format"`
	Of     string `json:"of"`
	Measures
}

// Save writes measures to a file, completely or not at all. of identifies the measured items, for example
// by index.Index.State and the column of the labels.
func (m *Measures) Save(path, of string) error {
	return atomic.WriteFile(path, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(measuresFile{format, of, *m})
	})
}

// LoadMeasures reads measures from a file of Save. Measures of other items are an error; measure again
// then.
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
		return nil, fmt.Errorf("these are measures of other items")
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("not measures of a gallery: %w", err)
	}
	return &m.Measures, nil
}

// check returns an error for measures that NewSpread and NewApart cannot have made.
func (m *Measures) check() error {
	for l, own := range m.Spread {
		name := fmt.Sprintf("classes[%.60q]", l)
		if err := cmp.Or(count("the number of "+name, len(own), 2, mostOwn),
			rises(name, own, anyDistance, false)); err != nil {
			return err
		}
	}
	a := m.Apart
	if a == nil {
		return fmt.Errorf("apart is missing")
	}
	err := cmp.Or(count("apart.classes", a.Classes, 0, mostCount), rises("apart.near", a.Near, anyDistance, false))
	if err == nil && len(a.Near) > 0 {
		err = count("apart.classes", a.Classes, 2, len(a.Near))
	}
	return err
}
