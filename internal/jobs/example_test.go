package jobs_test

import (
	"context"
	"fmt"

	"github.com/kindred-ml/kindred/internal/jobs"
)

func ExampleLocal() {
	kinds := jobs.Kinds{"square": func(_ context.Context, t jobs.Task) ([]byte, error) {
		var n int
		if err := t.Job().Decode(&n); err != nil {
			return nil, err
		}
		return fmt.Append(nil, n*n), nil
	}}
	var list []jobs.Job
	for n := range 4 {
		j, err := jobs.New("square", n)
		if err != nil {
			fmt.Println(err)
			return
		}
		list = append(list, j)
	}
	results, err := (&jobs.Local{Kinds: kinds, Parallel: 2}).Run(context.Background(), list)
	for _, r := range results {
		fmt.Print(string(r.Output), " ")
	}
	fmt.Println(err)
	// Output: 0 1 4 9 <nil>
}
