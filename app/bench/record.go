package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/kindred-ml/kindred/internal/base/atomic"
	"github.com/kindred-ml/kindred/internal/kernel/simd"
)

// Record holds all figures of one processor and how they were taken. docs/bench has a
// file for each record.
type Record struct {
	// Processor is the heading and the name in README's table. Model is the name that
	// the machine reports.
	Processor string `json:"processor"`
	Model     string `json:"model,omitempty"`
	Cores     int    `json:"cores"`
	Level     string `json:"level"` // instruction set of kindred's kernels
	Taken     string `json:"taken"` // day
	Go        string `json:"go,omitempty"`
	// Load is the number of processes that wanted a core in the minute before; nil if
	// it is unknown.
	Load *float64 `json:"load,omitempty"`
	// Method is how times were taken. Remark, if set, is a reservation about them,
	// which README repeats.
	Method  string   `json:"method"`
	Remark  string   `json:"remark,omitempty"`
	Peer    *Setting `json:"peer,omitempty"`
	Results []Result `json:"results"`
}

// Method describes how Run measures times.
const Method = "Five turns each of kindred and of the peer's variants, one after another. A turn repeats the work " +
	"for 100 ms, at least once, after one repetition that is not counted; its figure is the median. The table has " +
	"median, least and largest of the five."

// NewRecord describes this machine before the first case. An empty name means the
// name that the processor reports.
func NewRecord(name string, peer *Peer) *Record {
	model := processor()
	if name == "" {
		name = model
	}
	r := &Record{
		Processor: name, Model: model, Cores: runtime.GOMAXPROCS(0), Level: simd.Active().String(),
		Taken: time.Now().Format(time.DateOnly), Go: runtime.Version(), Method: Method,
	}
	if l := load(); l >= 0 {
		r.Load = &l
	}
	if peer != nil {
		r.Peer = &peer.Setting
	}
	return r
}

// Busy reports whether the machine did other work before the first case. Such figures
// are useless for a page.
func (r *Record) Busy() bool { return r.Load != nil && *r.Load > 0.5*float64(r.Cores) }

// Save writes a record as JSON.
func (r *Record) Save(path string) error {
	return atomic.WriteFile(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	})
}

// Records reads all records of a folder, in the order of their files' names.
func Records(dir string) ([]*Record, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no records (*.json) in %s", dir)
	}
	slices.Sort(paths)
	records := make([]*Record, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		records[i] = new(Record)
		if err := json.Unmarshal(text, records[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := records[i].check(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return records, nil
}

// check returns an error for a record that a page cannot show.
func (r *Record) check() error {
	if r.Processor == "" || r.Cores < 1 || r.Level == "" || r.Taken == "" || r.Method == "" {
		return fmt.Errorf("processor, cores, level, taken and method must be set")
	}
	for _, x := range r.Results {
		if !(x.MedianMS > 0) || x.Peer != nil && !(x.Peer.MedianMS > 0) {
			return fmt.Errorf("case %q without a time", x.Case)
		}
	}
	return nil
}

// find returns the result of a case, or nil if it was not timed.
func (r *Record) find(name string) *Result {
	for i := range r.Results {
		if r.Results[i].Case == name {
			return &r.Results[i]
		}
	}
	return nil
}
