package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/kindred-ml/kindred/internal/base/enum"
	"github.com/kindred-ml/kindred/internal/format/strictjson"
	"github.com/kindred-ml/kindred/internal/jobs"
)

// State is the state of a job. Its text form is its name.
type State int

// The states.
const (
	Queued State = iota
	Running
	Done
	Failed
	Cancelled
)

var stateNames = enum.New[State]("State", "state", "queued", "running", "done", "failed", "cancelled")

// String returns the state's name.
func (s State) String() string { return stateNames.Name(s) }

// MarshalText returns the state's name.
func (s State) MarshalText() ([]byte, error) { return stateNames.Marshal(s) }

// UnmarshalText sets the state by name.
func (s *State) UnmarshalText(text []byte) error { return stateNames.Unmarshal(s, text) }

// isFinal reports whether the job has ended.
func (s State) isFinal() bool { return s == Done || s == Failed || s == Cancelled }

// Status describes a job of the queue.
type Status struct {
	Key   string `json:"key"` // name of the job in the queue
	Kind  string `json:"kind"`
	Title string `json:"title"`
	State State  `json:"state"`
	// Text is the progress, or the error of the last failure.
	Text   string    `json:"text,omitempty"`
	Worker string    `json:"worker,omitempty"`
	Tries  int       `json:"tries"`  // tries that ended with an error
	Losses int       `json:"losses"` // workers that fell silent
	Mine   bool      `json:"mine"`   // the job is of this program's lane
	Since  time.Time `json:"since"`  // time of its last change, by the servers' clock
}

// record is the changing part of a job: the value of state.KEY.
type record struct {
	State  State  `json:"state"`
	Kind   string `json:"kind"`
	Title  string `json:"title,omitempty"`
	Lane   string `json:"lane"`
	Tries  int    `json:"tries,omitempty"`
	Losses int    `json:"losses,omitempty"`
	// Worker is the worker that has the job, and Token identifies its attempt. A worker that finds another token
	// here has lost the job.
	Worker     string `json:"worker,omitempty"`
	Token      string `json:"token,omitempty"`
	Text       string `json:"text,omitempty"`
	Error      string `json:"error,omitempty"`
	Checkpoint string `json:"checkpoint,omitempty"` // name of an object
	Output     string `json:"output,omitempty"`     // name of an object; "": the output is Inline
	Inline     []byte `json:"inline,omitempty"`
	// Signatures of the checkpoint and the result; "" without a secret.
	CheckpointSignature string `json:"checkpoint_signature,omitempty"`
	OutputSignature     string `json:"output_signature,omitempty"`
}

// Bounds of the fields of a record.
const (
	maxInline = 32 << 10
	maxText   = 2 << 10
)

// key returns the key of a job in a lane.
func (q *Queue) key(j jobs.Job) string {
	sum := sha256.Sum256([]byte(q.lane + "\n" + j.ID()))
	return hex.EncodeToString(sum[:16])
}

func (r *record) status(key, lane string, since time.Time) Status {
	text := r.Text
	if r.State != Running && r.Error != "" {
		text = r.Error
	}
	return Status{Key: key, Kind: r.Kind, Title: r.Title, State: r.State, Text: text, Worker: r.Worker, Tries: r.Tries,
		Losses: r.Losses, Mine: r.Lane == lane, Since: since}
}

// read returns the record of a job and its revision.
func (q *Queue) read(ctx context.Context, key string) (*record, jetstream.KeyValueEntry, error) {
	var e jetstream.KeyValueEntry
	err := retry(ctx, func(ctx context.Context) (err error) {
		e, err = q.states.Get(ctx, "state."+key)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	r, err := parseRecord(e.Value())
	if err != nil {
		return nil, nil, fmt.Errorf("job %s: %w", key, err)
	}
	return r, e, nil
}

func parseRecord(text []byte) (*record, error) {
	var r record
	if err := strictjson.UnmarshalLoose(text, &r); err != nil {
		return nil, fmt.Errorf("a damaged state, or one of another version of kindred: %w", err)
	}
	return &r, nil
}

// errNotOurs: somebody else has changed the record meanwhile.
var errNotOurs = errors.New("another worker has the job, or it was cancelled")

// write replaces the record at a revision. An answer that was lost is told from a
// write that was refused by the attempt's token: none but its holder writes it.
func (q *Queue) write(ctx context.Context, key string, r *record, revision uint64) (uint64, error) {
	value, err := json.Marshal(r)
	if err != nil {
		return 0, err
	}
	request, cancel := withoutDeadline(ctx)
	defer cancel()
	for {
		next, err := q.states.Update(request, "state."+key, value, revision)
		switch {
		case err == nil:
			return next, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case isTemporary(err):
			if !sleep(ctx, 100*time.Millisecond) {
				return 0, ctx.Err()
			}
		case !isRevisionConflict(err):
			return 0, err
		}
		now, e, err := q.read(ctx, key)
		switch {
		case err != nil:
			return 0, err
		case e.Revision() <= revision:
			continue // not written yet, or a server that is behind
		case string(e.Value()) == string(value):
			return e.Revision(), nil // it had been written
		case r.Token != "" && now.Token == r.Token && now.State == Running:
			revision = e.Revision() // an earlier write of the same attempt, whose answer was lost
		default:
			return 0, errNotOurs
		}
	}
}

// isRevisionConflict recognises the refusal of a write at a revision that is not the last.
func isRevisionConflict(err error) bool {
	var api jetstream.JetStreamError
	return errors.As(err, &api) && api.APIError() != nil &&
		api.APIError().ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence
}

// shorten cuts a text that people wrote or errors brought.
func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + " ..."
}
