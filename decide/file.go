package decide

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/regular"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// FileName is what a calibration is called in the folder of a run or of an index.
const FileName = "calibration.json"

// format is the version of the file.
const format = 1

// mostBytes bounds a calibration, of which one of a thousand classes has 300 KB.
const mostBytes = 8 << 20

// Write writes the calibration as JSON.
func (c *Calibration) Write(w io.Writer) error { return json.NewEncoder(w).Encode(c) }

// Save writes it to a file, which stands there whole or not at all.
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

// Read reads a calibration. What it reads is not trusted: numbers that no calibration
// has are an error.
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
		return nil, fmt.Errorf("a calibration of format %d, and this program reads %d: calibrate again", c.Format,
			format)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("not a calibration: %w", err)
	}
	return &c, nil
}

// check refuses what Calibrate cannot have made.
func (c *Calibration) check() error {
	if err := c.Distance.Check(); err != nil {
		return err
	}
	if err := cmp.Or(c.Curve.check(), c.Vote.check()); err != nil {
		return err
	}
	if c.Closed != nil {
		if err := c.Closed.check(); err != nil {
			return err
		}
	}
	if c.IsClosed() {
		if c.Dim < 1 || c.Classes != c.Closed.Classes || !(c.PerClass >= 1) {
			return fmt.Errorf("parts of it are missing")
		}
		return nil
	}
	n := len(c.Distances)
	if n == 0 || c.Classes < fewestClasses || c.Photos < c.Classes || !(c.Pairs >= 1) || !(c.PerClass >= 1) ||
		c.Dim < 1 || len(c.Strangers) == 0 || !(c.Tail >= 0) {
		return fmt.Errorf("parts of it are missing")
	}
	if !ascending(c.Distances, math.Inf(-1), math.Inf(1), true) {
		return fmt.Errorf("distances do not rise")
	}
	return c.checkShares()
}

// check refuses a curve without points, and one that rises.
func (c Curve) check() error {
	k := len(c.Distance)
	if k == 0 || len(c.LogOdds) != k || !ascending(c.Distance, math.Inf(-1), math.Inf(1), true) {
		return fmt.Errorf("the curve has no points, or these do not rise")
	}
	for i, v := range c.LogOdds {
		if !(math.Abs(v) <= 700) || i > 0 && v > c.LogOdds[i-1] {
			return fmt.Errorf("the curve rises")
		}
	}
	return nil
}

// check refuses a vote by which a larger share is a smaller probability.
func (v Vote) check() error {
	if !(v.B > 0) {
		return fmt.Errorf("the vote is turned round")
	}
	return nil
}

// checkShares looks at everything that is kept by distance.
func (c *Calibration) checkShares() error {
	shares := [][]float64{c.FalseMatch, c.Bound, c.TrueMatch, c.Near}
	for i, s := range c.Strangers {
		if s.Classes < 1 || i > 0 && s.Classes <= c.Strangers[i-1].Classes {
			return fmt.Errorf("galleries do not grow")
		}
		shares = append(shares, s.Rate, s.Bound)
	}
	for i, o := range c.Own {
		if o.Photos < 1 || o.Classes < fewestClasses || i > 0 && o.Photos <= c.Own[i-1].Photos {
			return fmt.Errorf("numbers of own photos do not rise")
		}
		shares = append(shares, o.Cover)
	}
	for _, s := range shares {
		if len(s) != len(c.Distances) || !ascending(s, 0, 1, false) {
			return fmt.Errorf("a list of shares is no such list by distance")
		}
	}
	return nil
}

// ascending tells whether numbers rise, or at least do not fall, between bounds.
func ascending(v []float64, least, most float64, strictly bool) bool {
	for i, x := range v {
		if !(x >= least && x <= most) || i > 0 && (x < v[i-1] || strictly && x == v[i-1]) {
			return false
		}
	}
	return true
}

// Fits returns an error if the calibration is not for embeddings of a source, compared
// by a distance: another network, preparation or distance gives other distances. A part
// of the source that is not known on either side is not compared; the dimension always is.
func (c *Calibration) Fits(of Source, by string, dim int) error {
	again := "calibrate again with kindred calibrate"
	if c.Dim != dim {
		return fmt.Errorf("the calibration is for embeddings of %d numbers, and these have %d: another network made "+
			"them; %s", c.Dim, dim, again)
	}
	if by != "" && c.Distance.String() != by {
		return fmt.Errorf("the calibration is for the %s distance, and here it is %s; %s", c.Distance, by, again)
	}
	if of.Network != "" && c.Source.Network != "" && of.Network != c.Source.Network {
		return fmt.Errorf("the calibration is for another network (%s) than %s; %s", c.Source.Name, of.Name, again)
	}
	if of.Network != "" && c.Source.Network != "" && of.Preparation != c.Source.Preparation {
		return fmt.Errorf("the calibration is for photos prepared as %q, and here they are as %q; %s",
			c.Source.Preparation, of.Preparation, again)
	}
	return nil
}
