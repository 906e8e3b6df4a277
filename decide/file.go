package decide

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// FileName is the name of a calibration in the folder of a run or an index.
const FileName = "calibration.json"

// format is the version of the file.
const format = 1

// mostBytes bounds the file of a calibration, which has 300 KB with a thousand classes.
const mostBytes = 8 << 20

// Write writes the calibration as JSON.
func (c *Calibration) Write(w io.Writer) error { return json.NewEncoder(w).Encode(c) }

// Save writes the calibration to a file, completely or not at all.
func (c *Calibration) Save(path string) error { return atomic.WriteFile(path, c.Write) }

// Load reads the calibration in a file.
func Load(path string) (*Calibration, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Read reads a calibration. It does not trust the file: impossible numbers are an error.
func Read(r io.Reader) (*Calibration, error) {
	text, err := budget.ReadWithin("a calibration", r, mostBytes)
	if err != nil {
		return nil, err
	}
	var c Calibration
	if err := strictjson.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("not a calibration: %w", err)
	}
	if c.Format != format {
		return nil, fmt.Errorf("the calibration has format %d, but this program reads %d: calibrate again", c.Format,
			format)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("not a calibration: %w", err)
	}
	return &c, nil
}

// Fits returns an error if the calibration does not fit embeddings of a source that are compared by a
// distance, because another network, preparation or distance gives other distances. An unknown source,
// Source{}, is not checked, but the dimension always is. A calibration that was made from a file of
// embeddings names no network. It fits only embeddings without a known network.
func (c *Calibration) Fits(of Source, by string, dim int) error {
	again := "calibrate again with kindred calibrate"
	if c.Dim != dim {
		return fmt.Errorf("the calibration is for embeddings of %d numbers, but these have %d, so another network "+
			"made "+
			"them: %s", c.Dim, dim, again)
	}
	if by != "" && c.Distance.String() != by {
		return fmt.Errorf("the calibration is for the %s distance, but here it is %s: %s", c.Distance, by, again)
	}
	if of.Network != "" && c.Source.Network == "" {
		return fmt.Errorf("the calibration names no network, because it was made from a file of embeddings, but "+
			"these are "+
			"of %s: %s and the run or index of that network", of.Name, again)
	}
	if of.Network != "" && of.Network != c.Source.Network {
		return fmt.Errorf("the calibration is for another network (%s) than %s: %s", c.Source.Name, of.Name, again)
	}
	if of.Network != "" && of.Preparation != c.Source.Preparation {
		return fmt.Errorf("the calibration is for photos prepared as %q, but here they are prepared as %q: %s",
			c.Source.Preparation, of.Preparation, again)
	}
	return nil
}
