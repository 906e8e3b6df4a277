package decide

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// FileName is the name of a calibration in the folder of a run or an index.
const FileName = "calibration.json"

// format is the version of the file.
const format = 1

// maxFileBytes bounds the file of a calibration, which has 4 MB of photos of the calibration and 300 KB besides with a
// thousand classes.
const maxFileBytes = 16 << 20

// calibrationFile is the content of the file. A source has other keys there than elsewhere.
type calibrationFile struct {
	*Calibration
	Source sourceFile `json:"source"`
}

type sourceFile struct {
	Name        string `json:"name"`
	Fingerprint string `json:"network"`
	Preparation string `json:"preparation"`
}

// Write writes the calibration as JSON.
func (c *Calibration) Write(w io.Writer) error {
	return json.NewEncoder(w).Encode(calibrationFile{c, sourceFile(c.Source)})
}

// Save writes the calibration to a file, completely or not at all.
func (c *Calibration) Save(path string) error { return atomic.WriteFile(path, c.Write) }

// Load reads the calibration in a file.
func Load(path string) (*Calibration, error) {
	f, err := fileinfo.Open(path)
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
	text, err := budget.ReadAtMost("a calibration", r, maxFileBytes)
	if err != nil {
		return nil, err
	}
	var c Calibration
	file := calibrationFile{Calibration: &c}
	if err := strictjson.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("not a calibration: %w", err)
	}
	c.Source = embedding.Network(file.Source)
	if c.Format != format {
		return nil, fmt.Errorf("the calibration has format %d, but this program reads %d: calibrate again", c.Format,
			format)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("not a calibration: %w", err)
	}
	if c.Score != nil {
		err = c.Score.setID()
	}
	return &c, err
}

// CheckNetwork returns an error if the calibration does not fit embeddings of a network that are compared by a
// distance, because another network or distance gives other distances. Networks are not checked if one of
// them is unknown or their fingerprints were computed in different ways. The dimension always is.
func (c *Calibration) CheckNetwork(of embedding.Network, by string, dim int) error {
	again := "calibrate again with kindred calibrate"
	if c.Dim != dim {
		return fmt.Errorf("the calibration is for embeddings of %d numbers, but these have %d, so another network "+
			"made "+
			"them: %s", c.Dim, dim, again)
	}
	if by != "" && c.Distance.String() != by {
		return fmt.Errorf("the calibration is for the %s distance, but here it is %s: %s", c.Distance, by, again)
	}
	if of.Differs(c.Source) {
		return fmt.Errorf("the calibration is for another network, %s, than %s: %s", c.Source, of, again)
	}
	return nil
}
