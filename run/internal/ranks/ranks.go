// Package ranks compares what decides the bits of a run on the processes that train it together.
package ranks

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/kindred-ml/kindred/internal/kernel/simd"
	"github.com/kindred-ml/kindred/train"
)

// fact is a named property of a rank that decides the bits of a run.
type fact struct{ What, Is string }

// Check checks, before anything is written, that all ranks agree on what decides the bits of the run: the program, the
// processor, the data by their fingerprint, and the configuration.
func Check(r train.Ranks, fingerprint, config string) error {
	if r == nil {
		return nil
	}
	return compare(r, append(programFacts(), fact{"the instruction set", simd.Active().String()},
		fact{"the data (names and labels of the training samples)", fingerprint}, fact{"the configuration", config}))
}

// CheckCheckpoint checks that ranks which resume a run have the same checkpoint.
func CheckCheckpoint(r train.Ranks, c *train.Checkpoint) error {
	if r == nil || c == nil {
		return nil
	}
	return compare(r, []fact{{"the checkpoint", fmt.Sprintf("epoch %d, step %d, %v", c.Epoch, c.Step, c.History)}})
}

// CheckShareable checks that a batch can be shared among a number of ranks in pieces of the size chunk.
func CheckShareable(chunk, size, batch int) error {
	fits := max(batch/size, 1)
	if chunk == 0 {
		return fmt.Errorf("train.chunk is not set: ranks share a batch by its pieces, and pieces of the same size "+
			"give the same network with any number of ranks. With %d, each of %d ranks has a piece of a batch of %d",
			fits, size, batch)
	}
	if pieces := (batch + chunk - 1) / chunk; pieces < size {
		return fmt.Errorf("train.chunk is %d: a batch of %d has %d pieces, too few for %d ranks: set it to %d or "+
			"less", chunk, batch, pieces, size, fits)
	}
	return nil
}

// programFacts returns the facts that identify this program.
func programFacts() []fact {
	list := []fact{{"the processor's architecture", runtime.GOARCH}, {"the compiler", runtime.Version()}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return list
	}
	list = append(list, fact{"the program", info.Main.Path + " " + info.Main.Version})
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" || s.Key == "-tags" {
			list = append(list, fact{"the build (" + s.Key + ")", s.Value})
		}
	}
	return list
}

// compare returns an error for the first rank whose facts differ from those of rank 0.
func compare(ranks train.Ranks, facts []fact) error {
	text, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	all, err := ranks.AllGather(text)
	if err != nil {
		return &train.RankError{Err: err}
	}
	lists := make([][]fact, len(all))
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
