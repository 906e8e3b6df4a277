package run

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/train"
)

// rankFact is a named property of a rank that decides the bits of a run.
type rankFact struct{ What, Is string }

// checkRanksAgree checks that all ranks agree on what decides the bits of the run, before anything is written.
func (p *plan) checkRanksAgree() error {
	if p.opts.Ranks == nil {
		return nil
	}
	return compareFacts(p.opts.Ranks, append(programFacts(), rankFact{"the instruction set", simd.Active().String()},
		rankFact{"the data (names and labels of the training samples)", fingerprint(p.split.Train)},
		rankFact{"the configuration", string(p.cfg.YAML())}))
}

// checkSameCheckpoint checks that ranks which resume a run have the same checkpoint.
func (t *trainer) checkSameCheckpoint(c *train.Checkpoint) error {
	if t.plan.opts.Ranks == nil || c == nil {
		return nil
	}
	return compareFacts(t.plan.opts.Ranks, []rankFact{{"the checkpoint",
		fmt.Sprintf("epoch %d, step %d, %v", c.Epoch, c.Step,
			c.History)}})
}

// programFacts returns the facts that identify this program.
func programFacts() []rankFact {
	list := []rankFact{{"the processor's architecture", runtime.GOARCH}, {"the compiler", runtime.Version()}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return list
	}
	list = append(list, rankFact{"the program", info.Main.Path + " " + info.Main.Version})
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" || s.Key == "-tags" {
			list = append(list, rankFact{"the build (" + s.Key + ")", s.Value})
		}
	}
	return list
}

// compareFacts returns an error for the first rank whose facts differ from those of rank 0.
func compareFacts(ranks train.Ranks, facts []rankFact) error {
	text, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	all, err := ranks.AllGather(text)
	if err != nil {
		return &train.RankError{Err: err}
	}
	lists := make([][]rankFact, len(all))
	for r, text := range all {
		if err := json.Unmarshal(text, &lists[r]); err != nil {
			return &train.RankError{Err: fmt.Errorf("rank %d sent no description of its run: %w", r, err)}
		}
	}
	for r, list := range lists {
		for i, s := range list {
			switch {
			case i >= len(lists[0]) || s.What != lists[0][i].What || len(list) != len(lists[0]):
				return fmt.Errorf("rank %d runs another program than rank 0: start the same program on all ranks", r)
			case s.Is != lists[0][i].Is:
				return fmt.Errorf("%s differs between rank 0 and rank %d: %s", s.What, r,
					firstDifference(lists[0][i].Is, s.Is))
			}
		}
	}
	return nil
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range x {
		if i >= len(y) {
			break
		}
		if x[i] != y[i] {
			return fmt.Sprintf("%q and %q", strings.TrimSpace(x[i]), strings.TrimSpace(y[i]))
		}
	}
	return "one text is shorter"
}

// checkShareable checks that a batch can be shared among a number of ranks in pieces of the size chunk.
func checkShareable(chunk, size, batch int) error {
	fits := max(batch/size, 1)
	if chunk == 0 {
		return fmt.Errorf("train.chunk is not set: ranks share a batch by its pieces, and pieces of the same size "+
			"give the same "+
			"network with any number of ranks. With %d, each of %d ranks has a piece of a batch of %d", fits,
			size, batch)
	}
	if pieces := (batch + chunk - 1) / chunk; pieces < size {
		return fmt.Errorf("train.chunk is %d: a batch of %d has %d pieces, too few for %d ranks: set it to %d or "+
			"less", chunk, batch, pieces, size, fits)
	}
	return nil
}

// shareEvaluation lets the ranks share the evaluation of sets.
func shareEvaluation(ranks train.Ranks, sets []*scoredSet) {
	for _, s := range sets {
		for _, f := range s.feeds() {
			f.ranks = ranks
		}
	}
}
