package bench

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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
	Method  string    `json:"method"`
	Remark  string    `json:"remark,omitempty"`
	Peers   []Setting `json:"peers,omitempty"`
	Results []Result  `json:"results"`
	// Earlier has the results of cases that later runs did not time, the latest run first.
	Earlier []*Record `json:"earlier,omitempty"`

	// Peer is the peer of records of the time when there was one. Read moves it to Peers.
	Peer *Setting `json:"peer,omitempty"`
}

// Method describes how Run measures times.
const Method = "Five turns each of kindred and of every variant of every peer, one after another. A turn repeats " +
	"the work for 100 ms, at least once, after one repetition that is not counted; its figure is the median. The " +
	"table has median, least and largest of the five."

// NewRecord describes this machine before the first case. An empty name means the
// name that the processor reports.
func NewRecord(name string) *Record {
	model := processor()
	name = cmp.Or(name, model)
	r := &Record{
		Processor: name, Model: model, Cores: runtime.GOMAXPROCS(0), Level: simd.Active().String(),
		Taken: time.Now().Format(time.DateOnly), Go: runtime.Version(), Method: Method,
	}
	if l := loadAverage(); l >= 0 {
		r.Load = &l
	}
	return r
}

// IsBusy reports whether the machine did other work before the first case. Such figures
// are useless for a page.
func (r *Record) IsBusy() bool { return r.Load != nil && *r.Load > 0.5*float64(r.Cores) }

// Save writes a record as JSON.
func (r *Record) Save(path string) error {
	return atomic.WriteFile(path, atomic.JSON(r))
}

// ReadRecords reads all records of a folder, in the order of their files' names.
func ReadRecords(dir string) ([]*Record, error) {
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
		if records[i], err = ReadRecord(path); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// ReadRecord reads a record.
func ReadRecord(path string) (*Record, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Record)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, part := range r.withEarlier() {
		if err := part.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if part.Peer != nil {
			part.Peers, part.Peer = append(part.Peers, *part.Peer), nil
		}
	}
	return r, nil
}

// MergeResults returns r and the results of before, a record of the same machine, for cases that are not in r:
// beside those of r if they were timed on the same day in the same way, else as earlier ones.
func (r *Record) MergeResults(before *Record) *Record {
	both := *r
	both.Results, both.Earlier = slices.Clone(r.Results), nil
	for _, part := range before.withEarlier() {
		kept := *part
		kept.Earlier = nil
		kept.Results = slices.DeleteFunc(slices.Clone(part.Results),
			func(x Result) bool { return r.find(x.Case) != nil })
		switch {
		case len(kept.Results) == 0:
		case r.isComparable(part):
			both.Results = append(both.Results, kept.Results...)
		default:
			both.Earlier = append(both.Earlier, &kept)
		}
	}
	return &both
}

// isComparable reports whether another run was timed on the same day by the same programs.
func (r *Record) isComparable(o *Record) bool {
	return r.Taken == o.Taken && r.Go == o.Go && r.Level == o.Level && r.Cores == o.Cores && r.Method == o.Method &&
		r.Remark == o.Remark &&
		slices.EqualFunc(r.Peers, o.Peers, func(a, b Setting) bool { return maps.Equal(a.Versions, b.Versions) })
}

// withEarlier returns the record and the earlier ones that it has kept.
func (r *Record) withEarlier() []*Record { return append([]*Record{r}, r.Earlier...) }

// check returns an error for a record that a page cannot show.
func (r *Record) check() error {
	if r.Processor == "" || r.Cores < 1 || r.Level == "" || r.Taken == "" || r.Method == "" {
		return errors.New("processor, cores, level, taken and method must be set in a record")
	}
	for _, x := range r.Results {
		if !(x.MedianMS > 0) || x.Peer != nil && !(x.Peer.MedianMS > 0) {
			return fmt.Errorf("case %q without a time", x.Case)
		}
	}
	for _, e := range r.Earlier {
		if e == nil || len(e.Earlier) > 0 {
			return errors.New("earlier must list records, which have no earlier ones themselves")
		}
	}
	return nil
}

// find returns the result of a case, or nil if this run did not time it.
func (r *Record) find(name string) *Result {
	for i := range r.Results {
		if r.Results[i].Case == name {
			return &r.Results[i]
		}
	}
	return nil
}

// MissingPeers returns the toolkits that were not there, of those that bench/setup sets up, and the reason
// if a peer gave one.
func (r *Record) MissingPeers() []string {
	var missing []string
	for _, tool := range []string{"PyTorch", "torch.compile", "ONNX Runtime", "faiss"} {
		there, why := false, ""
		for _, p := range r.Peers {
			there = there || p.Versions[tool] != ""
			why = cmp.Or(why, p.Missing[tool])
		}
		if why != "" {
			tool += " (" + why + ")"
		}
		if !there {
			missing = append(missing, tool)
		}
	}
	return missing
}

// peerNames names what the peer's time of a case comes from. Records with one peer do not say.
func (r *Record) peerNames(x *Result) string {
	if x.Peer.Tool != "" || len(r.Peers) == 0 {
		return x.Peer.Tool
	}
	for _, start := range []string{"search-", "rank-", "kmeans-"} {
		if strings.HasPrefix(x.Case, start) {
			return r.Peers[0].tool("faiss")
		}
	}
	return r.Peers[0].tool("PyTorch")
}
