package sweep_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"regexp"
	"strconv"

	"github.com/kindred-ml/kindred/internal/sweep"
)

var rate = regexp.MustCompile(`(?m)^ +lr: (.*)$`)

// trainByFormula trains by a formula: the rate is best at 0.01.
func trainByFormula(_ context.Context, j sweep.Job) (sweep.Result, error) {
	lr, err := strconv.ParseFloat(rate.FindStringSubmatch(j.Config)[1], 64)
	r := sweep.Result{Epochs: j.Until, Metrics: map[string]float64{}}
	for e := 1; e <= j.Until; e++ {
		score := (1 - math.Abs(math.Log10(lr)+2)/4) * (1 - 1/float64(e+1))
		r.Scores = append(r.Scores, sweep.Score{Epoch: e, Value: score})
		r.Metrics[j.Metric] = score
	}
	return r, err
}

// The runs of a sweep are jobs, here with a way of the program's own to do them.
func ExampleRun() {
	plan, err := sweep.ParsePlan("plan.yaml", []byte(`
set:    {data.path: photos, train.epochs: 9}
ranges: {train.lr: {low: 0.0001, high: 1.0, log: true}}
trials: 40
`))
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "sweep")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	out, err := sweep.Run(context.Background(), plan, sweep.Options{Dir: dir, Jobs: 4,
		Runner: sweep.RunnerFunc(trainByFormula)})
	if err != nil {
		log.Fatal(err)
	}
	arm := out.Arms[0]
	best := arm.BestTrial()
	fmt.Printf("%d settings in %d epochs, of a budget of %d\n", len(arm.Trials), arm.Spent, plan.Budget)
	fmt.Printf("the best has %s %s\n", best.Set[0].Key, best.Set[0].Value)
	fmt.Println("tested:", arm.TestText(plan))
	// Output:
	// 40 settings in 166 epochs, of a budget of 360
	// the best has train.lr 0.009999
	// tested: 0.9000 ± 0.0000
}
