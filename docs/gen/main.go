// Command gen writes docs/losses and docs/policies.md from the doc comments of
// packages loss and mine, docs/bench.md and README's table of timings from the
// records in docs/bench, the table of packages in docs/design/architecture.md from
// internal/test/ladder, the table of pretrained networks in docs/weights.md from
// internal/app/remote/weights, and that of image formats in docs/data.md from data/imaging. Run it
// from the repository's root by `make gen`.
package main

import (
	"fmt"
	"log"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

func main() {
	files, err := generatePages(".")
	if err != nil {
		log.Fatal(err)
	}
	if err := atomic.WriteAll("docs", files); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d pages written\n", len(files))
}
