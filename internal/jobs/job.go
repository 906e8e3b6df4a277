package jobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/kindred-ml/kindred/internal/format/strictjson"
)

// MaxSpec is the most bytes of a spec. Larger data must be in a file; see Files.
const MaxSpec = 256 << 10

// Job is a unit of work.
type Job struct {
	// Kind names the Func that does it: letters, digits and dashes.
	Kind string `json:"kind"`
	// Spec is the input of the Func, as JSON of up to MaxSpec bytes; see Compact.
	Spec json.RawMessage `json:"spec"`
	// Title describes the job for people in a few words. It is not part of the job's
	// name.
	Title string `json:"title,omitempty"`
}

// New returns the job of a kind with spec as JSON.
func New(kind string, spec any) (Job, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return Job{}, fmt.Errorf("the spec of a job %s: %w", kind, err)
	}
	j := Job{Kind: kind, Spec: text}
	return j, j.Check()
}

// Check returns an error for an invalid job.
func (j Job) Check() error {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' }
	switch {
	case j.Kind == "" || len(j.Kind) > 64 || strings.IndexFunc(j.Kind, func(r rune) bool { return !plain(r) }) >= 0:
		return fmt.Errorf("kind of job %.80q: want at most 64 small letters, digits and dashes", j.Kind)
	case len(j.Spec) > MaxSpec: // check the size first
		return specTooLong(j.Kind, len(j.Spec))
	case !json.Valid(j.Spec):
		return fmt.Errorf("the spec of a job %s is not JSON", j.Kind)
	}
	if n := len(j.Compact()); n > MaxSpec {
		return specTooLong(j.Kind, n)
	}
	return nil
}

func specTooLong(kind string, n int) error {
	return fmt.Errorf("the spec of a job %s has %d bytes: want at most %d; put more data into a file", kind, n,
		MaxSpec)
}

// Compact returns the spec in the form in which it is sent, as encoding/json writes it into a larger text:
// without blanks, with <, >, & and the separators U+2028 and U+2029 in texts
// escaped. A spec that is not JSON is unchanged.
func (j Job) Compact() []byte {
	text, err := json.Marshal(j.Spec)
	if err != nil {
		return j.Spec
	}
	return text
}

// ID returns the job's name: 32 hexadecimal digits of a SHA-256 over kind and spec. Jobs with the
// same name are the same job. Blanks in the JSON do not matter, nor whether the characters that
// Compact escapes were escaped before.
func (j Job) ID() string {
	h := sha256.New()
	fmt.Fprintf(h, "kindred job 1\n%s\n", j.Kind)
	h.Write(j.Compact())
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Decode reads the spec into v, which must know all its keys.
func (j Job) Decode(v any) error {
	if err := strictjson.UnmarshalKnown(j.Spec, v); err != nil {
		return fmt.Errorf("the spec of a job %s: %w", j.Kind, err)
	}
	return nil
}

// Result is the result of a job.
type Result struct {
	Output []byte // nil if it failed
	Worker string // worker that did it
	Cached bool   // the result was kept from an earlier run
}

// Runner runs jobs.
type Runner interface {
	// Run returns the result of jobs[i] at i. If some jobs fail, the others are still done, and
	// the error joins a *Failed for each failed job. When ctx ends, Run returns its error soon;
	// another Run with the same jobs may continue the jobs that were running.
	Run(ctx context.Context, jobs []Job) ([]Result, error)
	// Forget removes the Runner's own copies of finished jobs, for callers that have stored the results. It
	// ignores jobs that the Runner does not know.
	Forget(ctx context.Context, jobs []Job) error
}

// FailedError is the error for a job that was given up.
type FailedError struct {
	Job   Job
	Tries int
	Err   error
}

func (f *FailedError) Error() string {
	times := ""
	if f.Tries > 1 {
		times = fmt.Sprintf(" %d times", f.Tries)
	}
	name := f.Job.Title
	if name == "" {
		name = f.Job.Kind + " " + f.Job.ID()
	}
	return fmt.Sprintf("%s failed%s: %v", name, times, f.Err)
}

// Unwrap returns the error of the last try.
func (f *FailedError) Unwrap() error { return f.Err }

// Files stores inputs and outputs of jobs that are too large for a spec. A file's name is the SHA-256 of its
// content.
type Files interface {
	// Store stores what write writes and returns its name.
	Store(ctx context.Context, write func(io.Writer) error) (name string, err error)
	// Open opens the file with a name. Reading to the end fails if the content
	// has changed.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

// Task is a running job.
type Task interface {
	Job() Job
	// Report reports the progress in a few words.
	Report(text string)
	// Save stores a checkpoint, which replaces the last one.
	Save(ctx context.Context, write func(io.Writer) error) error
	// Restore returns the last saved checkpoint of this job, from any worker; nil without
	// one.
	Restore(ctx context.Context) (io.ReadCloser, error)
	// Open reads a file that the spec names; see Files.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

// Func does a job and returns its result, which depends only on the spec. If ctx ends, it saves a checkpoint
// and returns the context's error.
type Func func(ctx context.Context, t Task) ([]byte, error)

// Kinds maps a kind of jobs to its Func.
type Kinds map[string]Func

// Do does a job with the Func of its kind. A panic becomes an error.
func (k Kinds) Do(ctx context.Context, t Task) (out []byte, err error) {
	j := t.Job()
	f, ok := k[j.Kind]
	if !ok {
		var names []string
		for name := range k {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("jobs of kind %q cannot be done here: want one of %s", j.Kind, strings.Join(names, ", "))
	}
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("internal error: %v\n%s", r, debug.Stack())
		}
	}()
	if out, err = f(ctx, t); err == nil && out == nil {
		err = errors.New("a job must return a result, which may be empty but not nil")
	}
	return out, err
}
