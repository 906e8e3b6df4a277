package run

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"
)

// timing is a line of timing.csv: how long an epoch's steps and evaluation took
// in this process, and how many images it trained on.
type timing struct {
	epoch       int
	train, eval time.Duration
	images      int
}

const timingHeader = "epoch,train_seconds,eval_seconds,images,images_per_second\n"

func writeTiming(w io.Writer, list []timing) error {
	if _, err := io.WriteString(w, timingHeader); err != nil {
		return err
	}
	for _, t := range list {
		_, err := fmt.Fprintf(w, "%d,%.3f,%.3f,%d,%.1f\n", t.epoch, t.train.Seconds(), t.eval.Seconds(), t.images,
			float64(t.images)/max(t.train.Seconds(), 1e-3))
		if err != nil {
			return err
		}
	}
	return nil
}

// readTiming returns the lines of the first epochs, as far as they can be read, in
// order: times are remarks and not worth failing for.
func readTiming(path string, epochs int) []timing {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return parseTiming(f, epochs)
}

// longest is more seconds than an epoch takes: 30 years.
const longest = 1e9

func parseTiming(r io.Reader, epochs int) []timing {
	var list []timing
	last := 0
	for lines := bufio.NewScanner(r); lines.Scan(); {
		var t timing
		var train, eval, rate float64
		n, _ := fmt.Sscanf(lines.Text(), "%d,%f,%f,%d,%f", &t.epoch, &train, &eval, &t.images, &rate)
		sane := train >= 0 && train < longest && eval >= 0 && eval < longest && t.images >= 0
		if n == 5 && sane && t.epoch > last && t.epoch <= epochs {
			last = t.epoch
			t.train, t.eval = time.Duration(train*1e9), time.Duration(eval*1e9)
			list = append(list, t)
		}
	}
	return list
}
