package decide

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// SpreadFileName is what the spread of an index is called in its folder.
const SpreadFileName = "spread.json"

// spreadFile is a spread as it is kept: Of says of which items it is.
type spreadFile struct {
	Format  int    `json:"format"`
	Of      string `json:"of"`
	Classes Spread `json:"classes"`
}

// Save keeps a spread in a file, which stands there whole or not at all. of says of which items
// it is, such as index.Index.State and the column of the labels.
func (s Spread) Save(path, of string) error {
	return atomic.WriteFile(path, func(w io.Writer) error {
		return json.NewEncoder(w).Encode(spreadFile{format, of, s})
	})
}

// LoadSpread reads a spread that was kept. One of other items, and a file that Save has not
// written, is an error: the spread is to be measured again.
func LoadSpread(path, of string) (Spread, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := readSpread(f, of)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

func readSpread(r io.Reader, of string) (Spread, error) {
	text, err := io.ReadAll(budget.Reader("a spread", r))
	if err != nil {
		return nil, err
	}
	var s spreadFile
	if err := strictjson.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("not a spread: %w", err)
	}
	if s.Format != format || s.Of != of {
		return nil, fmt.Errorf("a spread of other items than these")
	}
	for l, own := range s.Classes {
		if len(own) < 2 || len(own) > mostOwn || !ascending(own, math.Inf(-1), math.Inf(1), false) {
			return nil, fmt.Errorf("not a spread: distances of %q do not rise", l)
		}
	}
	return s.Classes, nil
}
