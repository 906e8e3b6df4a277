// Package bench holds the timed cases of `kindred bench` and compares them with
// the same work in other toolkits, run by a script that prints one JSON object a
// case.
package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/kindred-ml/kindred/nn"
)

// Case is one piece of work to be timed.
type Case struct {
	Name  string
	About string
	// Runs and Warm are the counted runs and the uncounted ones before them.
	Runs, Warm int
	// Items is how many images, queries or steps one run handles.
	Items int
	// Setup prepares the inputs and returns the work itself, and optionally
	// floating-point operations per run (0 if it has no meaning).
	Setup func() (work func() error, flops float64, err error)
	// Layers, where the work is a network's, repeats it runs times after Setup
	// and returns how long each layer took in all.
	Layers func(runs int) ([]nn.LayerTime, error)
}

// Result is what a case took.
type Result struct {
	Case     string  `json:"case"`
	MedianMS float64 `json:"median_ms"` // median milliseconds of a run
	PerS     float64 `json:"per_s"`     // items per second at the median
	MinMS    float64 `json:"min_ms"`
	MaxMS    float64 `json:"max_ms"`
	Runs     int     `json:"runs"`
	GFLOPS   float64 `json:"gflops,omitempty"`
	PeerMS   float64 `json:"peer_median_ms,omitempty"` // the peer's median, when one was run
	Ratio    float64 `json:"ratio,omitempty"`          // peer's time over ours: above 1 we are faster
	Layers   []Layer `json:"layers,omitempty"`
}

// Run times one case: Warm runs uncounted, then Runs runs.
func Run(ctx context.Context, c Case) (Result, error) {
	work, flops, err := c.Setup()
	if err != nil {
		return Result{}, fmt.Errorf("bench %s: %w", c.Name, err)
	}
	times := make([]float64, 0, c.Runs)
	for i := range c.Warm + c.Runs {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		start := time.Now()
		if err := work(); err != nil {
			return Result{}, fmt.Errorf("bench %s: %w", c.Name, err)
		}
		if i >= c.Warm {
			times = append(times, time.Since(start).Seconds()*1e3)
		}
	}
	r := Result{
		Case: c.Name, Runs: c.Runs, MedianMS: median(times),
		MinMS: slices.Min(times), MaxMS: slices.Max(times),
	}
	r.PerS = float64(c.Items) / r.MedianMS * 1e3
	r.GFLOPS = flops / r.MedianMS / 1e6
	return r, nil
}

// median returns the middle of x (the mean of the two middle values for an even
// count), leaving x sorted.
func median(x []float64) float64 {
	slices.Sort(x)
	n := len(x)
	if n%2 == 1 {
		return x[n/2]
	}
	return (x[n/2-1] + x[n/2]) / 2
}

// Peer is a script that times the same cases in another toolkit:
// `python script case` prints {"case":..., "median_ms":...}.
type Peer struct {
	Python, Script string
}

// ErrNoPeerCase says that the peer's script does not know a case.
var ErrNoPeerCase = errors.New("the peer's script does not have this case")

// Run times one case in the peer's own process.
func (p Peer) Run(ctx context.Context, name string) (medianMS float64, err error) {
	cmd := exec.CommandContext(ctx, p.Python, p.Script, name)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if strings.Contains(stderr.String(), "KeyError") {
			return 0, ErrNoPeerCase
		}
		return 0, fmt.Errorf("peer %s %s %s: %w\n%s", p.Python, p.Script, name, err, lastLine(stderr.String()))
	}
	return parsePeer(out, name)
}

func parsePeer(out []byte, name string) (float64, error) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		var r Result
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Case == name && r.MedianMS > 0 {
			return r.MedianMS, nil
		}
	}
	return 0, fmt.Errorf("peer printed no time for %s", name)
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// Select returns the cases with the given names, in that order; none means all.
// An unknown name is an error that lists the known ones.
func Select(all []Case, names []string) ([]Case, error) {
	if len(names) == 0 {
		return all, nil
	}
	var picked []Case
	for _, n := range names {
		i := slices.IndexFunc(all, func(c Case) bool { return c.Name == n })
		if i < 0 {
			known := make([]string, len(all))
			for j, c := range all {
				known[j] = c.Name
			}
			return nil, fmt.Errorf("unknown case %q; there are: %s", n, strings.Join(known, ", "))
		}
		picked = append(picked, all[i])
	}
	return picked, nil
}
