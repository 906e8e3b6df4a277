package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// notes is a Memory in memory. What is noted of another job is refused.
type notes struct {
	mu   sync.Mutex
	kept map[string]string
	full bool
}

func (n *notes) Load(j Job) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, ok := n.kept[string(j.Spec)]
	switch {
	case text == "another's":
		return nil, errors.New("this is another job's")
	case !ok:
		return nil, nil
	}
	return []byte(text), nil
}

func (n *notes) Save(j Job, output []byte) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.full {
		return errors.New("no room")
	}
	n.kept[string(j.Spec)] = string(output)
	return nil
}

// forgetful notes what it is told to forget.
type forgetful struct {
	Local
	forgotten []string
}

func (f *forgetful) Forget(_ context.Context, list []Job) error {
	for _, j := range list {
		f.forgotten = append(f.forgotten, string(j.Spec))
	}
	return nil
}

// TestRemembering: what is known is not done again; what is done is kept even where
// others fail, and the runner forgets that and nothing else.
func TestRemembering(t *testing.T) {
	var did []string
	runner := &forgetful{Local: Local{Kinds: Kinds{"n": func(_ context.Context, t Task) ([]byte, error) {
		spec := string(t.Job().Spec)
		did = append(did, spec)
		if spec == "3" {
			return nil, errors.New("three is bad")
		}
		return []byte(spec + "!"), nil
	}}}}
	m := CachedRunner{&notes{kept: map[string]string{"1": "one", "4": ""}}, runner}
	results, err := m.Run(t.Context(), list(t, "n", 0, 1, 2, 3, 4, 0))
	if err == nil || !strings.Contains(err.Error(), "three is bad") {
		t.Fatal(err)
	}
	var got []string
	for _, r := range results {
		got = append(got, fmt.Sprint(string(r.Output), r.Cached))
	}
	if want := []string{"0!false", "onetrue", "2!false", "false", "true", "0!false"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"0", "2", "3"}; !slices.Equal(did, want) {
		t.Errorf("did %v, want %v", did, want)
	}
	if want := []string{"0", "2", "0"}; !slices.Equal(runner.forgotten, want) {
		t.Errorf("forgot %v, want %v", runner.forgotten, want)
	}
	results, err = m.Run(t.Context(), list(t, "n", 0, 2))
	if err != nil || len(did) != 3 || !results[0].Cached || string(results[1].Output) != "2!" {
		t.Errorf("again: %v, %v, did %v", results, err, did)
	}
	if _, err := m.Run(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// TestRememberingFails: nothing is done where the place is another job's, and a result
// that cannot be kept is not forgotten.
func TestRememberingFails(t *testing.T) {
	did := 0
	runner := &forgetful{Local: Local{Kinds: Kinds{"n": func(context.Context, Task) ([]byte, error) {
		did++
		return []byte("x"), nil
	}}}}
	m := CachedRunner{&notes{kept: map[string]string{"1": "another's"}}, runner}
	if _, err := m.Run(t.Context(), list(t, "n", 0, 1)); err == nil || did > 0 ||
		!strings.Contains(err.Error(), "another job's") {
		t.Errorf("%v after %d jobs", err, did)
	}
	m.Cache = &notes{full: true}
	if _, err := m.Run(t.Context(), list(t, "n", 0)); err == nil || did != 1 || runner.forgotten != nil ||
		!strings.Contains(err.Error(), "no room") {
		t.Errorf("%v after %d jobs, forgotten %v", err, did, runner.forgotten)
	}
}

// TestLocalForgets: a job that was forgotten is done again, and others are not.
func TestLocalForgets(t *testing.T) {
	did := ""
	l := &Local{Dir: t.TempDir(), Kinds: Kinds{"n": func(_ context.Context, t Task) ([]byte, error) {
		did += string(t.Job().Spec)
		return []byte{}, nil
	}}}
	all := list(t, "n", 0, 1)
	for range 2 {
		if _, err := l.Run(t.Context(), all); err != nil {
			t.Fatal(err)
		}
		if err := l.Forget(t.Context(), list(t, "n", 1, 7)); err != nil {
			t.Fatal(err)
		}
	}
	if did != "011" {
		t.Errorf("did %s", did)
	}
	if left, _ := filepath.Glob(filepath.Join(l.Dir, "*")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if err := (&Local{}).Forget(t.Context(), all); err != nil {
		t.Error(err)
	}
	if err := os.Remove(l.Dir + "/" + all[0].ID() + ".result"); err != nil {
		t.Error(err)
	}
}

// TestLocalStopped: what a job says of how it was stopped reaches the caller.
func TestLocalStopped(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	resumable := errors.New("it can be resumed")
	l := &Local{Kinds: Kinds{"n": func(ctx context.Context, _ Task) ([]byte, error) {
		stop()
		return nil, errors.Join(resumable, ctx.Err())
	}}}
	if _, err := l.Run(ctx, list(t, "n", 0, 1)); !errors.Is(err, resumable) || !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := l.Run(ctx, list(t, "n", 0)); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestLocalAtATime: as many jobs are under way as N says, one if it does not.
func TestLocalAtATime(t *testing.T) {
	for n, want := range map[int]int{-1: 1, 0: 1, 1: 1, 3: 3} {
		var mu sync.Mutex
		busy, most := 0, 0
		all := make(chan struct{}) // closed when as many are under way as may be
		l := &Local{Parallel: n, Kinds: Kinds{"n": func(context.Context, Task) ([]byte, error) {
			mu.Lock()
			busy++
			most = max(most, busy)
			if busy == want && most == want {
				select {
				case <-all:
				default:
					close(all)
				}
			}
			mu.Unlock()
			<-all
			mu.Lock()
			busy--
			mu.Unlock()
			return []byte{}, nil
		}}}
		if _, err := l.Run(t.Context(), list(t, "n", 0, 1, 2, 3, 4, 5, 6)); err != nil || most != want {
			t.Errorf("N %d: %d jobs at a time, want %d; %v", n, most, want, err)
		}
	}
}

// TestLongerWhenEscaped: a spec counts as it travels, where <, > and & take six bytes.
func TestLongerWhenEscaped(t *testing.T) {
	const fits = (MaxSpec - 2) / 6
	j := Job{Kind: "a", Spec: []byte(`"` + strings.Repeat("<", fits) + strings.Repeat("a", (MaxSpec-2)%6) + `"`)}
	if err := j.Check(); err != nil || len(j.Compact()) != MaxSpec {
		t.Errorf("%d bytes that travel as %d: %.80v", len(j.Spec), len(j.Compact()), err)
	}
	j.Spec = []byte(`"` + strings.Repeat("<", fits+1) + `"`)
	if err := j.Check(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("has %d bytes", 2+6*(fits+1))) {
		t.Errorf("%.80v", err)
	}
}
