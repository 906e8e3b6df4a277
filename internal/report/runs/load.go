package runs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/kindred-ml/kindred/internal/yamltext"
)

// Run is one training run as its folder tells it.
type Run struct {
	Dir  string
	Name string // the folder's name
	// Config holds the resolved settings in the file's order, nested keys
	// joined by points: "loss.margin".
	Config []Setting
	// Columns are the headings of metrics.csv, Values the numbers under each,
	// one per epoch; NaN where an epoch has none.
	Columns []string
	Values  map[string][]float64
	// Seconds is the sum of timing.csv's column of seconds; NaN if unknown.
	Seconds float64
}

// Setting is a configuration key with its value as written.
type Setting struct{ Key, Value string }

// Load reads a run's folder. config.yaml and metrics.csv must be there and
// well formed; timing.csv may be missing.
func Load(dir string) (*Run, error) {
	r := &Run{Dir: dir, Name: filepath.Base(filepath.Clean(dir)), Seconds: math.NaN()}
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; give the folder of a run, as kindred train writes it", dir)
	}
	path := filepath.Join(dir, "config.yaml")
	text, err := yamltext.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no config.yaml; give the folder of a run, as kindred train writes it", dir)
	} else if err != nil {
		return nil, err
	}
	if r.Config, err = parseConfig(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	path = filepath.Join(dir, "metrics.csv")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no metrics.csv: the run has not finished an epoch", dir)
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	if r.Columns, r.Values, err = parseColumns(f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, ok := r.Values["epoch"]; !ok {
		return nil, fmt.Errorf("%s: no column called epoch", path)
	}
	return r, r.loadTiming()
}

func (r *Run) loadTiming() error {
	path := filepath.Join(r.Dir, "timing.csv")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	_, values, err := parseColumns(f)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	total := 0.0
	for _, c := range []string{"seconds", "train_seconds", "eval_seconds"} {
		for _, v := range values[c] {
			if !math.IsNaN(v) {
				total += v
			}
		}
	}
	if total > 0 {
		r.Seconds = total
	}
	return nil
}

// parseConfig flattens a YAML document of nested maps.
func parseConfig(text []byte) ([]Setting, error) {
	if _, err := yamltext.Parse(text); err != nil {
		return nil, err
	}
	var doc yaml.MapSlice
	if err := yaml.UnmarshalWithOptions(text, &doc, yaml.UseOrderedMap()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, true))
	}
	var out []Setting
	var walk func(prefix string, m yaml.MapSlice)
	walk = func(prefix string, m yaml.MapSlice) {
		for _, item := range m {
			key := prefix + fmt.Sprint(item.Key)
			if sub, ok := item.Value.(yaml.MapSlice); ok {
				walk(key+".", sub)
				continue
			}
			out = append(out, Setting{key, valueText(item.Value)})
		}
	}
	walk("", doc)
	return out, nil
}

func valueText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = valueText(e)
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(v)
}

// parseColumns reads a CSV of numbers with a header. An empty field is NaN.
func parseColumns(r io.Reader) ([]string, map[string][]float64, error) {
	rows := csv.NewReader(r)
	head, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, nil, err
	}
	head = append([]string(nil), head...)
	values := make(map[string][]float64, len(head))
	for _, h := range head {
		if _, dup := values[h]; dup {
			return nil, nil, fmt.Errorf("column %q appears twice", h)
		}
		values[h] = []float64{}
	}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return head, values, nil
		} else if err != nil {
			return nil, nil, err
		}
		for i, field := range row {
			v := math.NaN()
			if field != "" {
				if v, err = strconv.ParseFloat(field, 64); err != nil {
					line, _ := rows.FieldPos(i)
					return nil, nil, fmt.Errorf("line %d, column %q: %q is not a number", line, head[i], field)
				}
			}
			values[head[i]] = append(values[head[i]], v)
		}
	}
}

// Last returns the last value of a column that is a number, and whether there
// is one.
func (r *Run) Last(column string) (float64, bool) {
	vs := r.Values[column]
	for i := len(vs) - 1; i >= 0; i-- {
		if !math.IsNaN(vs[i]) {
			return vs[i], true
		}
	}
	return 0, false
}

// Metrics lists the columns that hold scores, such as "test_recall@1".
func (r *Run) Metrics() []string {
	var out []string
	for _, c := range r.Columns {
		if strings.Contains(c, "_") && !strings.HasPrefix(c, "no_") {
			out = append(out, c)
		}
	}
	return out
}
