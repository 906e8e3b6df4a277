package queue

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/internal/jobs"
	"github.com/kindred-ml/kindred/internal/jobs/natsserver"
)

// lease is that of the tests, in which nobody waits for the customary one.
const lease = 2 * time.Second

// serve starts a server and returns how it is reached.
func serve(t *testing.T) string {
	t.Helper()
	s, err := natsserver.Serve(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s.URL()
}

func connect(t *testing.T, o Options) *Queue {
	t.Helper()
	o.Lease = lease
	q, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	return q
}

// work starts a worker, which ends with the test or by stop.
func work(t *testing.T, w *Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := w.Work(ctx); !errors.Is(err, context.Canceled) && err != nil {
			t.Error(err)
		}
	})
	stop = func() { cancel(); wg.Wait() }
	t.Cleanup(stop)
	return stop
}

func list(t *testing.T, kind string, specs ...any) []jobs.Job {
	t.Helper()
	var all []jobs.Job
	for _, s := range specs {
		j, err := jobs.New(kind, s)
		if err != nil {
			t.Fatal(err)
		}
		j.Title = fmt.Sprint(kind, " ", s)
		all = append(all, j)
	}
	return all
}

// chain is a job like training: every step depends on the one before, and a
// checkpoint holds all that the next one needs.
type chain struct {
	Seed  uint64 `json:"seed"`
	Steps int    `json:"steps"`
	Pause int    `json:"pause_ms"` // a step
	Bytes int    `json:"bytes"`    // of the result
}

func doChain(ctx context.Context, t jobs.Task) ([]byte, error) {
	var c chain
	if err := t.Job().Decode(&c); err != nil {
		return nil, err
	}
	state := binary.LittleEndian.AppendUint64(nil, c.Seed)
	step := 0
	r, err := t.Restore(ctx)
	if err != nil {
		return nil, err
	}
	if r != nil {
		b, err := io.ReadAll(r)
		r.Close()
		if err != nil || len(b) < 8 {
			return nil, fmt.Errorf("the checkpoint: %d bytes, %w", len(b), err)
		}
		step, state = int(binary.LittleEndian.Uint64(b)), b[8:]
	}
	for ; step < c.Steps; step++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(c.Pause) * time.Millisecond):
		}
		sum := sha256.Sum256(state)
		state = sum[:]
		t.Report(fmt.Sprintf("step %d of %d", step+1, c.Steps))
		if (step+1)%4 == 0 {
			err := t.Save(ctx, func(w io.Writer) error {
				_, err := w.Write(append(binary.LittleEndian.AppendUint64(nil, uint64(step+1)), state...))
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	for len(state) < c.Bytes {
		sum := sha256.Sum256(state[len(state)-32:])
		state = append(state, sum[:]...)
	}
	return state, nil
}

func kinds() jobs.Kinds { return jobs.Kinds{"chain": doChain} }

// outputs are the results as texts.
func outputs(results []jobs.Result) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%x\n", sha256.Sum256(r.Output))
	}
	return b.String()
}

// alone is what one process comes to by itself.
func alone(t *testing.T, list []jobs.Job) string {
	t.Helper()
	results, err := (&jobs.Local{Kinds: kinds(), Parallel: 8}).Run(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	return outputs(results)
}

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
