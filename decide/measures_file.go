package decide

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// MeasuresFileName is the name of the measures of an index in its folder.
const MeasuresFileName = "spread.json"

// Measures holds measurements of the items of a gallery, for decisions by a calibration.
type Measures struct {
	Spread Spread `json:"classes"`
	// StrangerTrial is nil if the calibration has no strangers. Means are not in a file.
	StrangerTrial *StrangerTrial `json:"tryout,omitempty"`
	Means         *Means         `json:"-"`
}

// measuresFormat is the version of the file.
const measuresFormat = 2

// measuresFile is the form of measures in a file. Of identifies the measured items.
type measuresFile struct {
	Format int    `json:"format"`
	Of     string `json:"of"`
	Measures
}

// Save writes measures to a file, completely or not at all. of identifies the measured items, for example
// by index.Index.State, the column of the labels and Calibration.ScoreID.
func (m *Measures) Save(path, of string) error {
	return atomic.WriteFile(path, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(measuresFile{measuresFormat, of, *m})
	})
}

// LoadMeasures reads measures from a file of Save. Measures of other items are an error; measure again
// then.
func LoadMeasures(path, of string) (*Measures, error) {
	text, err := fileinfo.ReadFile(path)
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
	if m.Format != measuresFormat || m.Of != of {
		return nil, fmt.Errorf("these are measures of other items")
	}
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("not measures of a gallery: %w", err)
	}
	return &m.Measures, nil
}

// check returns an error for measures that a Sampler cannot have made.
func (m *Measures) check() error {
	for l, own := range m.Spread {
		name := fmt.Sprintf("classes[%.60q]", l)
		if err := cmp.Or(checkCount("the number of "+name, len(own), 2, maxSpreadItems),
			checkAscending(name, own, anyDistance, false)); err != nil {
			return err
		}
	}
	if m.StrangerTrial == nil {
		return nil
	}
	return cmp.Or(checkScores("strangers", m.StrangerTrial.Strangers), checkScores("own", m.StrangerTrial.OwnItems))
}

func checkScores(name string, of []ClassScores) error {
	for k, c := range of {
		at := fmt.Sprintf("tryout.%s[%d].scores", name, k)
		if err := cmp.Or(checkCount("the number of "+at, len(c.Scores), 1, maxCount),
			checkAscending(at, c.Scores, interval{-maxScore, maxScore}, false)); err != nil {
			return err
		}
	}
	return nil
}
