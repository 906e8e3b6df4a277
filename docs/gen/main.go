// Command gen writes docs/losses and docs/policies from the doc comments of
// packages loss and mine, docs/bench.md and README's table of timings from the
// records in docs/bench, the table of packages in docs/design/architecture.md from
// internal/ladder, and that of pretrained networks in docs/weights.md from
// internal/remote/weights. Run it from the repository's root by `make gen`.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/kindred-ml/kindred/internal/base/atomic"
)

func main() {
	files, err := pages(".")
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join("docs", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			log.Fatal(err)
		}
		err := atomic.WriteFile(path, func(w io.Writer) error {
			_, err := io.Copy(w, bytes.NewReader(files[name]))
			return err
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%d pages written\n", len(files))
}
