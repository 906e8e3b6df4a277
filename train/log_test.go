package train

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kindred-ml/kindred/objective"
)

// TestLogEvents: every stage is logged once, steps only at the level debug, and an epoch with its scores and warning.
func TestLogEvents(t *testing.T) {
	events := []Event{{Stage: Started, Epochs: 2},
		{Stage: Stepped, Epoch: 1, Epochs: 2, Step: 1, Steps: 4, Result: objective.Result{Value: 0.5}},
		{Stage: Scoring, Epoch: 1, Epochs: 2},
		{Stage: EpochEnd, Epoch: 1, Epochs: 2, Elapsed: time.Second, Row: &Epoch{Epoch: 1,
			Totals: Totals{Steps: 2, Loss: 3}, LR: 0.1, Warning: "collapsed",
			Metrics: []Metric{{"test", "fine", "recall@1", 0.25}}}},
		{Stage: Stopping, Epoch: 2, Epochs: 2}}
	for level, want := range map[slog.Level][]string{
		slog.LevelInfo: {"msg=started epoch=0 of=2", `msg="epoch ended" epoch=1 of=2 elapsed=1s loss=1.5 lr=0.1 ` +
			"test_recall@1=0.25", "level=WARN msg=collapsed epoch=1", "msg=stopping epoch=2"},
		slog.LevelDebug: {"msg=started", "msg=step epoch=1 of=2 elapsed=0s step=1 steps=4 loss=0.5", "msg=scoring",
			"epoch ended", "collapsed", "msg=stopping"},
	} {
		var out strings.Builder
		observe := LogEvents(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})))
		for _, e := range events {
			observe(e)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != len(want) {
			t.Fatalf("%v: %d lines:\n%s", level, len(lines), out.String())
		}
		for i, line := range lines {
			if !strings.Contains(line, want[i]) {
				t.Errorf("%v: %s, want %s", level, line, want[i])
			}
		}
	}
}
