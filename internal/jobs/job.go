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

// MaxSpec bounds the bytes of a spec. What is larger goes into a file; see Files.
const MaxSpec = 256 << 10

// Job is a unit of work.
type Job struct {
	// Kind names the Func that does it: letters, digits and dashes.
	Kind string `json:"kind"`
	// Spec is what the Func is told, as JSON of up to MaxSpec bytes; see Compact.
	Spec json.RawMessage `json:"spec"`
	// Title says in a few words which one it is. It is for people and no part of the
	// job's name.
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

// Check returns what is wrong with the job, wherever it came from.
func (j Job) Check() error {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' }
	switch {
	case j.Kind == "" || len(j.Kind) > 64 || strings.IndexFunc(j.Kind, func(r rune) bool { return !plain(r) }) >= 0:
		return fmt.Errorf("%.80q is no kind of job: small letters, digits and dashes, at most 64", j.Kind)
	case len(j.Spec) > MaxSpec: // before any of it is looked at
		return tooLong(j.Kind, len(j.Spec))
	case !json.Valid(j.Spec):
		return fmt.Errorf("the spec of a job %s is not JSON", j.Kind)
	}
	if n := len(j.Compact()); n > MaxSpec {
		return tooLong(j.Kind, n)
	}
	return nil
}

func tooLong(kind string, n int) error {
	return fmt.Errorf("the spec of a job %s has %d bytes; at most %d may be given, the rest as a file", kind, n,
		MaxSpec)
}

// Compact is the spec as encoding/json writes it into a larger text, and thus as it
// travels: without blanks, with <, >, & and the separators U+2028 and U+2029 of texts as
// escapes. What is no JSON stays as it is.
func (j Job) Compact() []byte {
	text, err := json.Marshal(j.Spec)
	if err != nil {
		return j.Spec
	}
	return text
}

// ID is the job's name: 32 hexadecimal digits of a SHA-256 over kind and spec. Jobs
// of one name are the same job. Blanks in the JSON do not count, nor which of the
// characters that Compact escapes were escaped before.
func (j Job) ID() string {
	h := sha256.New()
	fmt.Fprintf(h, "kindred job 1\n%s\n", j.Kind)
	h.Write(j.Compact())
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Decode reads the spec into v, which must know all its keys.
func (j Job) Decode(v any) error {
	if err := strictjson.Known(j.Spec, v); err != nil {
		return fmt.Errorf("the spec of a job %s: %w", j.Kind, err)
	}
	return nil
}

// Result is what a job came to.
type Result struct {
	Output []byte // nil if it failed
	Worker string // who did it
	Kept   bool   // it had been done before
}

// Runner gets jobs done.
type Runner interface {
	// Run returns the result of jobs[i] at i. Where some fail, the others are done
	// all the same, and the error joins a *Failed for each. When ctx ends, Run
	// returns its error soon; jobs that were under way may be gone on with by
	// another Run with the same jobs.
	Run(ctx context.Context, jobs []Job) ([]Result, error)
	// Forget removes what the Runner itself has kept of jobs that are done, for those
	// whose results are kept elsewhere. Jobs that it does not know are no error.
	Forget(ctx context.Context, jobs []Job) error
}

// Failed is the error of a job that was given up.
type Failed struct {
	Job   Job
	Tries int
	Err   error
}

func (f *Failed) Error() string {
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

// Unwrap returns why the last try failed.
func (f *Failed) Unwrap() error { return f.Err }

// Files is room for what jobs need or leave and what is too large for a spec. A
// file is known by the SHA-256 of its content.
type Files interface {
	// Keep stores what write writes and returns its name.
	Keep(ctx context.Context, write func(io.Writer) error) (name string, err error)
	// Open reads what was kept under a name. Reading to the end fails where the
	// content is not the one that was kept.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

// Task is a job while it is done.
type Task interface {
	Job() Job
	// Report says how far it is, in a few words.
	Report(text string)
	// Save keeps a checkpoint in place of the one before.
	Save(ctx context.Context, write func(io.Writer) error) error
	// Restore returns the last checkpoint that anyone saved of this job; nil if
	// nobody did.
	Restore(ctx context.Context) (io.ReadCloser, error)
	// Open reads a file that the spec names; see Files.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
}

// Func does a job and returns its result, which depends on the spec and on nothing
// else. If ctx ends it saves what it can go on from, and returns the context's error.
type Func func(ctx context.Context, t Task) ([]byte, error)

// Kinds are Funcs by the kind of job that they do.
type Kinds map[string]Func

// Do does a job with the Func of its kind. A panic there is an error like any other.
func (k Kinds) Do(ctx context.Context, t Task) (out []byte, err error) {
	j := t.Job()
	f, ok := k[j.Kind]
	if !ok {
		var names []string
		for name := range k {
			names = append(names, name)
		}
		slices.Sort(names)
		return nil, fmt.Errorf("no job of kind %q can be done here; there are: %s", j.Kind, strings.Join(names, ", "))
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
