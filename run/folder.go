package run

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/kindred-ml/kindred/embedding"
	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/base/budget"
	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/base/fileinfo"
	"github.com/kindred-ml/kindred/internal/base/option"
	"github.com/kindred-ml/kindred/internal/format/plaintext"
	"github.com/kindred-ml/kindred/internal/format/yamltext"
	"github.com/kindred-ml/kindred/nn"
	"github.com/kindred-ml/kindred/run/internal/record"
	"github.com/kindred-ml/kindred/train"
)

// Folder is the folder of a run that is finished, stopped or under way. Its methods read
// the files at each call. If a file does not exist, or not yet, the error wraps
// fs.ErrNotExist and gives the reason.
type Folder struct {
	dir record.Dir
}

// Open returns the folder of the run at dir.
func Open(dir string) (*Folder, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fileinfo.WithHint(err, dir, "the folder of a run, as kindred train writes it")
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is a file: give the folder of a run, as kindred train writes it", dir)
	}
	return &Folder{record.Dir{Path: dir}}, nil
}

// Exists reports whether dir is the folder of a run, finished or not, that
// Options.Resume can continue or Options.Force replace.
func Exists(dir string) bool { return record.Exists(dir) }

// Dir returns the folder's path.
func (f *Folder) Dir() string { return f.dir.Path }

// Name returns the last part of the folder's path.
func (f *Folder) Name() string { return filepath.Base(filepath.Clean(f.dir.Path)) }

// ConfigPath returns the path of the configuration.
func (f *Folder) ConfigPath() string { return f.dir.Join(record.ConfigFile) }

// Settings returns the configuration as it is written: every key of every section with its
// value. It includes keys that this program does not know.
func (f *Folder) Settings() ([]Setting, error) {
	text, err := f.configText()
	if err != nil {
		return nil, err
	}
	out, err := parseSettings(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.ConfigPath(), err)
	}
	return out, nil
}

// Config reads the configuration, and applies the overrides as Parse does.
func (f *Folder) Config(overrides ...string) (Config, error) {
	text, err := f.configText()
	if err != nil {
		return Config{}, err
	}
	c, err := Parse(f.ConfigPath(), text, overrides...)
	c.Data.Path = dataPathOf(c.Data.Path, text)
	c.Data.topFolders = c.Data.Label == "" || c.Data.Fine == ""
	return c, err
}

func (f *Folder) configText() ([]byte, error) {
	text, err := yamltext.ReadFile(f.ConfigPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, newMissingError("%s is not the folder of a run, because it has no %s: "+
			"give a folder that kindred train has written", f.dir.Path, record.ConfigFile)
	}
	return text, err
}

// History returns the table of metrics.csv, with a row for each epoch.
func (f *Folder) History() (*EpochTable, error) {
	t, err := readTable(f.dir.Join(record.MetricsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, newMissingError("%s has no %s: the run has not finished an epoch", f.dir.Path, record.MetricsFile)
	}
	if err != nil {
		return nil, err
	}
	if _, ok := t.Values["epoch"]; !ok {
		return nil, fmt.Errorf("%s: no column called epoch", f.dir.Join(record.MetricsFile))
	}
	return t, nil
}

// Timing returns the table of timing.csv, with the duration of each epoch.
func (f *Folder) Timing() (*EpochTable, error) { return readTable(f.dir.Join(record.TimingFile)) }

// Model reads the run's final network.
func (f *Folder) Model() (*Model, error) {
	cfg, err := f.Config()
	if err != nil {
		return nil, err
	}
	net, err := nn.Load(f.dir.Path, nn.Options{Precision: nn.Precision(cfg.Network.Precision)})
	if errors.Is(err, fs.ErrNotExist) {
		if e := f.unfinishedError(); e != nil {
			return nil, e
		}
	}
	if err != nil {
		return nil, err
	}
	return &Model{Config: cfg, Net: net}, nil
}

// unfinishedError returns the error for a run that has a checkpoint but lacks the files of its end;
// nil without a checkpoint.
func (f *Folder) unfinishedError() error {
	if _, err := os.Stat(f.CheckpointPath()); err != nil {
		return nil
	}
	return newMissingError("the run in %s has not finished: continue it by %s, or end it with its best weights so far "+
		"by %s", f.dir.Path, trainResume.WithValue(f.dir.Path), trainFinish.WithValue(f.dir.Path))
}

// Checkpoint reads the checkpoint from which the run goes on.
func (f *Folder) Checkpoint() (*train.Checkpoint, error) {
	path := f.CheckpointPath()
	r, err := fileinfo.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	c, err := train.ReadCheckpoint(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.Name = path
	return c, nil
}

// CheckpointPath returns the path of the checkpoint from which the run goes on.
func (f *Folder) CheckpointPath() string { return f.dir.CheckpointPath() }

// ReportPath returns the path of the run's report.
func (f *Folder) ReportPath() string { return f.dir.Join(record.ReportFile) }

// EmbeddingFiles returns the paths of a set's embeddings by the final network, and of their
// labels: a CSV file with the columns path, label (the fine class) and coarse (the
// training label).
func (f *Folder) EmbeddingFiles(s Set) (embeddings, labels string) {
	return f.dir.Join(s.prefix() + record.EmbeddingsSuffix), f.dir.Join(s.prefix() + record.LabelsSuffix)
}

// Embeddings reads the embeddings of a set with all their labels.
func (f *Folder) Embeddings(s Set) (*embedding.Table, error) {
	e, l := f.EmbeddingFiles(s)
	t, err := readEmbeddings(e, l)
	if errors.Is(err, fs.ErrNotExist) {
		_, network := os.Stat(f.dir.Join(nn.WeightsFile))
		if e := f.unfinishedError(); e != nil && network != nil {
			return nil, e
		}
		return nil, newMissingError("%s has no %s: it is not the folder of a run, or the run kept no %s set",
			f.dir.Path, filepath.Base(e), s)
	}
	return t, err
}

func readEmbeddings(embeddings, labels string) (*embedding.Table, error) {
	t, err := embedding.Read(embeddings)
	if err != nil {
		return nil, err
	}
	return embedding.Formats{}.Label(t, labels)
}

// Snapshot holds the embeddings that a run kept of an evaluation. With eval.keep a run keeps
// every evaluation. Without it, a run keeps only the test set's embeddings by a pretrained
// network before training.
type Snapshot struct {
	Epoch int // 0: before training
	Set   Set

	embeddings, labels string
}

// Path returns the path of the embeddings.
func (s Snapshot) Path() string { return s.embeddings }

// Embeddings reads the embeddings with all their labels.
func (s Snapshot) Embeddings() (*embedding.Table, error) {
	return readEmbeddings(s.embeddings, s.labels)
}

// Snapshots lists the kept embeddings of a set in the order of epochs; see Snapshot.
func (f *Folder) Snapshots(s Set) ([]Snapshot, error) {
	entries, err := os.ReadDir(f.dir.Join(record.SnapshotDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var out []Snapshot
	for _, e := range entries {
		epoch, set, err := record.ParseSnapshot(e.Name())
		switch {
		case set != s.String():
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", f.dir.Join(record.SnapshotDir, e.Name()), err)
		}
		path := f.dir.Join(record.SnapshotDir, e.Name())
		labels := strings.TrimSuffix(path, record.EmbeddingsSuffix) + record.LabelsSuffix
		out = append(out, Snapshot{epoch, s, path, labels})
	}
	slices.SortFunc(out, func(a, b Snapshot) int { return a.Epoch - b.Epoch })
	return out, nil
}

// newMissingError returns an error that wraps fs.ErrNotExist.
func newMissingError(format string, args ...any) error {
	return &missingError{option.Errorf(format, args...)}
}

type missingError struct{ err error }

func (e *missingError) Error() string { return e.err.Error() }

// Named is Error with other names for the options.
func (e *missingError) Named(name func(option string) string) string {
	return option.Text(e.err, name)
}

func (e *missingError) Unwrap() error { return fs.ErrNotExist }

// FinalEpoch returns the epoch whose network the run ended with: the last epoch or, with train.best, the
// best one. 0 is the network before training. It reads the checkpoint; without one, the error wraps fs.ErrNotExist.
func (f *Folder) FinalEpoch() (epoch int, err error) {
	c, err := f.Checkpoint()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, newMissingError("%s has no checkpoint, so the epoch that the run ended with is unknown", f.dir.Path)
	}
	if err != nil {
		return 0, fmt.Errorf("the epoch that the run ended with: %w", err)
	}
	switch {
	case c.Returned:
		return 0, nil
	case c.Best != nil:
		return c.Best.Epoch, nil
	}
	return c.Epoch, nil
}

// Set is a set of samples that a run scores and whose embeddings it keeps. Its text form is
// its name.
type Set int

// The sets.
const (
	TestSet       Set = iota // the queries of the test split
	SeenSet                  // test samples of classes in the training part
	TrainSet                 // training samples, as many as eval.train asks for
	GallerySet               // the gallery of the test split, if it differs from the queries
	ValidationSet            // samples held back from training, to choose the best epoch
)

var setNames = enum.New[Set]("Set", "set of samples", "test", "seen", "train", "gallery", "validation")

// Sets lists all sets.
func Sets() []Set { return []Set{TestSet, SeenSet, TrainSet, GallerySet, ValidationSet} }

// ParseSet returns the set with a name.
func ParseSet(name string) (Set, error) { return setNames.Parse(name) }

// String returns the set's name.
func (s Set) String() string { return setNames.Name(s) }

// MarshalText returns the set's name.
func (s Set) MarshalText() ([]byte, error) { return setNames.Marshal(s) }

// UnmarshalText sets the set by name.
func (s *Set) UnmarshalText(text []byte) error { return setNames.Unmarshal(s, text) }

// prefix returns the start of the names of the set's files at the end of a run.
func (s Set) prefix() string {
	if s == TestSet {
		return ""
	}
	return s.String() + "_"
}

// dataPathComment begins the last line of config.yaml, if data.path is relative. The line has the absolute path that it
// meant when the run began, so that the run's data are found from other folders too.
const dataPathComment = "# data.path was "

// withDataPath returns the text of the configuration with the comment, if the data are there.
func (c *Config) withDataPath() string {
	text := string(c.YAML())
	if c.Data.Path == "" || filepath.IsAbs(c.Data.Path) {
		return text
	}
	abs, err := filepath.Abs(c.Data.Path)
	if err == nil {
		_, err = os.Stat(abs)
	}
	if err != nil {
		return text
	}
	return text + dataPathComment + strconv.Quote(abs) + "\n"
}

// dataPathOf returns the data.path of a configuration, or the absolute path in its comment if data.path is relative and
// leads nowhere from here.
func dataPathOf(path string, config []byte) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	if _, err := os.Stat(path); err == nil {
		return path
	}
	lines := bytes.Split(bytes.TrimSpace(config), []byte("\n"))
	quoted, ok := strings.CutPrefix(string(lines[len(lines)-1]), dataPathComment)
	if !ok {
		return path
	}
	abs, err := strconv.Unquote(quoted)
	if err != nil || !filepath.IsAbs(abs) {
		return path
	}
	if _, err := os.Stat(abs); err != nil {
		return path // the error then names what the user gave
	}
	return abs
}

// EpochTable is a file of numbers with a heading for each column and a row for each epoch.
type EpochTable struct {
	// Columns are the headings in order. Values are the numbers under each heading; NaN if an
	// epoch has no value.
	Columns []string
	Values  map[string][]float64
}

// LastValue returns the last value of a column that is not NaN.
func (t *EpochTable) LastValue(column string) (float64, error) {
	for _, v := range slices.Backward(t.Values[column]) {
		if !math.IsNaN(v) {
			return v, nil
		}
	}
	return 0, fmt.Errorf("no epoch has a value of %q", column)
}

// Metrics lists the columns that hold scores, such as "test_recall@1".
func (t *EpochTable) Metrics() []string {
	var out []string
	for _, c := range t.Columns {
		if strings.Contains(c, "_") && !strings.HasPrefix(c, "no_") {
			out = append(out, c)
		}
	}
	return out
}

// maxTableBytes and maxTableEpochs bound a table in bytes and in rows.
const (
	maxTableBytes  = 64 << 20
	maxTableEpochs = 1 << 20
)

func readTable(path string) (*EpochTable, error) {
	f, size, err := fileinfo.OpenSized(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if size > maxTableBytes {
		return nil, fmt.Errorf("%s: %w", path, &budget.TooLargeError{What: "a table of epochs", Most: maxTableBytes})
	}
	t, err := parseTable(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// valueBytes is the memory for a value: it is kept, copied while its column grows, and drawn on pages.
const valueBytes = 128

// parseTable reads a CSV of numbers with a header. An empty field is NaN.
func parseTable(r io.Reader) (*EpochTable, error) {
	rows := plaintext.NewRows(r)
	head, err := rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	} else if err != nil {
		return nil, err
	}
	t := &EpochTable{Columns: slices.Clone(head), Values: make(map[string][]float64, len(head))}
	for _, h := range t.Columns {
		if _, dup := t.Values[h]; dup {
			return nil, fmt.Errorf("column %q appears twice", h)
		}
		t.Values[h] = []float64{}
	}
	left := budget.Limit()
	for n := 0; ; n++ {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		if n == maxTableEpochs {
			return nil, fmt.Errorf("more than %d rows: a table has one for each epoch", maxTableEpochs)
		}
		if left -= valueBytes * int64(len(row)); left < 0 {
			return nil, &budget.Error{What: "the table", Limit: budget.Limit()}
		}
		for i, field := range row {
			v := math.NaN()
			if field != "" {
				if v, err = strconv.ParseFloat(field, 64); err != nil {
					line, _ := rows.FieldPos(i)
					return nil, fmt.Errorf("line %d, column %q: %q is not a number", line, t.Columns[i], field)
				}
			}
			t.Values[t.Columns[i]] = append(t.Values[t.Columns[i]], v)
		}
	}
}

// Setting is a key of a configuration, "loss.margin", with its value as written.
type Setting struct{ Key, Value string }

// Settings lists every key of the configuration with its value, as
// Folder.Settings does.
func (c Config) Settings() ([]Setting, error) { return parseSettings(c.YAML()) }

// parseSettings flattens a YAML document of nested maps and keeps its order.
func parseSettings(text []byte) ([]Setting, error) {
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

// Load reads the network of the run in dir.
func Load(dir string) (*Model, error) {
	f, err := Open(dir)
	if err != nil {
		return nil, err
	}
	return f.Model()
}

// Save writes the configuration and the network, but no training state, into an existing
// folder, for Load.
func (m *Model) Save(dir string) error {
	f := &Folder{record.Dir{Path: dir}}
	if err := atomic.WriteFile(f.ConfigPath(), atomic.Bytes(m.Config.YAML())); err != nil {
		return err
	}
	return m.Net.Save(dir)
}
